"""The spatial mappings of a layer to search: those that may fit, and one of those that are equal.

The least that an operand takes in a memory does not depend on the order of the loops: it holds
none of them, or all, where a copy for the next tile is not needed. Where the sum of these exceeds
a memory, no temporal mapping fits, and a search need not try the orders to find out.

Formulas: docs/cost-model.md#memory-allocation
"""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes
from nestmap.model.arrays import Flags, Floats, Rows
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact.capacity import cut_bits
from nestmap.search.temporal.exact.equal_rows import equal_rows
from nestmap.search.temporal.slot_candidates import whole_tensor

ROUNDING = 1 + 1e-9
"""How far sums of bits may exceed a memory because their terms are rounded."""


def rows_that_may_fit(candidates: SpatialCandidates) -> Flags:
    """[row] false only where no temporal mapping fits the memories, whatever the user orders.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    flat = copy_record(flatten_problem(candidates.problem))
    return _may_fit_each(flat, new_record(Work), candidates.table)


def different_rows(candidates: SpatialCandidates) -> Rows:
    """The rows to search in place of all: those that may fit, one of those that cost the same."""
    fitting = np.flatnonzero(rows_that_may_fit(candidates))
    if not len(fitting):
        return fitting
    same = equal_rows(candidates.take(fitting))
    different: Rows = fitting[same == np.arange(len(same))]
    return different


def first_different(candidates: SpatialCandidates, order: Rows, most: int) -> Rows:
    """The first of the different rows in an order, up to so many, without a look at all."""
    tested = CHECKED * most
    while True:
        rows = np.sort(order[:tested])
        found = rows[different_rows(candidates.take(rows))]
        if len(found) >= most or tested >= len(order):
            return order[:tested][np.isin(order[:tested], found)][:most]
        tested *= CHECKED


CHECKED = 8
"""Rows that are tested first for each that is wanted, and the factor of more; nearly all fit."""


@kernel
def _may_fit_each(problem: FlatProblem, work: Work, table: UnrollingTable) -> Flags:
    may_fit = np.empty(len(table.first) - 1, np.bool_)
    sizes = np.empty(problem.dimensions)
    for row in range(len(may_fit)):
        unrollings = table.unrollings[table.first[row] : table.first[row + 1]]
        put_unrollings(problem, unrollings)
        temporal_sizes(problem, unrollings, sizes)
        _load_sizes(work, sizes)
        may_fit[row] = _may_fit(problem, work)
    return may_fit


@kernel
def _load_sizes(work: Work, sizes: Floats) -> None:
    """Writes one loop of each dimension to the work arrays."""
    n = 0
    for d in range(len(sizes)):
        if sizes[d] > 1:
            work.dimension[n], work.factor[n] = d, sizes[d]
            n += 1
    work.loops = n


@kernel
def _may_fit(problem: FlatProblem, work: Work) -> bool:
    for m in range(problem.memories):
        least = 0.0
        for i in range(problem.slots[m]):
            least += _least_bits(
                problem, work, (m, problem.slot_operand[m, i], problem.slot_level[m, i])
            )
        if least > problem.memory_room[m] * ROUNDING:
            return False
    return True


@kernel
def _least_bits(problem: FlatProblem, work: Work, place: tuple[int, int, int]) -> float:
    """The least bits of a slot: ``place`` is the memory, the operand and the level.

    An output in its innermost memory has been through no loop below, so that it is unfinished
    wherever there is any ir loop.
    """
    x, level = place[1], place[2]
    whole, least = float(whole_tensor(problem, work, x)), np.inf
    for cut in (0, work.loops):
        unfinished, finished = cut_bits(problem, work, place, cut, whole)
        least = min(least, unfinished if level == 1 else min(unfinished, finished))
    return least
