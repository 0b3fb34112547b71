"""Spatial mappings: the user's, made to fit a layer, or one that uses the array well."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import ceil, prod

from nestmap.model import Loop, MappingProblem, SpatialMapping, Unrolling


def conform(problem: MappingProblem, wanted: SpatialMapping) -> SpatialMapping:
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


def fullest(problem: MappingProblem) -> SpatialMapping:
    """One loop dimension on each array dimension, such that the array is used best.

    The first of equals counts, in the order of the layer's dimensions.
    """
    return max(_one_dimension_each(problem), key=lambda mapping: _utilization(problem, mapping))


def _one_dimension_each(problem: MappingProblem) -> Iterator[SpatialMapping]:
    sides, sizes = problem.accelerator.array.sides, problem.layer.sizes
    candidates = [dimension for dimension, size in sizes.items() if size > 1]
    places = candidates + [""] * max(0, len(sides) - len(candidates))
    for chosen in permutations(places, len(sides)):
        yield SpatialMapping(
            unrollings=tuple(
                Unrolling(
                    array_dimension=side.name,
                    loops=(Loop(dimension=d, size=min(side.size, sizes[d])),) if d else (),
                )
                for side, d in zip(sides, chosen, strict=True)
            )
        )


def _utilization(problem: MappingProblem, mapping: SpatialMapping) -> float:
    """Share of the array that works, on average over all rounds."""
    sizes = problem.layer.sizes
    rounds = prod(ceil(n / mapping.factor_of(d)) for d, n in sizes.items())
    return problem.layer.macs / rounds / problem.accelerator.array.units
