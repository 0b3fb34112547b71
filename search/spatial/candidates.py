"""Spatial mappings: the user's cut down to a layer, and those that use the array well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nestmap.model import ArraySide, Loop, MappingProblem, SpatialMapping, Unrolling
from nestmap.model.dims import ArrayDimension, Dimension
from nestmap.search.spatial.capacity import within_capacity
from nestmap.search.spatial.combinations import Choice, best_combinations
from nestmap.search.spatial.unrolling import (
    of_one_dimension,
    of_several_dimensions,
    unrolling_limits,
)


def meets_constraints(problem: MappingProblem, wanted: SpatialMapping) -> SpatialMapping:
    """The wanted mapping cut down to the layer.

    Dimensions that the layer does not have are left out, and no dimension is unrolled more often
    than it iterates; array dimensions are served in the array's order.
    """
    left = dict(problem.layer.sizes)
    unrollings: list[Unrolling] = []
    for side in problem.accelerator.array.sides:
        loops: list[Loop] = []
        for loop in wanted.on(side.name):
            size = min(loop.size, left.get(loop.dimension, 0))
            if size:
                loops.append(Loop(dimension=loop.dimension, size=size))
                left[loop.dimension] //= size
        unrollings.append(Unrolling(array_dimension=side.name, loops=tuple(loops)))
    return SpatialMapping(unrollings=tuple(unrollings))


def spatial_mappings(
    problem: MappingProblem, count: int, mixed: bool = False
) -> tuple[SpatialMapping, ...]:
    """The most promising spatial mappings of a layer, at most ``count``, the best first.

    What the user's mapping says of an array dimension stays, cut down to the layer and to what
    the innermost memories can feed. Over each other array dimension goes one loop dimension
    (``mixed``: or several) of those that the user's hints name, else of all: the largest possible
    unrolling or a divisor of it. Mappings that use more of the array come first, of those the
    ones that unroll more different dimensions (see :mod:`nestmap.search.spatial.combinations`).
    What does
    not fit the innermost memories is cut down last; mappings that become equal count once.
    """
    limits, sides = unrolling_limits(problem), problem.accelerator.array.sides
    choices = [_choices(problem, side, limits[side.name], mixed) for side in sides]
    chosen = best_combinations(choices, problem.layer.sizes, count)
    mappings = (within_capacity(problem, _mapping(problem, loops)) for loops in chosen)
    return tuple(dict.fromkeys(mappings))


def mappable_dimensions(problem: MappingProblem, side: ArrayDimension) -> tuple[Dimension, ...]:
    """The loop dimensions that may be unrolled over an array dimension.

    Those that the user's hints name, else all; none where the user's mapping decides.
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
    """What may be unrolled over an array dimension."""
    given = _given(problem, side.name)
    if given is not None:
        cut = (Loop(dimension=x.dimension, size=min(x.size, limits[x.dimension])) for x in given)
        return [tuple(cut)]
    dimensions = mappable_dimensions(problem, side.name)
    several = of_several_dimensions(limits, dimensions, side.size) if mixed else ()
    return [*of_one_dimension(limits, dimensions), *several]


def _given(problem: MappingProblem, side: ArrayDimension) -> tuple[Loop, ...] | None:
    """What the user's mapping says of an array dimension, if it says anything."""
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
