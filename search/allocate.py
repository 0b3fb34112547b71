"""Memory allocation for one loop order: which memory level holds which loops (LOMA).

Memories are filled from the innermost on. Each takes, for every operand it holds, a prefix of
the operand's loops that no memory below has taken; of the combinations that fit together the
one with the fewest accesses to the level above wins.

Source: LOMA (Symons et al., AICAS 2021); spec section 8.
"""

from __future__ import annotations

from typing import Annotated, final

import numpy as np

from nestmap.costmodel.evaluate import load_order
from nestmap.costmodel.footprint import start_tile, widen, widen_to_level
from nestmap.costmodel.jit import kernel
from nestmap.costmodel.problem import FRACTIONAL, OUT, FlatProblem
from nestmap.costmodel.record import F64, I64, LOOPS, MEMORIES, OPERANDS, new_record
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.work import Work
from nestmap.model.batch import Codes

FITS = -1


@final
class Failures:
    """Why orders failed: the column after the operands stands for all of them together."""

    orders: Annotated[I64, (MEMORIES, OPERANDS + 1)]
    need: Annotated[F64, (MEMORIES, OPERANDS + 1)]  # fewest bits asked for


@final
class Shelf:
    """What one memory could hold of each operand; scratch of one allocation."""

    level: Annotated[I64, (OPERANDS,)]  # the operand's level in this memory, 0: not held here
    taken: Annotated[I64, (OPERANDS,)]  # loops that memories below have taken
    first: Annotated[I64, (OPERANDS,)]  # range of prefixes worth trying
    last: Annotated[I64, (OPERANDS,)]
    bits: Annotated[F64, (OPERANDS, LOOPS + 1)]  # room that a prefix needs
    accesses: Annotated[F64, (OPERANDS, LOOPS + 1)]  # bits that the level above then sends
    choice: Annotated[I64, (OPERANDS,)]  # prefix under trial
    best: Annotated[I64, (OPERANDS,)]


def allocate_rows(
    problem: FlatProblem, factors: I64, orders: Codes, even: bool, failures: Failures
) -> tuple[Codes, Codes]:
    """The orders that fit the memories, and their cuts (rows x operands x levels)."""
    cuts = np.empty((len(orders), problem.operands, max(problem.levels)), np.uint8)
    kept = _allocate_rows(
        problem, (new_record(Work), new_record(Shelf), failures), factors, orders, even, cuts
    )
    return orders[:kept], cuts[:kept]


@kernel
def _allocate_rows(
    problem: FlatProblem,
    scratch: tuple[Work, Shelf, Failures],
    factors: I64,
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
            for x in range(cuts.shape[1]):
                for level in range(cuts.shape[2]):
                    cuts[kept, x, level] = work.cut[x, min(level + 1, problem.levels[x])]
            kept += 1
    return kept


@kernel
def allocate(
    problem: FlatProblem, work: Work, shelf: Shelf, even: bool, failures: Failures
) -> bool:
    """Fills ``work.cut`` for the order in ``work``; false if some memory is too small."""
    for x in range(problem.operands):
        shelf.taken[x] = 0
    for memory in range(problem.memories):
        if not _look_up_levels(problem, shelf, memory):
            continue
        misfit = _offer_prefixes(problem, work, shelf, memory)
        if misfit == FITS and not _choose(problem, shelf, memory, even):
            misfit = problem.operands
        if misfit != FITS:
            _note_failure(problem, shelf, memory, misfit, failures)
            return False
        for x in range(problem.operands):
            if shelf.level[x] > 0:
                shelf.taken[x] = shelf.best[x]
                work.cut[x, shelf.level[x]] = shelf.best[x]
    return True


@kernel
def _look_up_levels(problem: FlatProblem, shelf: Shelf, memory: int) -> bool:
    """Which level of each operand the memory is; false if it holds none of the layer's."""
    used = False
    for x in range(problem.operands):
        shelf.level[x] = 0
        for level in range(1, problem.levels[x] + 1):
            if problem.memory[x, level] == memory:
                shelf.level[x] = level
                used = True
    return used


@kernel
def _offer_prefixes(problem: FlatProblem, work: Work, shelf: Shelf, memory: int) -> int:
    """Fills ``shelf`` with the prefixes that fit alone; gives an operand of which none does."""
    for x in range(problem.operands):
        if shelf.level[x] == 0:
            continue
        loops, level = work.loops, shelf.level[x]
        is_top = level == problem.levels[x]
        first = loops if is_top else shelf.taken[x]
        precision = _precision(problem, work, x, level, shelf.taken[x])
        shelf.first[x], shelf.last[x] = first, first - 1
        whole = _whole_tensor(problem, work, x)
        _tile_up_to(problem, work, x, level, first)
        for cut in range(first, loops + 1):
            bits = work.tile * precision
            iterations = 0.0 if is_top else _iterations_above(work, cut)
            shelf.accesses[x, cut] = iterations * bits
            last_tile = cut == loops or work.tile >= whole
            copies = 2.0 if problem.double_buffered[memory] == 1 and not last_tile else 1.0
            shelf.bits[x, cut] = bits * copies
            if shelf.bits[x, cut] > problem.memory_size[memory]:
                break
            shelf.last[x] = cut
            if cut < loops:
                widen(problem, work, x, work.dimension[cut], work.factor[cut])
        if shelf.last[x] < first:
            return x
    return FITS


@kernel
def _precision(problem: FlatProblem, work: Work, x: int, level: int, taken: int) -> float:
    """Bits of an element: of a partial sum while an ir loop is left above what lies below."""
    if x == OUT:
        if problem.reduced_from[FRACTIONAL, level - 1] == 1:
            return float(problem.partial_precision[x])
        for n in range(taken, work.loops):
            if problem.relevance[x, work.dimension[n]] == IRRELEVANT:
                return float(problem.partial_precision[x])
    return float(problem.precision[x])


@kernel
def _iterations_above(work: Work, cut: int) -> float:
    product = 1.0
    for n in range(cut, work.loops):
        product *= work.factor[n]
    return product


@kernel
def _whole_tensor(problem: FlatProblem, work: Work, x: int) -> float:
    """Elements of the operand in all loops and unrollings below its top level."""
    _tile_up_to(problem, work, x, problem.levels[x], work.loops)
    return work.tile


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
    """Fills ``best``: fewest accesses among what fits together, the last one of equals."""
    fewest, found = np.inf, False
    for x in range(problem.operands):
        shelf.choice[x] = shelf.first[x] if shelf.level[x] > 0 else 0
    while True:
        bits, accesses = 0.0, 0.0
        for x in range(problem.operands):
            if shelf.level[x] > 0:
                bits += shelf.bits[x, shelf.choice[x]]
                accesses += shelf.accesses[x, shelf.choice[x]]
        fits = bits <= problem.memory_size[memory] and (not even or _is_even(problem, shelf))
        if fits and accesses <= fewest:
            fewest, found = accesses, True
            for x in range(problem.operands):
                shelf.best[x] = shelf.choice[x]
        if not _next_choice(problem, shelf):
            return found


@kernel
def _next_choice(problem: FlatProblem, shelf: Shelf) -> bool:
    """Steps to the lexicographically next combination of prefixes; false after the last."""
    for x in range(problem.operands - 1, -1, -1):
        if shelf.level[x] > 0:
            if shelf.choice[x] < shelf.last[x]:
                shelf.choice[x] += 1
                return True
            shelf.choice[x] = shelf.first[x]
    return False


@kernel
def _is_even(problem: FlatProblem, shelf: Shelf) -> bool:
    """Whether all operands that the memory holds stop at the same loop."""
    common = -1
    for x in range(problem.operands):
        if shelf.level[x] > 0:
            if common >= 0 and shelf.choice[x] != common:
                return False
            common = shelf.choice[x]
    return True


@kernel
def _note_failure(
    problem: FlatProblem, shelf: Shelf, memory: int, misfit: int, failures: Failures
) -> None:
    need = 0.0
    for x in range(problem.operands):
        if shelf.level[x] > 0 and misfit in (x, problem.operands):
            need += shelf.bits[x, shelf.first[x]]
    failures.orders[memory, misfit] += 1
    if failures.orders[memory, misfit] == 1 or need < failures.need[memory, misfit]:
        failures.need[memory, misfit] = need
