"""The prefixes of a loop order that each slot of a memory could hold.

Formulas: docs/cost-model.md#memory-allocation
"""

from typing import Annotated, final

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import add_unrollings, axis_elements, reset_tile, tile_elements
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import (
    DIMENSIONS,
    FRACTIONAL,
    LEVELS,
    LOOPS,
    MEMORIES,
    OPERANDS,
    OUT,
)
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT, RELEVANT
from nestmap.model.arrays import Floats, Ints

NO_FAILURE = -1
"""The slot that fails when none does."""

NO_PREFIX = -1
FINEST = 2.0**12
"""The largest denominator with which all iterations are exact."""

EXACT = 2.0**48
"""Counts in the smallest binary places that occur, below which products are exact by far."""


@final
class Candidates:
    """The prefixes that each slot (``i``) of a memory (``m``) could hold; a prefix is its length.

    Lexicographic neighbors share prefixes: what depends on no other loop is kept for the next order
    of the same loops.
    """

    is_filled: int  # 1 if there was an order before
    is_exact: int  # 1 if products of unrollings and loops are, in any order
    dimension_before: Annotated[Ints, (LOOPS,)]  # [n] its loops
    factor_before: Annotated[Floats, (LOOPS,)]  # [n]
    r_unrolled: Annotated[Floats, (OPERANDS, LEVELS)]  # [x, l] r unrollings below a level
    unrolled: Annotated[Floats, (OPERANDS, LEVELS, DIMENSIONS)]  # [x, l, d]
    r_loops: Annotated[Floats, (OPERANDS, LOOPS + 1)]  # [x, n] r iterations of the first n loops
    iterations: Annotated[Floats, (LOOPS + 1, DIMENSIONS)]  # [n, d]
    below: Annotated[Ints, (OPERANDS,)]  # [x] prefix that the memories below hold
    first: Annotated[Ints, (MEMORIES, OPERANDS)]  # [m, i] range of prefixes
    last: Annotated[Ints, (MEMORIES, OPERANDS)]
    each: Annotated[Floats, (MEMORIES, OPERANDS)]  # [m, i] bits of an element
    examined: Annotated[Ints, (MEMORIES, OPERANDS)]  # [m, i] longest prefix that is listed
    # [m, i] of a prefix: capacity that it requires, bits that the level above then sends, and the
    # minimum of these up to it
    bits: Annotated[Floats, (MEMORIES, OPERANDS, LOOPS + 1)]
    accesses: Annotated[Floats, (MEMORIES, OPERANDS, LOOPS + 1)]
    least: Annotated[Floats, (MEMORIES, OPERANDS, LOOPS + 1)]
    above: Annotated[Floats, (LOOPS + 1,)]  # iterations of the loops above a prefix
    is_listed: Annotated[Ints, (MEMORIES,)]  # [m] 1 if the choice is among the same prefixes
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
        is_whole = problem.counts_clipped == 0 and has_exact_tiles(problem)
        candidates.is_exact = 1 if is_whole else 0
        _count_unrollings(problem, work, candidates)
    all_before = candidates.above[0]
    candidates.above[work.loops] = 1.0
    for n in range(work.loops - 1, -1, -1):
        candidates.above[n] = candidates.above[n + 1] * work.factor[n]
    if candidates.above[0] != all_before:
        forget_from(problem, candidates, 0)
    same = replace_loops(work, candidates.dimension_before, candidates.factor_before)
    if candidates.is_exact == 1:
        _count_iterations(problem, work, candidates, same)
    return same


@kernel
def _count_unrollings(problem: FlatProblem, work: Work, candidates: Candidates) -> None:
    """Counts what is unrolled below each level, by dimension and of r dimensions together."""
    for x in range(problem.operands):
        candidates.r_loops[x, 0] = 1.0
        reset_tile(problem, work)
        for level in range(1, problem.levels[x] + 1):
            add_unrollings(problem, work, FRACTIONAL, x, level)
            candidates.r_unrolled[x, level] = 1.0
            for d in range(problem.dimensions):
                candidates.unrolled[x, level, d] = work.extent[d]
                if problem.relevance[x, d] == RELEVANT:
                    candidates.r_unrolled[x, level] *= work.extent[d]
    for d in range(problem.dimensions):
        candidates.iterations[0, d] = 1.0


@kernel
def _count_iterations(problem: FlatProblem, work: Work, candidates: Candidates, same: int) -> None:
    """Counts the iterations of prefixes, by dimension and of r dimensions together."""
    for n in range(same, work.loops):
        dimension, factor = work.dimension[n], work.factor[n]
        for d in range(problem.dimensions):
            candidates.iterations[n + 1, d] = candidates.iterations[n, d]
        candidates.iterations[n + 1, dimension] *= factor
        for x in range(problem.operands):
            is_relevant = problem.relevance[x, dimension] == RELEVANT
            growth = factor if is_relevant else 1.0
            candidates.r_loops[x, n + 1] = candidates.r_loops[x, n] * growth


@kernel
def _exact_elements(
    problem: FlatProblem, work: Work, candidates: Candidates, place: tuple[int, int], prefix: int
) -> float:
    """Elements that a level (``place``: operand and level) holds with a prefix, if exact."""
    x, level = place
    count = candidates.r_unrolled[place] * candidates.r_loops[x, prefix]
    for index in range(problem.first_pr[x], problem.first_pr[x + 1]):
        for i in range(2):
            d = problem.pr_dimensions[index, i]
            work.extent[d] = candidates.unrolled[x, level, d] * candidates.iterations[prefix, d]
        count *= axis_elements(problem, work, index)
    return float(count)


@kernel
def has_exact_tiles(problem: FlatProblem) -> bool:
    """Whether the elements of all tiles are the same to the last bit in any order of loops.

    They are if no product of unrollings and loops is rounded, because the factors are whole or have
    few binary places.
    """
    if problem.views == 1:
        return True
    for x in range(problem.operands):
        product = 1.0
        for d in range(problem.dimensions):
            product *= problem.loop_size[d]
        for i in range(problem.first_unrolled[x, problem.levels[x] + 1]):
            product *= denominator(problem.unrolled_factor[FRACTIONAL, x, i])
        if product > EXACT:
            return False
    return True


@kernel
def forget_from(problem: FlatProblem, candidates: Candidates, first: int) -> None:
    """Forgets the prefixes of the memories from ``first`` on."""
    for memory in range(first, problem.memories):
        candidates.reach[memory] = LOOPS + 1
        for i in range(problem.slots[memory]):
            candidates.first_known[memory, i], candidates.last_known[memory, i] = 0, -1
            candidates.examined[memory, i] = NO_PREFIX


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
    candidates.reach[memory], candidates.is_listed[memory] = 0, 1
    for i in range(problem.slots[memory]):
        x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
        below = int(candidates.below[x])
        wanted = max(below, held_loops(problem, work, x)) if level == 1 else below
        first = work.loops if level == problem.levels[x] else wanted
        each = _element_bits(problem, work, x, level, below)
        _keep_prefixes(problem, candidates, (memory, i), first, each, same)
        _keep_elements(problem, candidates, (memory, i), same)
        examined = _list_slot(problem, work, candidates, memory, i)
        if candidates.last[memory, i] < candidates.first[memory, i]:
            return i
        if candidates.is_exact == 1 and level == problem.levels[x]:
            examined = below  # exact products: the same in any order
        if candidates.is_exact == 0 and problem.double_buffered[memory] == 1:
            examined = work.loops  # the whole tensor
        if level == 1 and wanted > below:
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
    """Lists the prefixes of a slot that are not yet; returns the longest that was examined."""
    x, level = problem.slot_operand[memory, i], problem.slot_level[memory, i]
    first, is_top = candidates.first[memory, i], level == problem.levels[x]
    each = candidates.each[memory, i]
    listed = candidates.examined[memory, i]
    if listed > candidates.last[memory, i] or listed == work.loops:
        return int(listed)  # one that does not fit, or all
    whole = whole_tensor(problem, work, x) if problem.double_buffered[memory] == 1 else 0.0
    least = candidates.least[memory, i, listed] if listed >= first else np.inf
    extended = NO_PREFIX
    for prefix in range(max(first, listed + 1), work.loops + 1):
        if prefix > candidates.last_known[memory, i]:
            if candidates.is_exact == 1:
                elements = _exact_elements(problem, work, candidates, (x, level), prefix)
            else:
                if extended == NO_PREFIX:
                    _tile_up_to(problem, work, x, level, prefix)
                else:
                    work.extent[work.dimension[extended]] *= work.factor[extended]
                extended = prefix
                elements = tile_elements(problem, work, x)
            candidates.elements[memory, i, prefix] = elements
            candidates.last_known[memory, i] = prefix
        elements = candidates.elements[memory, i, prefix]
        is_last_tile = prefix == work.loops or elements >= whole
        bits = elements * each if is_last_tile else 2 * (elements * each)
        accesses = 0.0 if is_top else candidates.above[prefix] * bits
        least = min(least, accesses)
        candidates.bits[memory, i, prefix] = bits
        candidates.accesses[memory, i, prefix] = accesses
        candidates.least[memory, i, prefix] = least
        candidates.examined[memory, i] = prefix
        if bits > problem.memory_room[memory]:
            return prefix
        candidates.last[memory, i] = prefix
    return int(work.loops)


@kernel
def _keep_prefixes(
    problem: FlatProblem,
    candidates: Candidates,
    slot: tuple[int, int],
    first: int,
    each: float,
    same: int,
) -> None:
    """Keeps what is listed of the prefixes within the ``same`` loops, if they begin alike.

    In a memory that double-buffers it depends on the whole tensor.
    """
    is_whole = problem.slot_level[slot] == problem.levels[problem.slot_operand[slot]]
    examined = int(candidates.examined[slot])
    if not (is_whole and candidates.is_exact == 1):
        examined = min(examined, same)
    is_kept = first == candidates.first[slot] and each == candidates.each[slot]
    if not is_kept or problem.double_buffered[slot[0]] == 1:
        examined = NO_PREFIX
    if examined != candidates.examined[slot] or examined < first:
        candidates.is_listed[slot[0]] = 0
    candidates.first[slot], candidates.each[slot] = first, each
    candidates.examined[slot] = examined if examined >= first else NO_PREFIX
    candidates.last[slot] = min(candidates.last[slot], examined)
    if examined < first:
        candidates.last[slot] = first - 1


@kernel
def _keep_elements(
    problem: FlatProblem, candidates: Candidates, slot: tuple[int, int], same: int
) -> None:
    """Keeps the elements of the prefixes within the ``same`` loops, as far as they are listed."""
    x, first = problem.slot_operand[slot], candidates.first[slot]
    if candidates.is_exact == 0 or problem.slot_level[slot] < problem.levels[x]:
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


@kernel
def replace_loops(work: Work, dimensions: Ints, factors: Floats) -> int:
    """Writes the loops into the arrays; returns how many, from the innermost on, were there."""
    same = 0
    while (
        same < work.loops
        and work.dimension[same] == dimensions[same]
        and work.factor[same] == factors[same]
    ):
        same += 1
    for n in range(same, work.loops):
        dimensions[n], factors[n] = work.dimension[n], work.factor[n]
    return same


@kernel
def denominator(factor: float) -> float:
    """The least power of two whose product with a factor is whole, if it is at most ``FINEST``."""
    power = 1.0
    while power * factor != np.floor(power * factor):
        power *= 2.0
        if power > FINEST:
            return np.inf
    return power
