"""Reduces spatial mappings to the capacity of the innermost memories."""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.spatial import DIMENSION, FACTOR, SIDE
from nestmap.model import MappingProblem, SpatialMapping
from nestmap.model.arrays import Flags, Ints
from nestmap.search.spatial.unrolling import precision_of, used_width, words_in
from nestmap.search.spatial.unrolling_table import UnrollingTable, mapping_of


class InnermostCapacities(NamedTuple):
    """The words that the innermost memory of each operand holds."""

    adds: Flags  # [x, s, d] whether unrolling a loop over an array dimension adds words to it
    words: Ints  # [x] at least 1


def innermost_capacities(problem: MappingProblem) -> InnermostCapacities:
    """The capacities of the innermost memories of a layer's operands."""
    sides, sizes = problem.accelerator.array.sides, problem.layer.sizes
    adds = np.zeros((len(problem.links), len(sides), len(sizes)), np.bool_)
    words = np.ones(len(problem.links), np.int64)
    for x, operand in enumerate(problem.links):
        innermost, relevant = problem.levels(operand)[0], used_width(problem, operand)
        served = [side.name in innermost.served_dimensions for side in sides]
        adds[x] = np.outer(served, [d in relevant for d in sizes])
        words[x] = max(1, words_in(innermost.instance.size, precision_of(problem, operand)))
    return InnermostCapacities(adds, words)


def within_capacity(problem: MappingProblem, mapping: SpatialMapping) -> SpatialMapping:
    """Reduces unrollings until each innermost memory can hold the words that its units use.

    A memory that serves array dimensions holds at least the distinct words that the units along
    them use at a time. While these do not fit, the largest unrolling that adds to them (the last of
    equals) is reduced by one. Unrollings by one are left out.
    """
    table = reduce_to_capacity(problem, UnrollingTable.of(problem, [mapping]))
    return mapping_of(problem, table.row(0))


def reduce_to_capacity(problem: MappingProblem, table: UnrollingTable) -> UnrollingTable:
    """The same for all mappings of a table; the table is not changed."""
    adds, words = innermost_capacities(problem)
    reduced = table.unrollings.copy()
    _reduce_rows(adds, words, reduced, table.first)
    unrolls = reduced[:, FACTOR] > 1
    return UnrollingTable(reduced[unrolls], np.append(0, np.cumsum(unrolls))[table.first])


@kernel
def _reduce_rows(adds: Flags, words: Ints, unrollings: Ints, first: Ints) -> None:
    for row in range(len(first) - 1):
        for x in range(len(words)):
            _reduce(adds[x], words[x], unrollings[first[row] : first[row + 1]])


@kernel
def _reduce(adds: Flags, words: int, unrollings: Ints) -> None:
    """Reduces unrollings until the innermost memory of one operand holds their words."""
    while True:
        used, largest = 1, -1
        for i in range(len(unrollings)):
            if adds[unrollings[i, SIDE], unrollings[i, DIMENSION]]:
                used *= unrollings[i, FACTOR]
                if largest < 0 or unrollings[i, FACTOR] >= unrollings[largest, FACTOR]:
                    largest = i
        if used <= words:
            return
        unrollings[largest, FACTOR] -= 1
