"""Lower bounds of the energy of a layer in tiles of any size.

What an operand moves over a link for each multiply-accumulate does not grow when a tile grows, and
what it takes of a memory does not fall. So instead of tiles, a search can go over *cells* of them:
intervals of extents, at the rate of the largest tile in the cell and with the room of the smallest.
The least path through the lattice of cells bounds the mappings of all tiles of the layer, whether
they divide it or not.

Some loops of the output may be cut into tiles; all others are whole in each tile, and their cells
are exact: products of prime factors.

Source: docs/fused-mapping.md#bound
"""

from math import inf
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT, copy_record
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes
from nestmap.costmodel.transfers import is_backward
from nestmap.model import MappingType, Objective
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact.capacity import capacity_with, forbid
from nestmap.search.temporal.exact.incumbents import Incumbents
from nestmap.search.temporal.exact.labels import NONE, Pool, find_paths, limits_between, new_pool
from nestmap.search.temporal.exact.lattice import (
    Lattice,
    grid_of,
    most_levels,
    put_primes,
    without_rest,
)
from nestmap.search.temporal.exact.objective_bound import Goal, costs_of, goal_of, rule_of
from nestmap.search.temporal.exact.operand_bounds import (
    IRRELEVANT_FIRST,
    RELEVANT_FIRST,
    sum_bounds,
)
from nestmap.search.temporal.exact.resources import ENERGY, Resources
from nestmap.search.temporal.exact.shared_memories import shared_memories
from nestmap.search.temporal.exact.space import Space, origin_bounds, remainders
from nestmap.search.temporal.loop_factors import MOST_PRIMES

ARRAY = 0
"""The level below the innermost memories."""

# --- cells ---


class Cells(NamedTuple):
    """The lattice of cells; axes: ``p`` cells, ``d`` dimensions.

    A cell has the temporal extents above ``least`` up to ``most``. The smallest tile has one
    iteration in all; of a dimension that is not cut, both are the extent itself.
    """

    lattice: Lattice
    least: Floats  # [p, d]
    most: Floats  # [p, d]
    is_cut: Flags  # [d]


@kernel
def cells_of(sizes: Floats, is_cut: Flags, ratio: float) -> Cells:
    """The cells of so many temporal iterations [d], of which each is ``ratio`` times the last."""
    factors = np.empty((len(sizes) * MOST_PRIMES, 2), np.int64)
    counts, kinds = np.empty(len(factors), np.int64), 0
    ends = np.empty((len(sizes), MOST_ENDS))
    for d in range(len(sizes)):
        if is_cut[d]:
            steps = _put_ends(ends[d], sizes[d], ratio) - 1
            if steps > 0:
                factors[kinds, 0], factors[kinds, 1], counts[kinds] = d, 2, steps
                kinds += 1
        else:
            kinds = put_primes(factors, counts, kinds, d, int(sizes[d]))
    return _with_extents(grid_of(*without_rest(factors, counts, kinds)), ends, is_cut)


@kernel
def _with_extents(lattice: Lattice, ends: Floats, is_cut: Flags) -> Cells:
    """The cells that end at ``ends`` [d, i] where tiles cut; elsewhere at products of primes."""
    least, most = np.ones((2, len(lattice.depth), len(is_cut)))
    for p in range(len(lattice.depth)):
        for d in range(len(is_cut)):
            least[p, d] = 0.0 if is_cut[d] else 1.0
        for f in range(len(lattice.factors)):
            d, below = lattice.factors[f, 0], lattice.below[p, f]
            if lattice.factors[f, 1] == 1:  # there is no loop
                continue
            if not is_cut[d]:
                most[p, d] *= float(lattice.factors[f, 1]) ** below
                least[p, d] = most[p, d]
            elif below > 0:
                most[p, d], least[p, d] = ends[d, below], ends[d, below - 1]
    return Cells(lattice, least, most, is_cut)


MOST_ENDS = 256
"""Cells along a dimension at most."""


@kernel
def _put_ends(ends: Floats, size: float, ratio: float) -> int:
    """Writes the largest extents of cells in ascending order, from 1 to all; returns how many."""
    count, end = 0, size
    while end > 1.0:
        ends[count] = end
        count += 1
        end = min(end - 1.0, np.ceil(end / ratio))
    ends[count] = 1.0
    count += 1
    for i in range(count // 2):
        ends[i], ends[count - 1 - i] = ends[count - 1 - i], ends[i]
    return count


# --- rates: what crosses a link for each multiply-accumulate ---


@kernel
def _bits_moved(
    problem: FlatProblem,
    cells: Cells,
    p: int,
    end: tuple[int, int, int],
    sizes: tuple[float, float],
) -> float:
    """Bits that cross an end of a link for each multiply-accumulate, at least.

    ``end``: operand, link, and whether it is the end of the memory above; ``sizes``: bits of an
    element, and of the narrowest word, which each period moves at least. All units are in use.
    """
    x, link, is_high = end
    periods, elements = 1.0, 1.0
    for d in range(problem.dimensions):
        extent = _extent(problem, cells, p, (x, link + is_high, d))
        if problem.relevance[x, d] == IRRELEVANT and not cells.is_cut[d]:
            periods *= np.ceil(problem.loop_size[d] / extent) / problem.loop_size[d]
        else:
            periods /= extent
        if problem.relevance[x, d] != IRRELEVANT:
            elements *= extent
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        elements *= _values(problem, cells, p, end, q)
    return float(periods * max(elements * sizes[0], sizes[1]))


@kernel
def _extent(problem: FlatProblem, cells: Cells, p: int, place: tuple[int, int, int]) -> float:
    """Iterations of a dimension below a level, all units included: at most all there are.

    ``place``: operand, level, dimension.
    """
    d = place[2]
    return float(min(cells.most[p, d] * problem.unrolled_below[place], problem.loop_size[d]))


@kernel
def _values(problem: FlatProblem, cells: Cells, p: int, end: tuple[int, int, int], q: int) -> float:
    """Elements along an affine index for each iteration.

    Units with other positions have tiles of their own, which overlap: these count as often.
    """
    x, link, is_high = end
    a, b = problem.pr_dimensions[q, 0], problem.pr_dimensions[q, 1]
    level = link + is_high
    together = _share_of_values(
        problem,
        q,
        _extent(problem, cells, p, (x, level, a)),
        _extent(problem, cells, p, (x, level, b)),
    )
    if is_high == 0:
        return together
    below_a, below_b = problem.unrolled_below[x, link, a], problem.unrolled_below[x, link, b]
    above_a, above_b = problem.unrolled_below[x, level, a], problem.unrolled_below[x, level, b]
    units = _share_of_values(problem, q, above_a, above_b) / _share_of_values(
        problem, q, below_a, below_b
    )
    each = _share_of_values(problem, q, cells.most[p, a] * below_a, cells.most[p, b] * below_b)
    return float(max(together, units * each))


@kernel
def _share_of_values(problem: FlatProblem, q: int, a: float, b: float) -> float:
    steps = problem.pr_steps[q]
    return float(distinct_values(a, b, steps[0], steps[1], 0.0) / (a * b))


# --- what crossing a boundary spends, and what a cut takes ---


class Relaxed(NamedTuple):
    """What a bound does not count.

    ``ends`` [x]: the level in which an operand ends; from there on it takes neither energy nor
    room. ``scales`` [x]: the share of its elements that no padding replaces; ``padding`` [q]: how
    many it may replace along an affine index in a tile. ``is_cut`` [d]: the dimensions that are not
    whole in each tile.
    """

    ends: Ints
    scales: Floats
    padding: Floats
    is_cut: Flags


@kernel
def _spent(problem: FlatProblem, cells: Cells, relaxed: Relaxed) -> Floats:
    """[1, x, l, p] energy (pJ) of all multiply-accumulates."""
    spent = np.zeros((1, problem.operands, most_levels(problem) + 1, len(cells.lattice.depth)))
    macs = 1.0
    for d in range(problem.dimensions):
        macs *= problem.loop_size[d]
    for x in range(problem.operands):
        for link in range(relaxed.ends[x]):
            for p in range(len(cells.lattice.depth)):
                energy = _link_energy(problem, cells, p, x, link)
                spent[0, x, link, p] = energy * macs * relaxed.scales[x]
    return spent


@kernel
def _link_energy(problem: FlatProblem, cells: Cells, p: int, x: int, link: int) -> float:
    """The least energy of all transfers over a link for each multiply-accumulate."""
    unfinished = x == OUT and (
        not _is_finished(problem, cells, p) or problem.reduced_from[FRACTIONAL, link + 1] == 1
    )
    share = problem.least_share[x] if link == ARRAY else 1.0
    energy = 0.0
    for i in range(problem.link_transfers[x, link]):
        t = problem.link_transfer[x, link, i]
        level = problem.transfer_level[t]
        end = (x, link, 1 if level > link else 0)
        again = 1.0
        if is_backward(problem, t):
            if not unfinished:
                continue
            again = _share_of_later_sums(problem, cells, p, end)
        each = problem.partial_bits[x, level] if unfinished else problem.element_bits[x, level]
        port = problem.transfer_port[t]
        sizes = (float(each), float(problem.port_min[port]))
        words = _bits_moved(problem, cells, p, end, sizes) / problem.port_max[port]
        energy += words * again * share * problem.transfer_energy[t]
    return float(energy)


@kernel
def _is_finished(problem: FlatProblem, cells: Cells, p: int) -> bool:
    """Whether no loop of the reduction is left above."""
    last = len(cells.lattice.depth) - 1
    for d in range(problem.dimensions):
        if problem.relevance[OUT, d] == IRRELEVANT and cells.most[p, d] < cells.most[last, d]:
            return False
    return True


@kernel
def _share_of_later_sums(
    problem: FlatProblem, cells: Cells, p: int, end: tuple[int, int, int]
) -> float:
    """The share of all sums that were there before: each instance begins one."""
    if problem.free_first_sum == 0:
        return 1.0
    x, level = end[0], end[1] + end[2]
    every, first = 1.0, 1.0
    for d in range(problem.dimensions):
        if problem.relevance[x, d] == IRRELEVANT:
            periods = np.ceil(problem.loop_size[d] / _extent(problem, cells, p, (x, level, d)))
            below = problem.unrolled_below[x, level, d]
            every *= periods
            first *= min(periods, problem.unrolled_below[x, problem.levels[x] + 1, d] / below)
    return float(1.0 - first / every)


@kernel
def _bits(problem: FlatProblem, cells: Cells, relaxed: Relaxed) -> Floats:
    """[m, i, 2, p] bits that the smallest tile of a cell takes below the end of its operand."""
    bits = np.zeros((problem.memories, problem.operands, 2, len(cells.lattice.depth)))
    for m in range(problem.memories):
        for i in range(problem.slots[m]):
            x, level = problem.slot_operand[m, i], problem.slot_level[m, i]
            if level >= relaxed.ends[x]:
                continue
            for p in range(len(cells.lattice.depth)):
                elements = _fewest_elements(problem, cells, p, (x, level), relaxed.padding)
                bits[m, i, 0, p] = elements * problem.partial_bits[x, level]
                bits[m, i, 1, p] = elements * problem.element_bits[x, level]
                if x != OUT:
                    bits[m, i, 0, p] = bits[m, i, 1, p]
    return bits


@kernel
def _fewest_elements(
    problem: FlatProblem, cells: Cells, p: int, place: tuple[int, int], padding: Floats
) -> float:
    """Elements of the smallest tile of a cell.

    A tile that is cut may be smaller than what is unrolled.
    """
    x, level = place
    extents = np.empty(problem.dimensions)
    for d in range(problem.dimensions):
        extents[d] = cells.least[p, d] * problem.unrolled_below[x, level, d]
        extents[d] = min(extents[d] + (1.0 if cells.is_cut[d] else 0.0), problem.loop_size[d])
    elements = 1.0
    for i in range(problem.first_r[x], problem.first_r[x + 1]):
        elements *= extents[problem.r_dimension[i]]
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        a = float(extents[problem.pr_dimensions[q, 0]])
        b = float(extents[problem.pr_dimensions[q, 1]])
        elements *= max(1.0, a * b * _share_of_values(problem, q, a, b) - padding[q])
    return float(elements)


@kernel
def _finished(problem: FlatProblem, cells: Cells) -> Flags:
    finished = np.empty(len(cells.lattice.depth), np.bool_)
    for p in range(len(finished)):
        finished[p] = _is_finished(problem, cells, p)
    return finished


# --- many spatial mappings: each operand on its own ---


def least_of_rows(
    problem: FlatProblem, table: UnrollingTable, relaxed: Relaxed, ratio: float
) -> Floats:
    """[row] lower bounds of the energy (pJ) of the memories in tiles of any size.

    Operands share neither a path nor room here, only the innermost loop: what it indexes crosses
    the boundary of the array in each step. So a bound is lower than that of a least path, but what
    an operand spends is found once for all rows that unroll it alike.
    """
    energies = np.empty((problem.operands, table.rows, 2))
    for x in range(problem.operands):
        records = _unrolled_alike(copy_record(problem), table, x)
        _, some, same = np.unique(records, axis=0, return_index=True, return_inverse=True)
        least = _operand_energies(copy_record(problem), table, x, some, relaxed, ratio)
        energies[x] = least[same.reshape(-1)]
    return sum_bounds(copy_record(problem), table.unrollings, table.first, energies)


@kernel
def _unrolled_alike(problem: FlatProblem, table: UnrollingTable, x: int) -> Floats:
    """[row, :] all of a spatial mapping that what an operand spends depends on."""
    levels, dimensions = problem.levels[x] + 2, problem.dimensions
    records = np.empty((len(table.first) - 1, levels * (dimensions + 1) + dimensions))
    for row in range(len(records)):
        unrolled = table.unrollings[table.first[row] : table.first[row + 1]]
        put_unrollings(problem, unrolled)
        temporal_sizes(problem, unrolled, records[row, :dimensions])
        for level in range(levels):
            own = records[row, dimensions + level * (dimensions + 1) :]
            own[:dimensions] = problem.unrolled_below[x, level, :dimensions]
            own[dimensions] = 0.0
            if x == OUT and level <= problem.levels[x]:
                own[dimensions] = problem.reduced_from[FRACTIONAL, level]
    return records


@kernel
def _operand_energies(
    problem: FlatProblem, table: UnrollingTable, x: int, rows: Ints, relaxed: Relaxed, ratio: float
) -> Floats:
    """[i, kind of innermost loop] the least energy (pJ) of one operand with each of these rows."""
    energies, sizes = np.zeros((len(rows), 2)), np.empty(problem.dimensions)
    macs = 1.0
    for d in range(problem.dimensions):
        macs *= problem.loop_size[d]
    for i in range(len(rows)):
        unrolled = table.unrollings[table.first[rows[i]] : table.first[rows[i] + 1]]
        put_unrollings(problem, unrolled)
        temporal_sizes(problem, unrolled, sizes)
        cells = _own_cells(problem, x, sizes, relaxed.is_cut, ratio)
        for link in range(relaxed.ends[x]):
            moving, still = _least_to_cross(problem, cells, x, link, relaxed.padding)
            energies[i, RELEVANT_FIRST] += moving
            energies[i, IRRELEVANT_FIRST] += still
        energies[i] *= macs * relaxed.scales[x]
    return energies


@kernel
def _own_cells(problem: FlatProblem, x: int, sizes: Floats, is_cut: Flags, ratio: float) -> Cells:
    """The cells of an operand: all loops that leave its data in place are below each.

    Behind the last one is the origin, below which no loop is.
    """
    own = sizes.copy()
    for d in range(len(sizes)):
        if problem.relevance[x, d] == IRRELEVANT:
            own[d] = 1.0
    cells = cells_of(own, is_cut, ratio)
    least, most = np.ones((2, len(cells.most) + 1, len(sizes)))
    least[:-1], most[:-1] = cells.least, cells.most
    for d in range(len(sizes)):
        least[-1, d] = 0.0 if is_cut[d] else 1.0
        if problem.relevance[x, d] == IRRELEVANT:
            least[:-1, d], most[:-1, d] = sizes[d], sizes[d]
    return Cells(cells.lattice, least, most, is_cut)


@kernel
def _least_to_cross(
    problem: FlatProblem, cells: Cells, x: int, link: int, padding: Floats
) -> tuple[float, float]:
    """The least energy of a link for each multiply-accumulate, by the kind of innermost loop."""
    origin = len(cells.most) - 1
    here = _link_energy(problem, cells, origin, x, link)
    if link == ARRAY:
        stays = x != OUT and problem.holds_inputs == 1
        return here, _link_energy(problem, cells, 0, x, link) if stays else here
    least, beyond = np.inf, np.inf
    bits, room = problem.element_bits[x, link], problem.memory_room[problem.memory[x, link]]
    if x == OUT:
        bits = min(bits, problem.partial_bits[x, link])
    for p in range(origin):
        if _fewest_elements(problem, cells, p, (x, link), padding) * bits <= room:
            energy = _link_energy(problem, cells, p, x, link)
            least = min(least, energy)
            if p > 0:
                beyond = min(beyond, energy)
    if _fewest_elements(problem, cells, origin, (x, link), padding) * bits <= room:
        beyond = min(beyond, here)
    return beyond, least


# --- the least path ---

LABELS = 300_000
"""Labels of the search for the least path; with more, the bound of each operand alone counts."""

_NOTHING_KNOWN = goal_of(Incumbents(Objective.ENERGY), MappingType.UNEVEN)


def least_in_tiles(problem: FlatProblem, sizes: Floats, relaxed: Relaxed, ratio: float) -> float:
    """The least energy (pJ) of a layer under a spatial mapping, in tiles of any size.

    ``sizes`` [d] are its temporal iterations. The ends of cells grow by ``ratio``: with a lower one
    the bound is higher, and takes longer.
    """
    space = _space(problem, sizes, relaxed, ratio, _NOTHING_KNOWN)
    bound = float(origin_bounds(space)[0])
    if bound == inf:
        return inf
    return max(bound, float(_least_path(problem, space, bound)))


@kernel
def _space(
    problem: FlatProblem, sizes: Floats, relaxed: Relaxed, ratio: float, goal: Goal
) -> Space:
    """The tables of a search for the least path through cells."""
    cells = cells_of(sizes, relaxed.is_cut, ratio)
    spent, none = _spent(problem, cells, relaxed), np.zeros(1)
    energy = np.full(1, ENERGY, np.int64)
    resources = Resources(spent, energy, none, none, np.zeros(1, np.int64), 1)
    capacity = capacity_with(problem, _bits(problem, cells, relaxed), _finished(problem, cells))
    forbid(problem, cells.lattice, capacity, spent)
    least = remainders(problem, cells.lattice, spent)
    rule, shared = rule_of(problem, sizes.prod(), goal), shared_memories(problem, goal.is_even)
    return Space(cells.lattice, resources, least, capacity, rule, shared)


@kernel
def _least_path(problem: FlatProblem, space: Space, bound: float) -> float:
    """The least energy of a path from a bound on, -infinity if there are too many labels."""
    pool = new_pool(problem, space, LABELS)
    for limit in limits_between(bound, np.inf):
        if not find_paths(problem, space, pool, limit).is_complete:
            return -np.inf
        label = _least_leftover(pool)
        if label >= 0:
            return float(costs_of(space.rule, space.resources, pool.spent[label, :1], 0.0)[0])
    return np.inf


@kernel
def _least_leftover(pool: Pool) -> int:
    """The label at the corner that spends least of the first resource; NONE without any."""
    least = NONE
    states = pool.head.shape[1]
    for state in range(states - 2, states):
        label = pool.head[-1, state]
        while label != NONE:
            if least == NONE or pool.spent[label, 0] < pool.spent[least, 0]:
                least = label
            label = pool.after[label]
    return int(least)
