"""The capacity of memories along a path: what each cut takes, and who still has to cross.

A memory is *tight* if what its operands may take together exceeds it; only tight memories need to
be followed along a path. An operand's own cut is checked wherever it is crossed.
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.temporal.exact.lattice import Lattice, load_point, most_levels
from nestmap.search.temporal.slot_candidates import slot_bits, whole_tensor

LOOSE = -1
"""Marks a memory that always has room for all of its operands."""

UNFINISHED, FINISHED = 0, 1
"""Whether all sums of the output were complete where it crossed its boundary below."""


class Capacity(NamedTuple):
    """What cuts take.

    Axes: ``m`` memories, ``i`` slots, ``x`` operands, ``l`` levels, ``k`` tight memories.
    """

    bits: Floats  # [m, i, 2, p] bits of a slot, by whether the output was finished below
    finished: Flags  # [p] whether no ir loop of the output is left above
    slot: Ints  # [x, l] slot of the level in its memory
    tight: Ints  # [m] index among the tight memories, or LOOSE
    reserved: Floats  # [k] bits that inputs take for which a tight memory is the top level


@kernel
def capacity_of(problem: FlatProblem, work: Work, lattice: Lattice) -> Capacity:
    """The tables of a problem; the work arrays are scratch."""
    points = len(lattice.depth)
    bits = np.zeros((problem.memories, problem.operands, 2, points))
    finished = np.zeros(points, np.bool_)
    _fill(problem, work, lattice, bits, finished)
    return capacity_with(problem, bits, finished)


@kernel
def capacity_with(problem: FlatProblem, bits: Floats, finished: Flags) -> Capacity:
    """The tables of cuts that take so many bits [m, i, 2, p]."""
    shape = problem.operands, most_levels(problem) + 1
    slot, most, at_top = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape[0])
    for m in range(problem.memories):
        for i in range(problem.slots[m]):
            x, level = problem.slot_operand[m, i], problem.slot_level[m, i]
            slot[x, level] = i
            most[x, level] = most_that_fits(bits[m, i], problem.memory_room[m])
            if level == problem.levels[x]:
                at_top[x] = bits[m, i, FINISHED, 0]
    tight, reserved = tight_memories(problem, most, at_top)
    return Capacity(bits, finished, slot, tight, reserved)


@kernel
def most_that_fits(bits: Floats, room: float) -> float:
    """The most of the bits [2, p] that a slot may take which fit on their own."""
    largest = 0.0
    for p in range(bits.shape[1]):
        for finished in (UNFINISHED, FINISHED):
            if bits[finished, p] <= room:
                largest = max(largest, bits[finished, p])
    return largest


@kernel
def tight_memories(problem: FlatProblem, most: Floats, at_top: Floats) -> tuple[Ints, Floats]:
    """[m] the index of each tight memory, or LOOSE, and [k] the bits that are reserved in these.

    ``most`` [x, l] are the most bits with which each operand fits on its own, ``at_top`` [x] those
    at its top level, which are reserved for inputs.
    """
    tight, reserved = np.full(problem.memories, LOOSE, np.int64), np.zeros(problem.memories)
    count = 0
    for m in range(problem.memories):
        total, kept = 0.0, 0.0
        for i in range(problem.slots[m]):
            x, level = problem.slot_operand[m, i], problem.slot_level[m, i]
            total += most[x, level]
            if x != OUT and level == problem.levels[x]:
                kept += at_top[x]
        if problem.slots[m] > 1 and total > problem.memory_room[m]:
            tight[m], reserved[count] = count, kept
            count += 1
    return tight, reserved[:count]


@kernel
def _fill(
    problem: FlatProblem, work: Work, lattice: Lattice, bits: Floats, finished: Flags
) -> None:
    whole = np.empty(problem.operands)
    load_point(work, lattice, 0)
    for x in range(problem.operands):
        whole[x] = whole_tensor(problem, work, x)
    same = _same_tiles(problem, lattice)
    for p in range(len(lattice.depth)):
        load_point(work, lattice, p)
        finished[p] = True
        for n in range(lattice.depth[p], work.loops):
            if problem.relevance[OUT, work.dimension[n]] == IRRELEVANT:
                finished[p] = False
        for m in range(problem.memories):
            for i in range(problem.slots[m]):
                x = problem.slot_operand[m, i]
                place = (m, x, problem.slot_level[m, i])
                if same[x, p] >= 0 and p < len(lattice.depth) - 1:  # the corner holds all loops
                    for finished_below in (UNFINISHED, FINISHED):
                        bits[m, i, finished_below, p] = bits[m, i, finished_below, same[x, p]]
                    continue
                bits[m, i, UNFINISHED, p], bits[m, i, FINISHED, p] = cut_bits(
                    problem, work, place, lattice.depth[p], float(whole[x])
                )


@kernel
def _same_tiles(problem: FlatProblem, lattice: Lattice) -> Ints:
    """[x, p] a point from which an ir factor leads here, so that tiles are the same; or -1."""
    same = np.empty((problem.operands, len(lattice.depth)), np.int64)
    same[:] = -1
    for p in range(len(lattice.depth)):
        for f in range(len(lattice.factors)):
            q = lattice.step[p, f]
            if q >= 0:
                for x in range(problem.operands):
                    if problem.relevance[x, lattice.factors[f, 0]] == IRRELEVANT:
                        same[x, q] = p
    return same


@kernel
def cut_bits(
    problem: FlatProblem, work: Work, place: tuple[int, int, int], cut: int, whole: float
) -> tuple[float, float]:
    """Bits of a slot whose loops of the order in ``work`` end at a cut; all loops at the top.

    ``place`` is the memory, the operand and the level. The first number is for an output that was
    unfinished below, the second for a finished one; for inputs they are equal.
    """
    x, level = place[1], place[2]
    if level == problem.levels[x]:
        cut = work.loops
    finished = slot_bits(problem, work, place, cut, work.loops, whole)
    if x != OUT:
        return finished, finished
    return slot_bits(problem, work, place, cut, 0, whole), finished


@kernel
def bits_at(problem: FlatProblem, capacity: Capacity, place: tuple[int, int, int, int]) -> float:
    """The bits of a cut.

    ``place``: the operand, the level, whether the output was finished below, and the point.
    """
    x, level, finished, p = place
    return float(capacity.bits[problem.memory[x, level], capacity.slot[x, level], finished, p])


@kernel
def take(problem: FlatProblem, tight: Ints, m: int, bits: float, taken: Floats) -> bool:
    """Adds what one cut takes in a memory to ``taken`` [k]; false if it does not fit."""
    if bits > problem.memory_room[m]:
        return False
    k = tight[m]
    if k == LOOSE:
        return True
    taken[k] += bits
    return bool(taken[k] <= problem.memory_room[m])


@kernel
def forget(problem: FlatProblem, tight: Ints, crossed: Ints, taken: Floats) -> None:
    """Clears the memories whose operands have all crossed their cuts.

    ``crossed`` [x] is the number of boundaries crossed. The top cut of the output counts as crossed
    with the one below it, those of inputs are reserved from the beginning.
    """
    for m in range(problem.memories):
        k = tight[m]
        if k == LOOSE:
            continue
        is_open = False
        for i in range(problem.slots[m]):
            x, level = problem.slot_operand[m, i], problem.slot_level[m, i]
            last = problem.levels[x] - 1
            if (x == OUT or level <= last) and crossed[x] <= min(level, last):
                is_open = True
        if not is_open:
            taken[k] = 0.0


@kernel
def forbid(problem: FlatProblem, lattice: Lattice, capacity: Capacity, spent: Floats) -> None:
    """Makes it infinitely costly to cross a boundary where it may not be.

    The array holds one word: the innermost boundary of an input is crossed while all loops below
    are ir to it, that of the output at the origin. No cut may exceed its memory, and those of
    innermost memories lie above what these have to hold.
    """
    _forbid_early_cuts(problem, lattice, spent)
    for x in range(problem.operands):
        for p in range(1, len(lattice.depth)):
            for f in range(len(lattice.factors)):
                kind = problem.relevance[x, lattice.factors[f, 0]]
                moves = kind != IRRELEVANT or x == OUT or problem.holds_inputs == 0
                if lattice.below[p, f] > 0 and moves:
                    spent[:, x, 0, p] = np.inf
    for m in range(problem.memories):
        k = capacity.tight[m]
        if k != LOOSE and capacity.reserved[k] > problem.memory_room[m]:
            spent[:] = np.inf
        for i in range(problem.slots[m]):
            x, level = problem.slot_operand[m, i], problem.slot_level[m, i]
            for p in range(len(lattice.depth)):
                least = min(capacity.bits[m, i, 0, p], capacity.bits[m, i, 1, p])
                if least > problem.memory_room[m]:
                    spent[:, x, level, p] = np.inf


@kernel
def _forbid_early_cuts(problem: FlatProblem, lattice: Lattice, spent: Floats) -> None:
    """Makes it infinitely costly to leave the innermost memory before what it has to hold."""
    last = len(lattice.depth) - 1
    for x in range(problem.operands):
        if not is_early(problem, x, lattice.factors, lattice.below[0], lattice.below[last]):
            continue
        for p in range(len(lattice.depth)):
            if is_early(problem, x, lattice.factors, lattice.below[p], lattice.below[last]):
                spent[:, x, 1, p] = np.inf


@kernel
def is_early(problem: FlatProblem, x: int, factors: Ints, below: Ints, every: Ints) -> bool:
    """Whether loops that the innermost memory of an operand has to hold are left above a point."""
    for f in range(len(factors)):
        if problem.held[x, factors[f, 0]] == 1 and factors[f, 1] > 1 and below[f] < every[f]:
            return True
    return False
