"""The structure of a mapping: what of its loops has an effect on its cost.

Most orders of a layer differ from others in ways without effect: two loops that a memory holds may
follow each other either way. The structure has a part for each operand and level:

- the cycles of the loops at or below the level,
- the product of those that multiply the operand's elements,
- a number for what else of these loops counts: of a pr dimension the iterations, and where growth
  is rounded, the order, because it decides the last digit,
- the contiguous loops over one dimension above the level, where windows slide.

The contiguous loops at the tops of levels count in two ways only, by which memories double-buffer
and by the windows of the others, so they are described beside the structure.
"""

from __future__ import annotations

from typing import Annotated, Final, final

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import OUT
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import DIMENSIONS, LEVELS, LOOPS, OPERANDS
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT, PARTIALLY_RELEVANT, RELEVANT
from nestmap.model.arrays import Codes, Floats, Ints

CODES: Final = 256
PARTS: Final = OPERANDS * LEVELS
WORDS = 4  # of a part
LARGEST = 2.0**62  # of a number
LARGE = 2.0**40
"""Elements from which rounded growth may change a whole number; below it cannot by far."""
FINEST = 2.0**12
"""The largest denominator with which all iterations are exact."""


@final
class Structure:
    """The structure of the mapping described last, and what loops mean to it.

    A part (``p``) is a few words.
    """

    is_used: int  # 1 if mappings can be described
    loops: int
    dimension: Annotated[Ints, (CODES,)]  # [code] of a loop
    factor: Annotated[Ints, (CODES,)]  # [code]
    relevance: Annotated[Ints, (OPERANDS, CODES)]  # [x, code] Relevance
    growth: Annotated[Ints, (OPERANDS, CODES)]  # [x, code] by which it multiplies the elements
    weight: Annotated[Ints, (OPERANDS, CODES)]  # [x, code] in the number of the other loops
    digits: Annotated[Ints, (OPERANDS,)]  # [x] base of that number if their order counts, else 1
    # [x] levels that are described: the last one is the same for all mappings, if digits are
    described: Annotated[Ints, (OPERANDS,)]
    has_top: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] 1 if the loops at its top count
    code: Annotated[Ints, (LOOPS,)]  # [n] of the mapping
    cycles: Annotated[Ints, (LOOPS + 1,)]  # [n] product of the first n loops
    elements: Annotated[Ints, (OPERANDS, LOOPS + 1)]  # [x, n] of their growth
    number: Annotated[Ints, (OPERANDS, LOOPS + 1)]  # [x, n] of the others of them
    cut: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] of the mapping
    stationary_cut: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] as in ``Work``
    reach: Annotated[Ints, (OPERANDS, LEVELS)]  # [x, l] loops that were read for a part
    words: int
    word: Annotated[Ints, (PARTS * WORDS,)]  # [p * WORDS + i] parts of the mapping
    mixed: Annotated[Ints, (PARTS,)]  # [p] their shares of the hash
    hash: int
    is_new: int  # 1 if the structure is not that of the mapping before
    top_relevant: Annotated[Floats, (OPERANDS, LEVELS)]  # [x, l] as in ``Work``
    top_irrelevant: Annotated[Floats, (OPERANDS, LEVELS)]
    has_new_tops: int  # 1 if these are not those of the mapping before


@kernel
def prepare_structure(
    problem: FlatProblem, work: Work, structure: Structure, factors: Ints, loops: int
) -> None:
    """Prepares the description of mappings, from the first one, whose cost is in ``work``.

    Where numbers have no space, or where zeros gate operations, mappings cannot be described.
    """
    structure.loops, codes = loops, len(factors)
    structure.is_used = 1 if codes <= CODES and _can_be_described(problem, factors, loops) else 0
    if structure.is_used == 0:
        return
    for code in range(codes):
        structure.dimension[code], structure.factor[code] = factors[code, 0], factors[code, 1]
    for n in range(loops):
        structure.code[n] = CODES
    structure.cycles[0], structure.words = 1, 0
    for x in range(problem.operands):
        _prepare_operand(problem, structure, factors, x, _is_rounded(problem, work, x))
        top = problem.levels[x]
        for level in range(top + 1):
            structure.reach[x, level] = LOOPS + 1
            structure.has_top[x, level] = 1 if level > 0 and _has_top(problem, x, level) else 0
        is_fixed = structure.digits[x] == 1 and structure.has_top[x, top] == 0
        structure.described[x] = top if is_fixed else top + 1
        structure.words += WORDS * structure.described[x]


@kernel
def _can_be_described(problem: FlatProblem, factors: Ints, loops: int) -> bool:
    """Whether numbers have space for all loops, and structures contain all that counts.

    Gated operations depend on the iterations of each dimension, partial sums on loops of size 1.
    """
    codes = len(factors)
    for code in range(codes):
        if factors[code, 1] == 1:
            return False
    for x in range(problem.operands):
        if problem.least_share[x] < 1.0:
            return False
    return float(loops + 1) ** codes < LARGEST and float(codes + 1) ** loops < LARGEST


@kernel
def _prepare_operand(
    problem: FlatProblem, structure: Structure, factors: Ints, x: int, is_rounded: bool
) -> None:
    """Writes what the loops mean to an operand."""
    weight = 1
    structure.elements[x, 0] = 1
    structure.digits[x] = len(factors) + 1 if is_rounded else 1
    for code in range(len(factors)):
        kind = problem.relevance[x, factors[code, 0]]
        structure.relevance[x, code] = kind
        structure.growth[x, code], structure.weight[x, code] = 1, 0
        if _is_numbered(kind, factors[code, 1], is_rounded):
            structure.weight[x, code] = code + 1 if is_rounded else weight
            weight *= structure.loops + 1
        elif kind != IRRELEVANT:
            structure.growth[x, code] = factors[code, 1]


@kernel
def _is_numbered(kind: int, factor: int, is_rounded: bool) -> bool:
    """Whether more counts of a loop than the product of its growth with that of others.

    A product with a power of two is not rounded.
    """
    if kind == RELEVANT:
        return is_rounded and factor & (factor - 1) != 0
    return kind == PARTIALLY_RELEVANT


@kernel
def _is_rounded(problem: FlatProblem, work: Work, x: int) -> bool:
    """Whether the order of an operand's loops may decide the last digit of its elements.

    Only the growth of a pr index is no whole number. The elements are, to within rounding errors,
    if r dimensions are unrolled by whole factors, and pr dimensions by factors with few binary
    places, so that their iterations are exact.
    """
    if problem.first_pr[x] == problem.first_pr[x + 1]:
        return False
    top = problem.levels[x]
    for view in range(problem.views):
        if work.elements[view, x, top] >= LARGE:
            return True
        finest = 1.0
        for i in range(problem.first_unrolled[x, top + 1]):
            places = denominator(problem.unrolled_factor[view, x, i])
            kind = problem.relevance[x, problem.unrolled_dimension[x, i]]
            if kind == RELEVANT and places > 1.0:
                return True
            finest *= places if kind == PARTIALLY_RELEVANT else 1.0
        if finest > FINEST:
            return True
    return False


@kernel
def denominator(factor: float) -> float:
    """The least power of two whose product with a factor is whole, if it is at most ``FINEST``."""
    power = 1.0
    while power * factor != np.floor(power * factor):
        power *= 2.0
        if power > FINEST:
            return np.inf
    return power


@kernel
def _has_top(problem: FlatProblem, x: int, level: int) -> bool:
    """Whether it counts if the memory of a level double-buffers: it is not all operands' last."""
    memory = problem.memory[x, level]
    for i in range(problem.slots[memory]):
        if problem.slot_level[memory, i] < problem.levels[problem.slot_operand[memory, i]]:
            return True
    return False


@kernel
def describe(problem: FlatProblem, structure: Structure, order: Codes, cuts: Codes) -> None:
    """Writes the structure and the tops of a mapping."""
    structure.is_new = structure.has_new_tops = 0
    same = _replace_codes(problem, structure, order)
    p = 0
    for x in range(problem.operands):
        is_same = True
        for level in range(structure.described[x]):
            cut = int(cuts[x, level - 1]) if level > 0 else 0
            is_same = (
                is_same and cut == structure.cut[x, level] and structure.reach[x, level] <= same
            )
            if not is_same:
                structure.cut[x, level] = cut
                _describe_level(problem, structure, (x, level), p)
            p += 1


@kernel
def _replace_codes(problem: FlatProblem, structure: Structure, order: Codes) -> int:
    """Takes the loops of a mapping; returns how many innermost ones were there before."""
    same = 0
    while same < structure.loops and structure.code[same] == order[same]:
        same += 1
    for n in range(same, structure.loops):
        code = order[n]
        structure.code[n] = code
        structure.cycles[n + 1] = structure.cycles[n] * structure.factor[code]
        for x in range(problem.operands):
            growth, weight = structure.growth[x, code], structure.weight[x, code]
            before = structure.number[x, n]
            structure.elements[x, n + 1] = structure.elements[x, n] * growth
            structure.number[x, n + 1] = (
                before * structure.digits[x] + weight if weight > 0 else before
            )
    return same


@kernel
def _describe_level(
    problem: FlatProblem, structure: Structure, place: tuple[int, int], p: int
) -> None:
    """Writes the part and the top of a level."""
    x, level = place
    cut, loops = structure.cut[place], structure.loops
    if level > 0 or (x != OUT and problem.holds_inputs == 1):
        while cut < loops and structure.relevance[x, structure.code[cut]] == IRRELEVANT:
            cut += 1
    structure.stationary_cut[place] = cut
    end, run = _end_of_run(problem, structure, place, cut), 0
    if end > cut:
        moved = structure.dimension[structure.code[cut]]
        run = structure.cycles[end] // structure.cycles[cut] * DIMENSIONS + moved
    structure.reach[place] = min(end + 1, loops)
    _put_part(
        structure,
        p,
        (int(structure.cycles[cut]), structure.elements[x, cut], structure.number[x, cut], run),
    )
    if structure.has_top[place] == 1:
        low = structure.stationary_cut[x, level - 1] if level > 1 else 0
        _put_top(structure, place, _top(structure, x, low, cut))


@kernel
def _end_of_run(
    problem: FlatProblem, structure: Structure, place: tuple[int, int], cut: int
) -> int:
    """Where the contiguous loops over one dimension end that may slide a window from a cut on."""
    x, level = place
    if x == OUT or level == 0 or problem.reuses_windows[problem.memory[place]] == 0:
        return cut
    end = cut
    while end < structure.loops and (
        structure.dimension[structure.code[end]] == structure.dimension[structure.code[cut]]
    ):
        end += 1
    return end


@kernel
def _put_part(structure: Structure, p: int, part: tuple[int, int, int, int]) -> None:
    """Writes a part and its share of the hash."""
    different, at = 0, p * WORDS
    for i in range(WORDS):
        different |= structure.word[at + i] ^ part[i]
        structure.word[at + i] = part[i]
    if different != 0:
        mixed = mix(p, part)
        structure.hash ^= structure.mixed[p] ^ mixed
        structure.mixed[p], structure.is_new = mixed, 1


@kernel
def mix(seed: int, part: tuple[int, int, int, int]) -> int:
    """A hash of 31 bits; all products stay within 63."""
    low = (1 << 31) - 1
    mixed = (part[0] & low) * 668265263 + (part[1] & low) * 374761393
    mixed += (part[2] & low) * 1013904223 + (part[3] & low) * 97531135 + seed * 922337203685
    return (((mixed ^ (mixed >> 32)) & low) * 1540483477 >> 24) & low


@kernel
def _top(structure: Structure, x: int, low: int, high: int) -> int:
    """The product of the contiguous r loops at the top of a level, or minus that of the ir ones."""
    if high == low:
        return 1
    kind, product, at = int(structure.relevance[x, structure.code[high - 1]]), 1, high - 1
    if kind == PARTIALLY_RELEVANT:
        return 1
    while at >= low and structure.relevance[x, structure.code[at]] == kind:
        product *= int(structure.factor[structure.code[at]])
        at -= 1
    return product if kind == RELEVANT else -product


@kernel
def _put_top(structure: Structure, place: tuple[int, int], top: int) -> None:
    """Writes the top of a level as the products of its r and of its ir loops."""
    relevant, irrelevant = float(max(top, 1)), float(max(-top, 1))
    if relevant != structure.top_relevant[place] or irrelevant != structure.top_irrelevant[place]:
        structure.top_relevant[place], structure.top_irrelevant[place] = relevant, irrelevant
        structure.has_new_tops = 1
