"""Candidate spatial mappings: the user's, fitted to a layer, and those with high utilization."""

from collections.abc import Mapping, Sequence

from nestmap.model import ArraySide, Loop, MappingProblem, SpatialMapping, Unrolling
from nestmap.model.dims import ArrayDimension, Dimension
from nestmap.search.spatial.capacity import within_capacity
from nestmap.search.spatial.combinations import Choice, best_combinations
from nestmap.search.spatial.dataflow import with_dataflow
from nestmap.search.spatial.unrolling import (
    of_one_dimension,
    of_several_dimensions,
    unrolling_limits,
)
from nestmap.search.spatial.unrolling_table import UnrollingTable, mapping_of


def meets_constraints(problem: MappingProblem, wanted: SpatialMapping) -> SpatialMapping:
    """The wanted mapping fitted to the layer.

    Dimensions that the layer does not have are left out, and unrollings are limited to what those
    before them leave of the dimension, rounded up: 27 iterations stay unrolled 2 x 14 times. Array
    dimensions are in the array's order.
    """
    sizes, product = problem.layer.sizes, dict.fromkeys(problem.layer.sizes, 1)
    unrollings: list[Unrolling] = []
    for side in problem.accelerator.array.sides:
        loops: list[Loop] = []
        for loop in wanted.on(side.name):
            if loop.dimension not in sizes:
                continue
            left = -(-sizes[loop.dimension] // product[loop.dimension])
            size = min(loop.size, left)
            loops.append(Loop(dimension=loop.dimension, size=size))
            product[loop.dimension] *= size
        unrollings.append(Unrolling(array_dimension=side.name, loops=tuple(loops)))
    return SpatialMapping(unrollings=tuple(unrollings))


def spatial_mappings(
    problem: MappingProblem, count: int, mixed: bool = False
) -> tuple[SpatialMapping, ...]:
    """The most promising spatial mappings of a layer, at most ``count``, the best first.

    The user's unrollings of an array dimension are kept, limited to the layer and to the bandwidth
    of the innermost memories. Over each other array dimension one loop dimension is unrolled
    (``mixed``: or several), from the user's hints or else from all: with the largest possible
    factor or a divisor of it. Mappings that use more of the array come first, then those that
    unroll more different dimensions (see :mod:`nestmap.search.spatial.combinations`). Unrollings
    that exceed the capacity of the innermost memories are reduced last; mappings that become equal
    count once.

    Raises:
        InputError: if none has the unrollings that the dataflow of the constraints asks for.
    """
    choices, least = choices_by_side(problem, mixed), problem.least_unrollings
    chosen = best_combinations(choices, most_unrolled(problem), count, least)
    every = [within_capacity(problem, _mapping(problem, loops)) for loops in chosen]
    table = with_dataflow(problem, UnrollingTable.of(problem, every))
    return tuple(dict.fromkeys(mapping_of(problem, table.row(row)) for row in range(table.rows)))


def most_unrolled(problem: MappingProblem) -> dict[Dimension, int]:
    """How often all array dimensions together may unroll each loop dimension.

    Its size, or more if the user's unrollings round up.
    """
    wanted = problem.constraints.spatial_mapping or SpatialMapping()
    given = meets_constraints(problem, wanted)
    return {d: max(size, given.factor_of(d)) for d, size in problem.layer.sizes.items()}


def choices_by_side(problem: MappingProblem, mixed: bool) -> list[list[Choice]]:
    """The possible unrollings over each array dimension, without regard to the others."""
    limits, sides = unrolling_limits(problem), problem.accelerator.array.sides
    return [_choices(problem, side, limits[side.name], mixed) for side in sides]


def mappable_dimensions(problem: MappingProblem, side: ArrayDimension) -> tuple[Dimension, ...]:
    """The loop dimensions that may be unrolled over an array dimension.

    Those in the user's hints, else all; none if the user's mapping specifies the array dimension.
    """
    if _given(problem, side) is not None:
        return ()
    sizes = problem.layer.sizes
    hints = [h for h in problem.constraints.spatial_hints if h.array_dimension == side]
    named = tuple(d for hint in hints for d in hint.dimensions if d in sizes)
    return named or tuple(sizes)


def _choices(
    problem: MappingProblem, side: ArraySide, limits: Mapping[Dimension, int], mixed: bool
) -> list[Choice]:
    """The possible unrollings over an array dimension."""
    given = _given(problem, side.name)
    if given is not None:
        cut = (Loop(dimension=x.dimension, size=min(x.size, limits[x.dimension])) for x in given)
        return [tuple(cut)]
    dimensions = mappable_dimensions(problem, side.name)
    several = of_several_dimensions(limits, dimensions, side.size) if mixed else ()
    return [*of_one_dimension(limits, dimensions), *several]


def _given(problem: MappingProblem, side: ArrayDimension) -> tuple[Loop, ...] | None:
    """The user's unrollings over an array dimension, if any."""
    wanted = problem.constraints.spatial_mapping
    if wanted is None or all(x.array_dimension != side for x in wanted.unrollings):
        return None
    return meets_constraints(problem, wanted).on(side)


def _mapping(problem: MappingProblem, choices: Sequence[Choice]) -> SpatialMapping:
    sides = problem.accelerator.array.sides
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=side.name, loops=loops)
            for side, loops in zip(sides, choices, strict=True)
        )
    )
