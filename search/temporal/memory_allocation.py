"""Memory allocation for one loop order: which memory level holds which loops (LOMA).

Memories are allocated from the innermost outwards. A memory has a slot for each operand that it
holds. The candidates of a slot are the prefixes of the loop order that contain what the memories
below hold and that fit on their own; of the combinations that fit together the one that causes
the fewest accesses to the level above is chosen.

Source: LOMA (Symons et al., AICAS 2021). Formulas: docs/cost-model.md#memory-allocation
"""

from typing import Annotated, Final, NamedTuple, final

import numpy as np

from nestmap.costmodel.evaluate_rows import load_order, load_row
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import MEMORIES, OPERANDS, check_loops, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.model.arrays import Codes, Flags, Floats, Ints
from nestmap.search.temporal.slot_candidates import (
    NO_FAILURE,
    Candidates,
    compare_order,
    forget_from,
    held_loops,
    is_chosen,
    list_candidates,
    slot_bits,
    whole_tensor,
)

NOT_HELD: Final = OPERANDS + 1
"""The column of failures of the dataflow."""

assert OPERANDS == 3, "_choose has a loop for each slot of a memory"


@final
class Failures:
    """Counts of failed orders by memory and slot.

    The column after the last slot counts all together; the last one, cuts below what the dataflow
    wants the memory to hold.
    """

    orders: Annotated[Ints, (MEMORIES, OPERANDS + 2)]
    need: Annotated[Floats, (MEMORIES, OPERANDS + 2)]  # fewest bits required


class Scratch(NamedTuple):
    """The records that allocation uses, for orders of the same loops of one problem."""

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
    problem: FlatProblem, scratch: Scratch, factors: Ints, orders: Codes, even: bool, cuts: Codes
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


def fits_rows(
    problem: FlatProblem, factors: Ints, orders: Codes, cuts: Codes, failures: Failures
) -> Flags:
    """Whether the cuts of each row fit the memories, by the same rule as in :func:`allocate`.

    Rows that do not fit are counted in ``failures``.
    """
    check_loops(orders.shape[1])
    return _fits_rows(problem, new_scratch(failures), factors, orders, cuts)


@kernel
def _fits_rows(
    problem: FlatProblem, scratch: Scratch, factors: Ints, orders: Codes, cuts: Codes
) -> Flags:
    fitting = np.empty(len(orders), np.bool_)
    for row in range(len(orders)):
        fitting[row] = _fits(problem, scratch, factors, orders[row], cuts[row])
    return fitting


@kernel
def _fits(problem: FlatProblem, scratch: Scratch, factors: Ints, order: Codes, cuts: Codes) -> bool:
    candidates = scratch.candidates
    load_row(scratch.work, factors, order, cuts)
    for memory in range(problem.memories):
        capacity, slots = problem.memory_room[memory], problem.slots[memory]
        failure, total = NO_FAILURE, 0.0
        for i in range(slots):
            bits = _bits_at(problem, scratch.work, memory, i)
            candidates.first[memory, i] = 0
            candidates.bits[memory, i, 0] = bits
            total += bits
            if bits > capacity and failure == NO_FAILURE:
                failure = i
            if not _holds_enough(problem, scratch.work, memory, i):
                failure = NOT_HELD
        if failure == NO_FAILURE and total > capacity:
            failure = slots
        if failure != NO_FAILURE:
            _count_failure(problem, scratch, memory, failure)
            return False
    return True


@kernel
def _holds_enough(problem: FlatProblem, work: Work, memory: int, i: int) -> bool:
    """Whether a slot, if it is the innermost of its operand, holds what the dataflow wants."""
    x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
    return level > 1 or bool(work.cut[x, 1] >= held_loops(problem, work, x))


@kernel
def _bits_at(problem: FlatProblem, work: Work, memory: int, i: int) -> float:
    """The capacity in bits that the cuts in ``work`` require in slot ``i`` of a memory."""
    x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
    cut, below = int(work.cut[x, level]), int(work.cut[x, level - 1]) if level > 1 else 0
    return slot_bits(problem, work, (memory, x, level), cut, below, whole_tensor(problem, work, x))


@kernel
def allocate(problem: FlatProblem, scratch: Scratch, even: bool) -> bool:
    """Fills ``work.cut`` for the order in ``work``; false if some memory is too small."""
    work, candidates = scratch.work, scratch.candidates
    same = compare_order(problem, work, candidates)
    for x in range(problem.operands):
        candidates.below[x] = 0
    for memory in range(problem.memories):
        slots = problem.slots[memory]
        if not is_chosen(problem, candidates, memory, same):
            failure = list_candidates(problem, work, candidates, memory, same)
            is_same = candidates.is_listed[memory] == 1 and not even
            if failure == NO_FAILURE and not is_same:
                failure = NO_FAILURE if _choose(problem, candidates, memory, even) else slots
            if failure != NO_FAILURE:
                _count_failure(problem, scratch, memory, failure)
                forget_from(problem, candidates, memory)
                return False
        for i in range(slots):
            x = problem.slot_operand[memory, i]
            candidates.chosen_above[memory, i] = candidates.below[x]
            candidates.below[x] = candidates.best[memory, i]
            work.cut[x, problem.slot_level[memory, i]] = candidates.best[memory, i]
    return True


@kernel
def _choose(problem: FlatProblem, candidates: Candidates, memory: int, even: bool) -> bool:
    """Fills ``best``: the fewest accesses among feasible combinations, ties to the last one.

    Combinations are in lexicographic order, the last one first: longer prefixes mostly need fewer
    accesses, so that the minimum of shorter ones ends a loop early. A slot that the memory does not
    have gets one prefix with no bits and no accesses.

    Formula: docs/cost-model.md#the-combination-chosen
    """
    capacity, best = problem.memory_room[memory], candidates.best
    accesses, bits, least = candidates.accesses, candidates.bits, candidates.least
    first, last = candidates.first, candidates.last
    for i in range(problem.slots[memory], OPERANDS):
        first[memory, i] = last[memory, i] = 0
        bits[memory, i, 0] = accesses[memory, i, 0] = least[memory, i, 0] = 0.0
    last_b, last_c = last[memory, 1], last[memory, 2]
    fewest, found = np.inf, False
    for a in range(last[memory, 0], first[memory, 0] - 1, -1):
        if least[memory, 0, a] + least[memory, 1, last_b] + least[memory, 2, last_c] >= fewest:
            break
        for b in range(last_b, first[memory, 1] - 1, -1):
            if accesses[memory, 0, a] + least[memory, 1, b] + least[memory, 2, last_c] >= fewest:
                break
            held, sent = (
                bits[memory, 0, a] + bits[memory, 1, b],
                accesses[memory, 0, a] + accesses[memory, 1, b],
            )
            for c in range(last_c, first[memory, 2] - 1, -1):
                if sent + least[memory, 2, c] >= fewest:
                    break
                if (
                    held + bits[memory, 2, c] <= capacity
                    and sent + accesses[memory, 2, c] < fewest
                    and (not even or _is_even(problem, candidates, memory, (a, b, c)))
                ):
                    fewest, found = sent + accesses[memory, 2, c], True
                    best[memory, 0], best[memory, 1], best[memory, 2] = a, b, c
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
def _count_failure(problem: FlatProblem, scratch: Scratch, memory: int, failure: int) -> None:
    """Counts a failure of the slot that does not fit, or of all slots together."""
    candidates, failures = scratch.candidates, scratch.failures
    need = 0.0
    for i in range(problem.slots[memory]):
        if failure in (i, problem.slots[memory]):
            need += candidates.bits[memory, i, candidates.first[memory, i]]
    failures.orders[memory, failure] += 1
    if failures.orders[memory, failure] == 1 or need < failures.need[memory, failure]:
        failures.need[memory, failure] = need
