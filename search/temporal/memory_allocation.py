"""Memory allocation for one loop order: which memory level holds which loops (LOMA).

Memories are filled from the innermost on. Each takes, for every operand it holds, a prefix of
the operand's loops that no memory below has taken; of the combinations that fit together the
one with the fewest accesses to the level above wins.

Source: LOMA (Symons et al., AICAS 2021); spec section 8.
"""

from __future__ import annotations

from typing import Annotated, final

import numpy as np

from nestmap.costmodel.evaluate_rows import load_order, load_row
from nestmap.costmodel.flatten import FlatProblem
from nestmap.costmodel.footprint import start_tile, tile_elements, widen, widen_to_level
from nestmap.costmodel.kernel.axes import FRACTIONAL, OUT
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import (
    LOOPS,
    MEMORIES,
    OPERANDS,
    check_loops,
    new_record,
)
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Codes, Floats, Ints

FITS = -1


@final
class Failures:
    """Why orders failed, by memory and holder; the column after them stands for all together."""

    orders: Annotated[Ints, (MEMORIES, OPERANDS + 1)]
    need: Annotated[Floats, (MEMORIES, OPERANDS + 1)]  # fewest bits asked for


@final
class Shelf:
    """What one memory could hold, by its holders (``i``); scratch of one allocation."""

    taken: Annotated[Ints, (OPERANDS,)]  # [x] loops that memories below have taken
    first: Annotated[Ints, (OPERANDS,)]  # [i] range of prefixes worth trying
    last: Annotated[Ints, (OPERANDS,)]
    bits: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [i] room that a prefix needs
    accesses: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [i] bits that the level above then sends
    above: Annotated[Floats, (LOOPS + 1,)]  # iterations of the loops above a prefix
    best: Annotated[Ints, (OPERANDS,)]  # [i] prefix chosen


def allocate_rows(
    problem: FlatProblem, factors: Ints, orders: Codes, even: bool, failures: Failures
) -> tuple[Codes, Codes]:
    """The orders that fit the memories, and their cuts (rows x operands x levels)."""
    check_loops(orders.shape[1])
    cuts = np.empty((len(orders), problem.operands, max(problem.levels)), np.uint8)
    kept = _allocate_rows(
        problem, (new_record(Work), new_record(Shelf), failures), factors, orders, even, cuts
    )
    return orders[:kept], cuts[:kept]


@kernel
def _allocate_rows(
    problem: FlatProblem,
    scratch: tuple[Work, Shelf, Failures],
    factors: Ints,
    orders: Codes,
    even: bool,
    cuts: Codes,
) -> int:
    """Moves orders that fit, with their cuts, to the front; gives how many."""
    work, shelf, failures = scratch
    kept = 0
    for row in range(len(orders)):
        load_order(work, factors, orders[row])
        if allocate(problem, work, shelf, even, failures):
            for n in range(work.loops):
                orders[kept, n] = orders[row, n]
            write_cuts(problem, work, cuts, kept)
            kept += 1
    return kept


@kernel
def write_cuts(problem: FlatProblem, work: Work, cuts: Codes, row: int) -> None:
    """Puts the cuts of the work arrays into a row; levels that are not there hold all loops."""
    for x in range(cuts.shape[1]):
        for level in range(cuts.shape[2]):
            cuts[row, x, level] = work.cut[x, min(level + 1, problem.levels[x])]


def fits(
    problem: FlatProblem, factors: Ints, order: Codes, cuts: Codes, failures: Failures
) -> bool:
    """Whether the memories hold what the given cuts put there: what :func:`allocate` asks too."""
    check_loops(len(order))
    return bool(
        _fits(problem, (new_record(Work), new_record(Shelf), failures), factors, order, cuts)
    )


@kernel
def _fits(
    problem: FlatProblem,
    scratch: tuple[Work, Shelf, Failures],
    factors: Ints,
    order: Codes,
    cuts: Codes,
) -> bool:
    work, shelf, failures = scratch
    load_row(work, factors, order, cuts)
    for memory in range(problem.memories):
        room, holders = problem.memory_size[memory], problem.holders[memory]
        misfit, together = FITS, 0.0
        for i in range(holders):
            bits = _bits_at(problem, work, memory, i)
            shelf.first[i] = 0
            shelf.bits[i, 0] = bits
            together += bits
            if bits > room and misfit == FITS:
                misfit = i
        if misfit == FITS and together > room:
            misfit = holders
        if misfit != FITS:
            _note_failure(problem, shelf, memory, misfit, failures)
            return False
    return True


@kernel
def _bits_at(problem: FlatProblem, work: Work, memory: int, i: int) -> float:
    """The room that the cuts in ``work`` ask of a memory for its holder ``i``."""
    x, level = problem.holder[memory, i], problem.holder_level[memory, i]
    cut, taken = int(work.cut[x, level]), int(work.cut[x, level - 1]) if level > 1 else 0
    whole = _whole_tensor(problem, work, x) if problem.double_buffered[memory] == 1 else 0.0
    _tile_up_to(problem, work, x, level, cut)
    elements = tile_elements(problem, work, x)
    copies = 1 if cut == work.loops or elements >= whole else 2
    return copies * elements * _precision(problem, work, x, level, taken)


@kernel
def allocate(
    problem: FlatProblem, work: Work, shelf: Shelf, even: bool, failures: Failures
) -> bool:
    """Fills ``work.cut`` for the order in ``work``; false if some memory is too small."""
    _count_iterations(work, shelf)
    for x in range(problem.operands):
        shelf.taken[x] = 0
    for memory in range(problem.memories):
        holders = problem.holders[memory]
        misfit = _offer_prefixes(problem, work, shelf, memory)
        if misfit == FITS and not _choose(problem, shelf, memory, even):
            misfit = holders
        if misfit != FITS:
            _note_failure(problem, shelf, memory, misfit, failures)
            return False
        for i in range(holders):
            x = problem.holder[memory, i]
            shelf.taken[x] = shelf.best[i]
            work.cut[x, problem.holder_level[memory, i]] = shelf.best[i]
    return True


@kernel
def _offer_prefixes(problem: FlatProblem, work: Work, shelf: Shelf, memory: int) -> int:
    """Fills ``shelf`` with the prefixes that fit alone; gives a holder of which none does."""
    for i in range(problem.holders[memory]):
        x, level = problem.holder[memory, i], problem.holder_level[memory, i]
        is_top = level == problem.levels[x]
        taken = int(shelf.taken[x])
        first = work.loops if is_top else taken
        precision = _precision(problem, work, x, level, taken)
        shelf.first[i], shelf.last[i] = first, first - 1
        whole = _whole_tensor(problem, work, x) if problem.double_buffered[memory] == 1 else 0.0
        _tile_up_to(problem, work, x, level, first)
        for cut in range(first, work.loops + 1):
            elements = tile_elements(problem, work, x)
            bits = elements * precision
            last_tile = cut == work.loops or elements >= whole
            shelf.bits[i, cut] = bits if last_tile else 2 * bits
            shelf.accesses[i, cut] = 0.0 if is_top else shelf.above[cut] * shelf.bits[i, cut]
            if shelf.bits[i, cut] > problem.memory_size[memory]:
                break
            shelf.last[i] = cut
            if cut < work.loops:
                widen(problem, work, x, work.dimension[cut], work.factor[cut])
        if shelf.last[i] < first:
            return i
    return FITS


@kernel
def _precision(problem: FlatProblem, work: Work, x: int, level: int, taken: int) -> float:
    """Bits of an element: of a partial sum while an ir loop is left above what lies below."""
    if x == OUT:
        if problem.reduced_from[FRACTIONAL, level] == 1:
            return float(problem.partial_precision[x])
        for n in range(taken, work.loops):
            if problem.relevance[x, work.dimension[n]] == IRRELEVANT:
                return float(problem.partial_precision[x])
    return float(problem.precision[x])


@kernel
def _count_iterations(work: Work, shelf: Shelf) -> None:
    """``above``: iterations of the loops from each cut on."""
    shelf.above[work.loops] = 1.0
    for n in range(work.loops - 1, -1, -1):
        shelf.above[n] = shelf.above[n + 1] * work.factor[n]


@kernel
def _whole_tensor(problem: FlatProblem, work: Work, x: int) -> float:
    """Elements of the operand in all loops and unrollings below its top level."""
    _tile_up_to(problem, work, x, problem.levels[x], work.loops)
    return tile_elements(problem, work, x)


@kernel
def _tile_up_to(problem: FlatProblem, work: Work, x: int, level: int, cut: int) -> None:
    """The tile that a level holds with the loops below ``cut``: unrollings first, then loops."""
    start_tile(problem, work)
    for below in range(1, level + 1):
        widen_to_level(problem, work, FRACTIONAL, x, below)
    for n in range(cut):
        widen(problem, work, x, work.dimension[n], work.factor[n])


@kernel
def _choose(problem: FlatProblem, shelf: Shelf, memory: int, even: bool) -> bool:
    """Fills ``best``: fewest accesses among what fits together, the last one of equals.

    Combinations come in lexicographic order; holders that are not there have one prefix, of no
    bits and no accesses.
    """
    room, holders = problem.memory_size[memory], problem.holders[memory]
    for i in range(holders, OPERANDS):
        shelf.first[i] = shelf.last[i] = 0
        shelf.bits[i, 0] = shelf.accesses[i, 0] = 0.0
    fewest, found = np.inf, False
    for a in range(shelf.first[0], shelf.last[0] + 1):
        for b in range(shelf.first[1], shelf.last[1] + 1):
            bits = shelf.bits[0, a] + shelf.bits[1, b]
            accesses = shelf.accesses[0, a] + shelf.accesses[1, b]
            for c in range(shelf.first[2], shelf.last[2] + 1):
                total = accesses + shelf.accesses[2, c]
                fits = bits + shelf.bits[2, c] <= room
                if (
                    fits
                    and total <= fewest
                    and (not even or _is_even(problem, shelf, memory, (a, b, c)))
                ):
                    fewest, found = total, True
                    shelf.best[0], shelf.best[1], shelf.best[2] = a, b, c
    return found


@kernel
def _is_even(problem: FlatProblem, shelf: Shelf, memory: int, cuts: tuple[int, int, int]) -> bool:
    """Whether the holders stop at one common loop, but for those that are above it already.

    A holder at its top level stops at the outermost loop.
    """
    common, stray = 0, 0
    for i in range(problem.holders[memory]):
        if cuts[i] > shelf.taken[problem.holder[memory, i]]:
            common = max(common, cuts[i])
    for i in range(problem.holders[memory]):
        if cuts[i] != max(shelf.taken[problem.holder[memory, i]], common):
            stray += 1
    return stray == 0


@kernel
def _note_failure(
    problem: FlatProblem, shelf: Shelf, memory: int, misfit: int, failures: Failures
) -> None:
    """Counts a failure under the holder that does not fit, or under all of them together."""
    need = 0.0
    for i in range(problem.holders[memory]):
        if misfit in (i, problem.holders[memory]):
            need += shelf.bits[i, shelf.first[i]]
    failures.orders[memory, misfit] += 1
    if failures.orders[memory, misfit] == 1 or need < failures.need[memory, misfit]:
        failures.need[memory, misfit] = need
