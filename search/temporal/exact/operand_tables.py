"""What one operand takes and spends, whatever the loops that leave its data in place.

Its lattice has the relevant factors alone: at each of its points all ir loops lie below. The tile
is the same as with fewer of them, and crosses its boundary least often, so that these tables have
the least that an operand spends, and what is left to spend from any point of the whole lattice.
That holds where a finished sum takes no more bits than an unfinished one.
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Floats, Ints
from nestmap.search.spatial.lower_bounds import ARRAY
from nestmap.search.temporal.exact.capacity import cut_bits, is_early
from nestmap.search.temporal.exact.lattice import Lattice, grid_of, load_below, load_point
from nestmap.search.temporal.exact.resources import (
    link_energy,
    measure_operand,
    put_operand_boundaries,
)
from nestmap.search.temporal.exact.space import MOST_CELLS, accumulate
from nestmap.search.temporal.slot_candidates import whole_tensor


class OperandTable(NamedTuple):
    """The tables of an operand.

    Axes: ``l`` boundaries, ``r`` points of its lattice.
    """

    lattice: Lattice
    bits: Floats  # [l, 2, r + 1] of a slot, by whether the output was finished below
    spent: Floats  # [l, r] pJ to cross a boundary, infinite where its tile does not fit
    least: Floats  # [l, r] pJ left to spend


@kernel
def has_large_table(problem: FlatProblem, factors: Ints, counts: Ints, x: int) -> bool:
    """Whether the tables of an operand would take too much memory."""
    points = 1
    for f in range(len(counts)):
        if problem.relevance[x, factors[f, 0]] != IRRELEVANT:
            points *= counts[f] + 1
    return bool(points * (problem.levels[x] + 1) > MOST_CELLS)


@kernel
def operand_table(
    problem: FlatProblem, work: Work, factors: Ints, counts: Ints, x: int
) -> OperandTable:
    """The tables of an operand for these factors [f, 2], of which there are ``counts`` [f].

    The last column of ``bits`` is the corner's tile while other loops are left: a memory that
    double-buffers needs no copy of a tile for which there is no next one.
    """
    lattice = _operand_lattice(problem, factors, counts, x)
    levels, points = problem.levels[x] + 1, len(lattice.depth)
    spent, least = np.full((levels, points), np.inf), np.empty((levels, points))
    table = OperandTable(lattice, np.zeros((levels, 2, points + 1)), spent, least)
    load_below(work, factors, counts, counts)
    whole = float(whole_tensor(problem, work, x))
    for r in range(points):
        load_point(work, lattice, r)
        _put_point(problem, work, (x, r), table, whole)
    _put_ends(problem, work, x, table, whole)
    accumulate(lattice, spent, problem.levels[x], least)
    return table


@kernel
def _operand_lattice(problem: FlatProblem, factors: Ints, counts: Ints, x: int) -> Lattice:
    """The lattice of the relevant factors, with all ir factors below each point."""
    own, stay = counts.copy(), 0
    for f in range(len(counts)):
        if problem.relevance[x, factors[f, 0]] == IRRELEVANT:
            own[f] = 0
            stay += counts[f]
    grid = grid_of(factors, own)
    for p in range(len(grid.depth)):
        grid.depth[p] += stay
        for f in range(len(counts)):
            if own[f] < counts[f]:
                grid.below[p, f] = counts[f]
    return grid


@kernel
def _put_point(
    problem: FlatProblem, work: Work, at: tuple[int, int], table: OperandTable, whole: float
) -> None:
    """What crossing at a point takes and spends, at all boundaries but the first and the last."""
    (x, r), lattice, bits, is_measured = at, table.lattice, table.bits, False
    cut, last = lattice.depth[r], lattice.below[len(lattice.depth) - 1]
    for level in range(1, problem.levels[x]):
        m = problem.memory[x, level]
        bits[level, 0, r], bits[level, 1, r] = cut_bits(problem, work, (m, x, level), cut, whole)
        if min(bits[level, 0, r], bits[level, 1, r]) > problem.memory_room[m]:
            continue
        if level == 1 and is_early(problem, x, lattice.factors, lattice.below[r], last):
            continue
        if not is_measured:
            put_operand_boundaries(problem, work, x, cut)
            measure_operand(problem, work, x)
            is_measured = True
        table.spent[level, r] = link_energy(problem, work, x, level)


@kernel
def _put_ends(problem: FlatProblem, work: Work, x: int, table: OperandTable, whole: float) -> None:
    """The first boundary, which the array crosses, the top level, and the corner's other tile."""
    lattice, bits, spent = table.lattice, table.bits, table.spent
    top, last = problem.levels[x], len(lattice.depth) - 1
    load_point(work, lattice, 0)
    cut = first_cut(problem, x, lattice.depth[0])
    # int(): Numba would compile all that is called once more for a literal
    spent[0, 0] = boundary_energy(problem, work, (x, int(ARRAY)), cut)
    load_below(work, lattice.factors, lattice.below[last] - lattice.below[0], lattice.below[last])
    cut = lattice.depth[last] - lattice.depth[0]
    for level in range(1, top + 1):
        place = problem.memory[x, level], x, level
        bits[level, 0, last + 1], bits[level, 1, last + 1] = cut_bits(
            problem, work, place, cut, whole
        )
    bits[top, 0, :], bits[top, 1, :] = bits[top, 0, last + 1], bits[top, 1, last + 1]
    if min(bits[top, 0, last], bits[top, 1, last]) <= problem.memory_room[problem.memory[x, top]]:
        spent[top, last] = 0.0


@kernel
def first_cut(problem: FlatProblem, x: int, still: int) -> int:
    """The last place for the boundary of the array, below which ``still`` ir loops may run."""
    return still if x != OUT and problem.holds_inputs == 1 else 0


@kernel
def boundary_energy(problem: FlatProblem, work: Work, boundary: tuple[int, int], cut: int) -> float:
    """The energy (pJ) of crossing a boundary, operand and level, at a place of the order."""
    put_operand_boundaries(problem, work, boundary[0], cut)
    measure_operand(problem, work, boundary[0])
    return float(link_energy(problem, work, boundary[0], boundary[1]))
