"""Memory allocation for one loop order: which memory level holds which loops (LOMA).

Memories are allocated from the innermost outwards. A memory has a slot for each operand that it
holds. The candidates of a slot are the prefixes of the loop order that contain what the memories
below hold and that fit on their own; of the combinations that fit together the one that causes
the fewest accesses to the level above is chosen.

Source: LOMA (Symons et al., AICAS 2021). Formulas: docs/cost-model.md#memory-allocation
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, final

import numpy as np

from nestmap.costmodel.evaluate_rows import load_order, load_row
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import add_unrollings, reset_tile, tile_elements
from nestmap.costmodel.kernel.axes import FRACTIONAL, OUT
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import LOOPS, MEMORIES, OPERANDS, check_loops, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Codes, Flags, Floats, Ints

NO_FAILURE = -1
"""Marks a failure of all slots together instead of one slot."""

assert OPERANDS == 3, "_choose has a loop for each slot of a memory"


@final
class Failures:
    """Counts of failed orders by memory and slot.

    The column after the last slot counts all together.
    """

    orders: Annotated[Ints, (MEMORIES, OPERANDS + 1)]
    need: Annotated[Floats, (MEMORIES, OPERANDS + 1)]  # fewest bits required


@final
class Candidates:
    """The prefixes that each slot (``i``) of one memory could hold; a prefix is its length."""

    below: Annotated[Ints, (OPERANDS,)]  # [x] prefix that the memories below hold
    first: Annotated[Ints, (OPERANDS,)]  # [i] range of prefixes
    last: Annotated[Ints, (OPERANDS,)]
    bits: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [i] capacity that a prefix requires
    accesses: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [i] bits that the level above then sends
    above: Annotated[Floats, (LOOPS + 1,)]  # iterations of the loops above a prefix
    best: Annotated[Ints, (OPERANDS,)]  # [i] prefix chosen


class Scratch(NamedTuple):
    """The records that allocation uses."""

    work: Work
    candidates: Candidates
    failures: Failures


def new_scratch(failures: Failures) -> Scratch:
    """Empty records that count failures in the given one."""
    return Scratch(new_record(Work), new_record(Candidates), failures)


def allocate_rows(
    problem: FlatProblem, factors: Ints, orders: Codes, even: bool, failures: Failures
) -> tuple[Codes, Codes]:
    """The feasible orders and their cuts (rows x operands x levels)."""
    check_loops(orders.shape[1])
    cuts = np.empty((len(orders), problem.operands, max(problem.levels)), np.uint8)
    kept = _allocate_rows(problem, new_scratch(failures), factors, orders, even, cuts)
    return orders[:kept], cuts[:kept]


@kernel
def _allocate_rows(
    problem: FlatProblem,
    scratch: Scratch,
    factors: Ints,
    orders: Codes,
    even: bool,
    cuts: Codes,
) -> int:
    """Moves feasible orders, with their cuts, to the front; returns their number."""
    work, kept = scratch.work, 0
    for row in range(len(orders)):
        load_order(work, factors, orders[row])
        if allocate(problem, scratch, even):
            for n in range(work.loops):
                orders[kept, n] = orders[row, n]
            write_cuts(problem, work, cuts, kept)
            kept += 1
    return kept


@kernel
def write_cuts(problem: FlatProblem, work: Work, cuts: Codes, row: int) -> None:
    """Writes the cuts of the work arrays to a row; missing levels hold all loops."""
    for x in range(cuts.shape[1]):
        for level in range(cuts.shape[2]):
            cuts[row, x, level] = work.cut[x, min(level + 1, problem.levels[x])]


def fits(
    problem: FlatProblem, factors: Ints, order: Codes, cuts: Codes, failures: Failures
) -> bool:
    """Whether the given cuts fit the memories, by the same rule as in :func:`allocate`."""
    check_loops(len(order))
    return bool(_fits(problem, new_scratch(failures), factors, order, cuts))


def fits_rows(
    problem: FlatProblem, factors: Ints, orders: Codes, cuts: Codes, even: bool, failures: Failures
) -> Flags:
    """Whether each row fits the memories, by the rule of :func:`fits`, and is even if it has to be.

    Rows that do not fit are counted in ``failures``; uneven rows are not.
    """
    check_loops(orders.shape[1])
    return _fits_rows(problem, new_scratch(failures), factors, orders, cuts, even)


@kernel
def _fits_rows(
    problem: FlatProblem,
    scratch: Scratch,
    factors: Ints,
    orders: Codes,
    cuts: Codes,
    even: bool,
) -> Flags:
    fitting = np.empty(len(orders), np.bool_)
    for row in range(len(orders)):
        fitting[row] = _fits(problem, scratch, factors, orders[row], cuts[row]) and (
            not even or is_even_everywhere(problem, scratch.work, scratch.candidates)
        )
    return fitting


@kernel
def _fits(
    problem: FlatProblem,
    scratch: Scratch,
    factors: Ints,
    order: Codes,
    cuts: Codes,
) -> bool:
    candidates = scratch.candidates
    load_row(scratch.work, factors, order, cuts)
    for memory in range(problem.memories):
        capacity, slots = problem.memory_size[memory], problem.slots[memory]
        failure, total = NO_FAILURE, 0.0
        for i in range(slots):
            bits = _bits_at(problem, scratch.work, memory, i)
            candidates.first[i] = 0
            candidates.bits[i, 0] = bits
            total += bits
            if bits > capacity and failure == NO_FAILURE:
                failure = i
        if failure == NO_FAILURE and total > capacity:
            failure = slots
        if failure != NO_FAILURE:
            _count_failure(problem, scratch, memory, failure)
            return False
    return True


@kernel
def _bits_at(problem: FlatProblem, work: Work, memory: int, i: int) -> float:
    """The capacity in bits that the cuts in ``work`` require in slot ``i`` of a memory."""
    x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
    cut, below = int(work.cut[x, level]), int(work.cut[x, level - 1]) if level > 1 else 0
    return slot_bits(problem, work, (memory, x, level), cut, below, whole_tensor(problem, work, x))


@kernel
def slot_bits(
    problem: FlatProblem,
    work: Work,
    place: tuple[int, int, int],
    cut: int,
    below: int,
    whole: float,
) -> float:
    """The capacity in bits that one operand takes in a memory.

    ``place`` is the memory, the operand and the level. The memory holds the loops below ``cut`` of
    the order in ``work``, the level underneath those below ``below``; ``whole`` is the result of
    :func:`whole_tensor`.
    """
    memory, x, level = place
    _tile_up_to(problem, work, x, level, cut)
    elements = tile_elements(problem, work, x)
    doubled = problem.double_buffered[memory] == 1
    copies = 2 if doubled and cut < work.loops and elements < whole else 1
    return copies * elements * _precision(problem, work, x, level, below)


@kernel
def allocate(problem: FlatProblem, scratch: Scratch, even: bool) -> bool:
    """Fills ``work.cut`` for the order in ``work``; false if some memory is too small."""
    work, candidates = scratch.work, scratch.candidates
    _count_iterations(work, candidates)
    for x in range(problem.operands):
        candidates.below[x] = 0
    for memory in range(problem.memories):
        slots = problem.slots[memory]
        failure = _list_candidates(problem, work, candidates, memory)
        if failure == NO_FAILURE and not _choose(problem, candidates, memory, even):
            failure = slots
        if failure != NO_FAILURE:
            _count_failure(problem, scratch, memory, failure)
            return False
        for i in range(slots):
            x = problem.slot_operand[memory, i]
            candidates.below[x] = candidates.best[i]
            work.cut[x, problem.slot_level[memory, i]] = candidates.best[i]
    return True


@kernel
def _list_candidates(problem: FlatProblem, work: Work, candidates: Candidates, memory: int) -> int:
    """Finds the prefixes that fit on their own; returns a slot in which none does.

    Formula: docs/cost-model.md#candidates-of-a-memory
    """
    for i in range(problem.slots[memory]):
        x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
        is_top = level == problem.levels[x]
        below = int(candidates.below[x])
        first = work.loops if is_top else below
        precision = _precision(problem, work, x, level, below)
        candidates.first[i], candidates.last[i] = first, first - 1
        whole = whole_tensor(problem, work, x) if problem.double_buffered[memory] == 1 else 0.0
        _tile_up_to(problem, work, x, level, first)
        for prefix in range(first, work.loops + 1):
            elements = tile_elements(problem, work, x)
            is_last_tile = prefix == work.loops or elements >= whole
            bits = elements * precision
            candidates.bits[i, prefix] = bits if is_last_tile else 2 * bits
            candidates.accesses[i, prefix] = (
                0.0 if is_top else candidates.above[prefix] * candidates.bits[i, prefix]
            )
            if candidates.bits[i, prefix] > problem.memory_size[memory]:
                break
            candidates.last[i] = prefix
            if prefix < work.loops:
                work.extent[work.dimension[prefix]] *= work.factor[prefix]
        if candidates.last[i] < first:
            return i
    return NO_FAILURE


@kernel
def _precision(problem: FlatProblem, work: Work, x: int, level: int, below: int) -> float:
    """The precision of an element: that of a partial sum while an ir loop remains above it."""
    if x == OUT:
        if problem.reduced_from[FRACTIONAL, level] == 1:
            return float(problem.partial_precision[x])
        for n in range(below, work.loops):
            if problem.relevance[x, work.dimension[n]] == IRRELEVANT:
                return float(problem.partial_precision[x])
    return float(problem.precision[x])


@kernel
def _count_iterations(work: Work, candidates: Candidates) -> None:
    """Iterations of the loops above each prefix."""
    candidates.above[work.loops] = 1.0
    for n in range(work.loops - 1, -1, -1):
        candidates.above[n] = candidates.above[n + 1] * work.factor[n]


@kernel
def whole_tensor(problem: FlatProblem, work: Work, x: int) -> float:
    """Elements of the operand in all loops and unrollings below its top level."""
    _tile_up_to(problem, work, x, problem.levels[x], work.loops)
    return tile_elements(problem, work, x)


@kernel
def _tile_up_to(problem: FlatProblem, work: Work, x: int, level: int, cut: int) -> None:
    """The tile that a level holds with the loops below ``cut``: unrollings first, then loops."""
    reset_tile(problem, work)
    for below in range(1, level + 1):
        add_unrollings(problem, work, FRACTIONAL, x, below)
    for n in range(cut):
        work.extent[work.dimension[n]] *= work.factor[n]


@kernel
def _choose(problem: FlatProblem, candidates: Candidates, memory: int, even: bool) -> bool:
    """Fills ``best``: the fewest accesses among feasible combinations, ties to the last one.

    Combinations are in lexicographic order. A slot that the memory does not have gets one prefix
    with no bits and no accesses.

    Formula: docs/cost-model.md#the-combination-chosen
    """
    capacity = problem.memory_size[memory]
    for i in range(problem.slots[memory], OPERANDS):
        candidates.first[i] = candidates.last[i] = 0
        candidates.bits[i, 0] = candidates.accesses[i, 0] = 0.0
    fewest, found = np.inf, False
    for a in range(candidates.first[0], candidates.last[0] + 1):
        for b in range(candidates.first[1], candidates.last[1] + 1):
            bits = candidates.bits[0, a] + candidates.bits[1, b]
            accesses = candidates.accesses[0, a] + candidates.accesses[1, b]
            for c in range(candidates.first[2], candidates.last[2] + 1):
                total = accesses + candidates.accesses[2, c]
                is_within = bits + candidates.bits[2, c] <= capacity
                if (
                    is_within
                    and total <= fewest
                    and (not even or _is_even(problem, candidates, memory, (a, b, c)))
                ):
                    fewest, found = total, True
                    candidates.best[0], candidates.best[1], candidates.best[2] = a, b, c
    return found


@kernel
def _is_even(
    problem: FlatProblem, candidates: Candidates, memory: int, prefixes: tuple[int, int, int]
) -> bool:
    """Whether the slots end at one common loop, except operands that memories below hold further.

    An operand at its top level ends at the outermost loop.
    """
    common, uneven = 0, 0
    for i in range(problem.slots[memory]):
        if prefixes[i] > candidates.below[problem.slot_operand[memory, i]]:
            common = max(common, prefixes[i])
    for i in range(problem.slots[memory]):
        if prefixes[i] != max(candidates.below[problem.slot_operand[memory, i]], common):
            uneven += 1
    return uneven == 0


@kernel
def is_even_everywhere(problem: FlatProblem, work: Work, candidates: Candidates) -> bool:
    """Whether the cuts in ``work`` are even in every memory."""
    for memory in range(problem.memories):
        for i in range(problem.slots[memory]):
            x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
            candidates.below[x] = work.cut[x, level - 1] if level > 1 else 0
            candidates.best[i] = work.cut[x, level]
        ends = candidates.best
        if not _is_even(problem, candidates, memory, (ends[0], ends[1], ends[2])):
            return False
    return True


@kernel
def _count_failure(problem: FlatProblem, scratch: Scratch, memory: int, failure: int) -> None:
    """Counts a failure of the slot that does not fit, or of all slots together."""
    candidates, failures = scratch.candidates, scratch.failures
    need = 0.0
    for i in range(problem.slots[memory]):
        if failure in (i, problem.slots[memory]):
            need += candidates.bits[i, candidates.first[i]]
    failures.orders[memory, failure] += 1
    if failures.orders[memory, failure] == 1 or need < failures.need[memory, failure]:
        failures.need[memory, failure] = need
