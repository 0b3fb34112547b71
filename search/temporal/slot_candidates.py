"""The prefixes of a loop order that each slot of a memory could hold.

Formulas: docs/cost-model.md#memory-allocation
"""

from __future__ import annotations

from typing import Annotated, final

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import add_unrollings, reset_tile, tile_elements
from nestmap.costmodel.kernel.axes import FRACTIONAL, OUT
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import LOOPS, MEMORIES, OPERANDS
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT, replace_loops
from nestmap.model.arrays import Floats, Ints

NO_FAILURE = -1
"""The slot that fails when none does."""

NO_PREFIX = -1


@final
class Candidates:
    """The prefixes that each slot (``i``) of a memory (``m``) could hold; a prefix is its length.

    Lexicographic neighbors share prefixes: what depends on no other loop is kept for the next order
    of the same loops.
    """

    is_filled: int  # 1 if there was an order before
    dimension_before: Annotated[Ints, (LOOPS,)]  # [n] its loops
    factor_before: Annotated[Floats, (LOOPS,)]  # [n]
    below: Annotated[Ints, (OPERANDS,)]  # [x] prefix that the memories below hold
    first: Annotated[Ints, (OPERANDS,)]  # [i] range of prefixes
    last: Annotated[Ints, (OPERANDS,)]
    bits: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [i] capacity that a prefix requires
    accesses: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [i] bits that the level above then sends
    least: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [i] minimum of the accesses up to a prefix
    above: Annotated[Floats, (LOOPS + 1,)]  # iterations of the loops above a prefix
    best: Annotated[Ints, (MEMORIES, OPERANDS)]  # [m, i] prefix chosen
    chosen_above: Annotated[Ints, (MEMORIES, OPERANDS)]  # [m, i] for this prefix below
    reach: Annotated[Ints, (MEMORIES,)]  # [m] longest prefix on which the choice depends
    elements: Annotated[Floats, (MEMORIES, OPERANDS, LOOPS + 1)]  # [m, i] of prefixes in a range
    first_known: Annotated[Ints, (MEMORIES, OPERANDS)]  # [m, i]
    last_known: Annotated[Ints, (MEMORIES, OPERANDS)]


@kernel
def compare_order(problem: FlatProblem, work: Work, candidates: Candidates) -> int:
    """Counts the iterations above; returns the innermost loops that the order before had too."""
    if candidates.is_filled == 0:
        forget_from(problem, candidates, 0)
        candidates.is_filled = 1
    candidates.above[work.loops] = 1.0
    for n in range(work.loops - 1, -1, -1):
        candidates.above[n] = candidates.above[n + 1] * work.factor[n]
    return replace_loops(work, candidates.dimension_before, candidates.factor_before)


@kernel
def forget_from(problem: FlatProblem, candidates: Candidates, first: int) -> None:
    """Forgets the prefixes of the memories from ``first`` on."""
    for memory in range(first, problem.memories):
        candidates.reach[memory] = LOOPS + 1
        for i in range(problem.slots[memory]):
            candidates.first_known[memory, i], candidates.last_known[memory, i] = 0, -1


@kernel
def is_chosen(problem: FlatProblem, candidates: Candidates, memory: int, same: int) -> bool:
    """Whether the choice of the order before holds: all on which it depends is the same."""
    if candidates.reach[memory] > same:
        return False
    for i in range(problem.slots[memory]):
        x = problem.slot_operand[memory, i]
        if candidates.chosen_above[memory, i] != candidates.below[x]:
            return False
    return True


@kernel
def list_candidates(
    problem: FlatProblem, work: Work, candidates: Candidates, memory: int, same: int
) -> int:
    """Finds the prefixes that fit on their own; returns a slot in which none does.

    ``same`` is the result of :func:`compare_order`.

    Formula: docs/cost-model.md#candidates-of-a-memory
    """
    candidates.reach[memory] = 0
    for i in range(problem.slots[memory]):
        x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
        below = int(candidates.below[x])
        first = max(below, held_loops(problem, work, x)) if level == 1 else below
        candidates.first[i] = work.loops if level == problem.levels[x] else first
        _keep_elements(problem, candidates, (memory, i), same)
        examined = _list_slot(problem, work, candidates, memory, i)
        if candidates.last[i] < candidates.first[i]:
            return i
        if problem.views == 1 and level == problem.levels[x]:
            examined = below  # products of whole numbers: the same in any order
        if problem.views > 1 and problem.double_buffered[memory] == 1:
            examined = work.loops  # the whole tensor
        if level == 1 and first > below:
            examined = work.loops  # any loop may be one that is held
        candidates.reach[memory] = max(candidates.reach[memory], examined)
    return NO_FAILURE


@kernel
def held_loops(problem: FlatProblem, work: Work, x: int) -> int:
    """The innermost loops up to the last one that the innermost memory of an operand has to hold.

    The idle loop of a layer without temporal loops, of size 1, is none of them.

    Formula: docs/cost-model.md#dataflows
    """
    for n in range(work.loops - 1, -1, -1):
        if problem.held[x, work.dimension[n]] == 1 and work.factor[n] > 1.0:
            return n + 1
    return 0


@kernel
def _list_slot(
    problem: FlatProblem, work: Work, candidates: Candidates, memory: int, i: int
) -> int:
    """Lists the prefixes of a slot; returns the longest that was examined."""
    x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
    first, is_top = candidates.first[i], level == problem.levels[x]
    each = _element_bits(problem, work, x, level, int(candidates.below[x]))
    whole = whole_tensor(problem, work, x) if problem.double_buffered[memory] == 1 else 0.0
    least, extended = np.inf, NO_PREFIX
    candidates.last[i] = first - 1
    for prefix in range(first, work.loops + 1):
        if prefix > candidates.last_known[memory, i]:
            if extended == NO_PREFIX:
                _tile_up_to(problem, work, x, level, prefix)
            else:
                work.extent[work.dimension[extended]] *= work.factor[extended]
            extended = prefix
            candidates.elements[memory, i, prefix] = tile_elements(problem, work, x)
            candidates.last_known[memory, i] = prefix
        elements = candidates.elements[memory, i, prefix]
        is_last_tile = prefix == work.loops or elements >= whole
        bits = elements * each if is_last_tile else 2 * (elements * each)
        accesses = 0.0 if is_top else candidates.above[prefix] * bits
        least = min(least, accesses)
        candidates.bits[i, prefix], candidates.accesses[i, prefix] = bits, accesses
        candidates.least[i, prefix] = least
        if bits > problem.memory_size[memory]:
            return prefix
        candidates.last[i] = prefix
    return int(work.loops)


@kernel
def _keep_elements(
    problem: FlatProblem, candidates: Candidates, slot: tuple[int, int], same: int
) -> None:
    """Keeps the elements of the prefixes within the ``same`` loops, as far as they are listed."""
    x, first = problem.slot_operand[slot], candidates.first[slot[1]]
    if problem.views > 1 or problem.slot_level[slot] < problem.levels[x]:
        candidates.last_known[slot] = min(candidates.last_known[slot], same)
    if first < candidates.first_known[slot] or first > candidates.last_known[slot] + 1:
        candidates.first_known[slot], candidates.last_known[slot] = first, first - 1


@kernel
def _element_bits(problem: FlatProblem, work: Work, x: int, level: int, below: int) -> float:
    """The bits of an element: those of a partial sum while an ir loop remains above it."""
    if x == OUT:
        if problem.reduced_from[FRACTIONAL, level] == 1:
            return float(problem.partial_bits[x, level])
        for n in range(below, work.loops):
            if problem.relevance[x, work.dimension[n]] == IRRELEVANT:
                return float(problem.partial_bits[x, level])
    return float(problem.element_bits[x, level])


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
    return copies * elements * _element_bits(problem, work, x, level, below)


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
