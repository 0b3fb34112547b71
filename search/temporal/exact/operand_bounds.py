"""Lower bounds of the energy of many spatial mappings from each operand on its own.

Data of an operand stays in place while ir loops run, so that no boundary of it is better off below
an ir loop: the lattice of the relevant factors, with all ir loops innermost, has the least that the
operand spends. The innermost loop decides for which operands: data that it indexes is reread by
the array in each cycle, and memories that hold one word of it hand this on in each cycle too. So
a row spends at least the sum over its operands for the best innermost loop, which tells rows apart
whose innermost memories are small: no loop leaves both weights and sums in place.

Many rows share what matters to one operand: it is computed once for all of them.
"""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT, copy_record, copy_row, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes
from nestmap.model import MappingProblem
from nestmap.model.arrays import Floats, Ints
from nestmap.search.parallel import map_in_order
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact.capacity import cut_bits
from nestmap.search.temporal.exact.lattice import Lattice, load_point, most_levels, prime_lattice
from nestmap.search.temporal.exact.resources import energy_resource
from nestmap.search.temporal.exact.space import MOST_CELLS, accumulate
from nestmap.search.temporal.slot_candidates import whole_tensor

RELEVANT_FIRST, IRRELEVANT_FIRST = 0, 1
"""Whether the innermost loop is relevant to an operand, or leaves its data in place."""


BLOCK = 64
"""Rows that a thread takes at a time."""


def operand_bounds(problem: MappingProblem, table: UnrollingTable, workers: int) -> Floats:
    """[row] lower bounds of the energy of the memories (pJ), for any temporal mapping."""
    layer, unrollings, first = flatten_problem(problem), table.unrollings, table.first
    equals = first_equals(copy_record(layer), unrollings, first)
    energies = np.zeros((*equals.shape, 2))
    blocks = [
        (x, rows[i : i + BLOCK])
        for x, rows in enumerate(map(np.unique, equals))
        for i in range(0, len(rows), BLOCK)
    ]

    def run(block: tuple[int, Ints]) -> Floats:
        x, rows = block
        flat, work = copy_record(layer), new_record(Work)
        return operand_energies(flat, work, unrollings, first, x, rows)

    found = map_in_order(run, blocks, workers)
    for (x, rows), least in zip(blocks, found, strict=True):
        energies[x, rows] = least
    return sum_bounds(layer, unrollings, first, energies, equals)


@kernel
def first_equals(problem: FlatProblem, unrollings: Ints, first: Ints) -> Ints:
    """[x, row] the first row that is equal in all that matters to the energy of an operand.

    The record describes the layer and is scratch.
    """
    rows, most = len(first) - 1, 0
    for row in range(rows):
        most = max(most, first[row + 1] - first[row])
    width = 1 + problem.dimensions + 4 * (most_levels(problem) + 2) + 3 * most
    table = np.zeros((problem.operands, rows, width))
    sizes = np.empty(problem.dimensions)
    for row in range(rows):
        unrolled = unrollings[first[row] : first[row + 1]]
        put_unrollings(problem, unrolled)
        temporal_sizes(problem, unrolled, sizes)
        for x in range(problem.operands):
            _describe(problem, x, sizes, table[x, row])
    equals = np.empty((problem.operands, rows), np.int64)
    for x in range(problem.operands):
        _find_equals(table[x], equals[x])
    return equals


@kernel
def _describe(problem: FlatProblem, x: int, sizes: Floats, into: Floats) -> None:
    """All that matters to the energy of an operand; ir loops only by their product.

    If tiles are clipped, how often they repeat depends on each ir loop.
    """
    into[0] = -1.0 if problem.counts_clipped == 1 else 1.0
    for d in range(problem.dimensions):
        if _counts_apart(problem, x, d):
            into[1 + d] = sizes[d]
        else:
            into[0] *= sizes[d]
    n = 1 + problem.dimensions
    for level in range(problem.levels[x] + 1):
        into[n] = problem.units[FRACTIONAL, x, level]
        into[n + 1] = problem.boost[FRACTIONAL, x, level]
        if x == OUT:
            into[n + 2] = problem.reduced_from[FRACTIONAL, level]
            into[n + 3] = problem.reduced_from[FRACTIONAL, level + 1]
        n += 4
    for level in range(problem.levels[x] + 1):
        for i in range(problem.first_unrolled[x, level], problem.first_unrolled[x, level + 1]):
            d = problem.unrolled_dimension[x, i]
            if _counts_apart(problem, x, d):
                into[n], into[n + 1] = level + 1, d
                into[n + 2] = problem.unrolled_factor[FRACTIONAL, x, i]
                n += 3


@kernel
def _counts_apart(problem: FlatProblem, x: int, d: int) -> bool:
    """Whether the iterations of a dimension matter by themselves."""
    return bool(problem.relevance[x, d] != IRRELEVANT or problem.counts_clipped == 1)


@kernel
def _find_equals(table: Floats, equals: Ints) -> None:
    """[row] the first row of the table that is equal, from a hash table."""
    slots = np.full(2 * len(table) + 1, -1, np.int64)
    for row in range(len(table)):
        digest = 1
        for value in table[row]:
            digest = (digest * 1_000_003 + int(value * 65536.0)) % 2_147_483_647
        slot = digest % len(slots)
        while slots[slot] >= 0 and not np.array_equal(table[slots[slot]], table[row]):
            slot = (slot + 1) % len(slots)
        if slots[slot] < 0:
            slots[slot] = row
        equals[row] = slots[slot]


@kernel
def operand_energies(
    problem: FlatProblem, work: Work, unrollings: Ints, first: Ints, x: int, rows: Ints
) -> Floats:
    """[i, kind of innermost loop] the least energy (pJ) of one operand with each of these rows.

    Zero if a table would be too large. The records are scratch; ``problem`` describes the layer.
    """
    energies = np.zeros((len(rows), 2))
    if x == OUT and problem.partial_bits[x, 0] < problem.element_bits[x, 0]:
        return energies  # moving a boundary above an ir loop may cost energy
    most = problem.operands * (most_levels(problem) + 1)
    for other in range(problem.operands):
        if other != x:
            problem.levels[other] = 0  # so that tables have this operand alone
    sizes = np.empty(problem.dimensions)
    for i in range(len(rows)):
        unrolled = unrollings[first[rows[i]] : first[rows[i] + 1]]
        put_unrollings(problem, unrolled)
        problem.views = 1  # energy and capacity have only the fractional view
        temporal_sizes(problem, unrolled, sizes)
        lattice = _operand_lattice(problem, x, sizes)
        if len(lattice.depth) * most <= MOST_CELLS:
            _least_of(problem, work, lattice, x, energies[i])
    return energies


@kernel
def _operand_lattice(problem: FlatProblem, x: int, sizes: Floats) -> Lattice:
    """The prime factors of relevant dimensions above the loops over ir dimensions, one for each."""
    relevant, kept = sizes.copy(), np.empty(problem.dimensions, np.int64)
    count = 0
    for d in range(problem.dimensions):
        if problem.relevance[x, d] == IRRELEVANT:
            relevant[d] = 1.0
            if sizes[d] > 1.0:
                kept[count] = d
                count += 1
    grid = prime_lattice(relevant)
    points, kinds = grid.below.shape
    factors = np.empty((kinds + count, 2), np.int64)
    below = np.zeros((points + count, kinds + count), np.int64)
    depth = np.empty(points + count, np.int64)
    step = np.empty((points + count, kinds + count), np.int64)
    step[:] = -1
    for f in range(count):
        factors[f, 0], factors[f, 1] = kept[f], int(sizes[kept[f]])
        below[f + 1 :, f], depth[f], step[f, f] = 1, f, f + 1
    for f in range(kinds):
        copy_row(factors[count + f], grid.factors[f])
    for p in range(points):
        depth[count + p] = grid.depth[p] + count
        for f in range(kinds):
            below[count + p, count + f] = grid.below[p, f]
            step[count + p, count + f] = grid.step[p, f] + count if grid.step[p, f] >= 0 else -1
    return Lattice(factors, below, depth, step)


@kernel
def _least_of(problem: FlatProblem, work: Work, lattice: Lattice, x: int, energies: Floats) -> None:
    spent = energy_resource(problem, work, lattice).spent[0, x]
    whole = whole_tensor(problem, work, x)
    for p in range(len(lattice.depth)):
        load_point(work, lattice, p)
        for level in range(1, problem.levels[x] + 1):
            m = problem.memory[x, level]
            bits = cut_bits(problem, work, (m, x, level), lattice.depth[p], whole)
            if min(bits) > problem.memory_room[m]:
                spent[level, p] = np.inf
    least = np.zeros(spent.shape)
    accumulate(lattice, spent, problem.levels[x], least)
    stays = 0
    for f in range(len(lattice.factors)):
        is_loop = (
            len(lattice.depth) > 1 and problem.relevance[x, lattice.factors[f, 0]] == IRRELEVANT
        )
        stays += 1 if is_loop else 0
    kept = stays if x != OUT and problem.holds_inputs == 1 else 0
    energies[IRRELEVANT_FIRST] = spent[0, kept] + least[1, 0]
    if stays > 0:
        # no boundary is above the ir loops alone
        spent[1 : problem.levels[x], 1 : stays + 1] = np.inf
        accumulate(lattice, spent, problem.levels[x], least)
    energies[RELEVANT_FIRST] = spent[0, 0] + least[1, 0]


@kernel
def sum_bounds(
    problem: FlatProblem, unrollings: Ints, first: Ints, energies: Floats, equals: Ints
) -> Floats:
    """[row] the least sum over the operands, for any innermost loop, without the array's energy.

    ``energies`` [x, row, 2] is known for the rows in ``equals`` [x, row].
    """
    rows = len(first) - 1
    bounds, sizes = np.empty(rows), np.empty(problem.dimensions)
    for row in range(rows):
        temporal_sizes(problem, unrollings[first[row] : first[row + 1]], sizes)
        least, total, is_still = np.inf, 0.0, True
        for x in range(problem.operands):
            total += energies[x, equals[x, row], IRRELEVANT_FIRST]
        for d in range(problem.dimensions):
            if sizes[d] > 1.0:
                is_still, some = False, 0.0
                for x in range(problem.operands):
                    stays = problem.relevance[x, d] == IRRELEVANT
                    kind = IRRELEVANT_FIRST if stays else RELEVANT_FIRST
                    some += energies[x, equals[x, row], kind]
                least = min(least, some)
        bounds[row] = total if is_still else least
    return bounds
