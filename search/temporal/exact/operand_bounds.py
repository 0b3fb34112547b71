"""Lower bounds of the energy of many spatial mappings from each operand on its own.

Tables with all ir loops innermost have the least that an operand spends; see
:mod:`nestmap.search.temporal.exact.operand_tables`. The innermost loop decides for which operands:
data that it indexes is reread by the array in each cycle, and memories that hold one word of it
hand this on in each cycle too. So a row spends at least the sum over its operands for the best
innermost loop, which tells rows apart whose innermost memories are small: no loop leaves both
weights and sums in place.

Many rows share what matters to one operand: it is computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT, copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes
from nestmap.model import MappingProblem
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.parallel import map_in_order
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact.lattice import most_levels, prime_counts
from nestmap.search.temporal.exact.operand_tables import (
    ARRAY,
    OperandTable,
    boundary_energy,
    first_cut,
    grows_when_finished,
    has_large_table,
    operand_table,
)

RELEVANT_FIRST, IRRELEVANT_FIRST = 0, 1
"""Whether the innermost loop is relevant to an operand, or leaves its data in place."""


BLOCK = 64
"""Rows that a thread takes at a time."""


class Plan(NamedTuple):
    """How operands are bounded."""

    is_searched: bool  # a search of each row makes all tables anyway, so the largest may wait
    workers: int


def operand_bounds(
    problem: MappingProblem, table: UnrollingTable, improves: Callable[[Floats], Flags], plan: Plan
) -> Floats:
    """[row] lower bounds of the energy of the memories (pJ), for any temporal mapping.

    Each operand has tables for the rows alone whose bounds still improve on what is known.
    """
    layer, unrollings, first = flatten_problem(problem), table.unrollings, table.first
    equals = first_equals(copy_record(layer), unrollings, first)
    energies = compulsory_energies(copy_record(layer), new_record(Work), unrollings, first)
    bounds = sum_bounds(layer, unrollings, first, energies)

    def run(block: tuple[int, Ints]) -> Floats:
        flat, work = copy_record(layer), new_record(Work)
        return operand_energies(flat, work, unrollings, first, *block)

    for x in _operands(layer, plan):
        rows = np.unique(equals[x, improves(bounds)])
        blocks = [(x, rows[i : i + BLOCK]) for i in range(0, len(rows), BLOCK)]
        least = np.zeros(energies.shape[1:])
        for (_, some), found in zip(blocks, map_in_order(run, blocks, plan.workers), strict=True):
            least[some] = found
        energies[x] = np.maximum(energies[x], least[equals[x]])
        bounds = sum_bounds(layer, unrollings, first, energies)
    return bounds


def _operands(layer: FlatProblem, plan: Plan) -> list[int]:
    """The operands to make tables of: those that few loops index first, as theirs are small."""
    sizes = layer.loop_size[: layer.dimensions]
    iterations = [
        float(sizes[layer.relevance[x, : layer.dimensions] != IRRELEVANT].prod())
        for x in range(layer.operands)
    ]
    operands = sorted(range(layer.operands), key=iterations.__getitem__)
    is_made_anyway = plan.is_searched and layer.counts_exactly == 1
    return operands[:-1] if is_made_anyway else operands


@kernel
def compulsory_energies(problem: FlatProblem, work: Work, unrollings: Ints, first: Ints) -> Floats:
    """[x, row, kind of innermost loop] what an operand spends if all fitted everywhere (pJ).

    Each word crosses each boundary once then. Zero in the reference's counting, which rounds the
    words of tiles that are fractions. The records are scratch; ``problem`` describes the layer.
    """
    energies = np.zeros((problem.operands, len(first) - 1, 2))
    sizes = np.empty(problem.dimensions)
    for row in range(len(first) - 1):
        unrolled = unrollings[first[row] : first[row + 1]]
        put_unrollings(problem, unrolled)
        temporal_sizes(problem, unrolled, sizes)
        for x in range(problem.operands):
            if problem.counts_exactly == 1 and not (x == OUT and grows_when_finished(problem)):
                _put_compulsory(problem, work, sizes, x, energies[x, row])
    return energies


@kernel
def _put_compulsory(
    problem: FlatProblem, work: Work, sizes: Floats, x: int, energies: Floats
) -> None:
    """Writes a loop for each dimension, those that leave the operand's data in place first."""
    still, work.loops = 0, 0
    for is_still in (True, False):
        for d in range(problem.dimensions):
            if (problem.relevance[x, d] == IRRELEVANT) == is_still:
                work.dimension[work.loops], work.factor[work.loops] = d, sizes[d]
                work.loops += 1
        still = work.loops if is_still else still
    once = 0.0
    for level in range(1, problem.levels[x]):
        once += boundary_energy(problem, work, (x, level), work.loops)
    array, kept = (x, int(ARRAY)), first_cut(problem, x, still)
    energies[IRRELEVANT_FIRST] = once + boundary_energy(problem, work, array, kept)
    energies[RELEVANT_FIRST] = once + boundary_energy(problem, work, array, 0)


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
    if x == OUT and grows_when_finished(problem):
        return energies
    sizes = np.empty(problem.dimensions)
    for i in range(len(rows)):
        unrolled = unrollings[first[rows[i]] : first[rows[i] + 1]]
        put_unrollings(problem, unrolled)
        problem.views = 1  # energy and capacity have only the fractional view
        temporal_sizes(problem, unrolled, sizes)
        factors, counts = prime_counts(sizes)
        if not has_large_table(problem, factors, counts, x):
            table = operand_table(problem, work, factors, counts, x)
            energies[i, IRRELEVANT_FIRST] = table.least[0, 0]
            energies[i, RELEVANT_FIRST] = _relevant_first(problem, work, table, x)
    return energies


@kernel
def _relevant_first(problem: FlatProblem, work: Work, table: OperandTable, x: int) -> float:
    """The least that an operand spends if its innermost loop is relevant.

    No boundary is crossed above ir loops alone, so each is at the origin or above that loop.
    """
    lattice, top = table.lattice, problem.levels[x]
    least = table.least[top, 0]
    for level in range(top - 1, -1, -1):
        here, m = np.inf, problem.memory[x, level]
        if level == 0 or table.bits[level, :, 0].min() <= problem.memory_room[m]:
            here = boundary_energy(problem, work, (x, level), 0)
        least += here
        for f in range(len(lattice.factors)):
            after = lattice.step[0, f]
            if after >= 0 and level > 0:
                least = min(least, table.least[level, after])
    return float(least)


@kernel
def sum_bounds(problem: FlatProblem, unrollings: Ints, first: Ints, energies: Floats) -> Floats:
    """[row] the least sum over the operands, for any innermost loop, without the array's energy."""
    rows = len(first) - 1
    bounds, sizes = np.empty(rows), np.empty(problem.dimensions)
    for row in range(rows):
        temporal_sizes(problem, unrollings[first[row] : first[row + 1]], sizes)
        least, total, is_still = np.inf, 0.0, True
        for x in range(problem.operands):
            total += energies[x, row, IRRELEVANT_FIRST]
        for d in range(problem.dimensions):
            if sizes[d] > 1.0:
                is_still, some = False, 0.0
                for x in range(problem.operands):
                    stays = problem.relevance[x, d] == IRRELEVANT
                    kind = IRRELEVANT_FIRST if stays else RELEVANT_FIRST
                    some += energies[x, row, kind]
                least = min(least, some)
        bounds[row] = total if is_still else least
    return bounds
