"""The spatial mappings of a core: its dataflows limited to a layer, or limited by its memories."""

from itertools import product

from nestmap.model import ArraySide, Loop, MappingProblem, SpatialMapping, Unrolling
from nestmap.model.mapping.problem import CoreProblem
from nestmap.search.spatial.candidates import meets_constraints
from nestmap.search.spatial.dataflow import mappings_with_dataflow
from nestmap.search.spatial.unrolling import Limits, unrolling_limits


def dataflow_mappings(core: CoreProblem) -> tuple[SpatialMapping, ...]:
    """The dataflows of a core, each limited to the layer, without duplicates.

    Raises:
        NoUnrollingError: if none has the unrollings that the dataflow of the constraints asks for.
    """
    flows = dict.fromkeys(meets_constraints(core.problem, flow) for flow in core.dataflows)
    return mappings_with_dataflow(core.problem, tuple(flows))


def dividing_mappings(problem: MappingProblem) -> tuple[SpatialMapping, ...]:
    """All combinations of loop dimensions over array dimensions, with factors that divide loops.

    A factor is limited by the length of the array dimension and by the distinct words per cycle of
    the innermost memories that serve it (for the output: words that they accept). An array
    dimension is idle only if no loop dimension remains to unroll over it.

    Source: Stream (Symons et al., IEEE TC 2024), custom spatial mapping generator.

    Raises:
        NoUnrollingError: if none has the unrollings that the dataflow of the constraints asks for.
    """
    limits = unrolling_limits(problem)
    sides = problem.accelerator.array.sides
    choices = [_choices(problem, limits, side) for side in sides]
    found = [loops for loops in product(*choices) if _different(loops)]
    if not found:
        idle = (dict.fromkeys([*x, None]) for x in choices)
        found = [loops for loops in product(*idle) if _different(loops)]
    most = max(sum(loop is not None for loop in loops) for loops in found)
    mappings = [
        _mapping(sides, loops) for loops in found if sum(loop is not None for loop in loops) == most
    ]
    return mappings_with_dataflow(problem, mappings)


def _choices(problem: MappingProblem, limits: Limits, side: ArraySide) -> list[Loop | None]:
    """The unrollings allowed over an array dimension; ``None``: no unrolling."""
    loops: list[Loop | None] = []
    for dimension, size in problem.layer.sizes.items():
        factor = limits[side.name][dimension]
        while size % factor:
            factor -= 1
        if factor > 1:
            loops.append(Loop(dimension=dimension, size=factor))
    return loops or [None]


def _different(loops: tuple[Loop | None, ...]) -> bool:
    """Whether no dimension is unrolled twice."""
    names = [loop.dimension for loop in loops if loop is not None]
    return len(set(names)) == len(names)


def _mapping(sides: tuple[ArraySide, ...], loops: tuple[Loop | None, ...]) -> SpatialMapping:
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=side.name, loops=() if loop is None else (loop,))
            for side, loop in zip(sides, loops, strict=True)
        )
    )
