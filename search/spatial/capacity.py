"""Reduces spatial mappings to the capacity of the innermost memories."""

from __future__ import annotations

from math import prod

from nestmap.model import Loop, MappingProblem, SpatialMapping, Unrolling
from nestmap.model.dims import LayerOperand
from nestmap.search.spatial.unrolling import precision_of, used_width, words_in


def within_capacity(problem: MappingProblem, mapping: SpatialMapping) -> SpatialMapping:
    """Reduces unrollings until each innermost memory can hold the words that its units use.

    A memory that serves array dimensions holds at least the distinct words that the units along
    them use at a time. While these do not fit, the largest unrolling that adds to them (the last of
    equals) is reduced by one. Unrollings by one are left out.
    """
    for operand in problem.links:
        mapping = _fitting(problem, mapping, operand)
    return mapping


def _fitting(
    problem: MappingProblem, mapping: SpatialMapping, operand: LayerOperand
) -> SpatialMapping:
    innermost, relevant = problem.levels(operand)[0], used_width(problem, operand)
    room = words_in(innermost.instance.size, precision_of(problem, operand))
    sizes = {
        (u, i): loop.size
        for u, unrolling in enumerate(mapping.unrollings)
        for i, loop in enumerate(unrolling.loops)
        if unrolling.array_dimension in innermost.served_dimensions and loop.dimension in relevant
    }
    while prod(sizes.values()) > max(1, room):
        largest = max(sizes, key=lambda place: (sizes[place], place))
        sizes[largest] -= 1
    unrollings: list[Unrolling] = []
    for u, unrolling in enumerate(mapping.unrollings):
        resized = [(x.dimension, sizes.get((u, i), x.size)) for i, x in enumerate(unrolling.loops)]
        loops = tuple(Loop(dimension=d, size=size) for d, size in resized if size > 1)
        unrollings.append(Unrolling(array_dimension=unrolling.array_dimension, loops=loops))
    return SpatialMapping(unrollings=tuple(unrollings))
