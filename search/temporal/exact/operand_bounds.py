"""Lower bounds of the energy of many spatial mappings from each operand on its own.

Tables with all ir loops innermost have the least that an operand spends; see
:mod:`nestmap.search.temporal.exact.operand_tables`. The innermost loop decides for which operands:
data that it indexes is reread by the array in each cycle, and memories that hold one word of it
hand this on in each cycle too. So a row spends at least the sum over its operands for the best
innermost loop, which tells rows apart whose innermost memories are small: no loop leaves both
weights and sums in place.
"""

from collections.abc import Callable

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes
from nestmap.costmodel.transfers import link_of
from nestmap.model import MappingProblem
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.parallel import map_in_order
from nestmap.search.spatial.lower_bounds import ARRAY, depends_on_tiles, least_traffic
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact.lattice import prime_counts
from nestmap.search.temporal.exact.operand_tables import (
    OperandTable,
    boundary_energy,
    has_large_table,
    operand_table,
)

RELEVANT_FIRST, IRRELEVANT_FIRST = 0, 1
"""Whether the innermost loop is relevant to an operand, or leaves its data in place."""


BLOCK = 64
"""Rows that a thread takes at a time."""


def operand_bounds(
    problem: MappingProblem,
    table: UnrollingTable,
    improves: Callable[[Floats], Flags],
    is_searched: bool,
    workers: int,
) -> Floats:
    """[row] lower bounds of the energy of the memories (pJ), for any temporal mapping.

    Each operand has tables for the rows alone whose bounds still improve on what is known. If each
    row ``is_searched`` with tables of all operands anyway, those of the largest wait until then,
    except where its bound says little without.
    """
    layer, unrollings, first = flatten_problem(problem), table.unrollings, table.first
    energies, is_weak = compulsory_energies(copy_record(layer), new_record(Work), unrollings, first)
    bounds = sum_bounds(layer, unrollings, first, energies)

    def run(block: tuple[int, Ints]) -> Floats:
        flat, work = copy_record(layer), new_record(Work)
        return operand_energies(flat, work, unrollings, first, *block)

    operands = _operands(layer)
    for x in operands:
        is_left_out = is_searched and x == operands[-1]
        rows = np.flatnonzero(improves(bounds) & (is_weak[x] if is_left_out else True))
        blocks = [(x, rows[i : i + BLOCK]) for i in range(0, len(rows), BLOCK)]
        found = map_in_order(run, blocks, workers)
        for (_, some), least in zip(blocks, found, strict=True):
            energies[x, some] = np.maximum(energies[x, some], least)
        bounds = sum_bounds(layer, unrollings, first, energies)
    return bounds


def _operands(layer: FlatProblem) -> list[int]:
    """The operands in the order of their tables: those that few loops index have small ones."""
    sizes = layer.loop_size[: layer.dimensions]
    iterations = [
        float(sizes[layer.relevance[x, : layer.dimensions] != IRRELEVANT].prod())
        for x in range(layer.operands)
    ]
    return sorted(range(layer.operands), key=iterations.__getitem__)


@kernel
def compulsory_energies(
    problem: FlatProblem, work: Work, unrollings: Ints, first: Ints
) -> tuple[Floats, Flags]:
    """[x, row, kind of innermost loop] what an operand spends at least, whatever fits (pJ).

    Also [x, row] whether that says little, as what units share depends on their tiles. Zero in the
    reference's counting. The records are scratch; ``problem`` describes the layer.
    """
    energies = np.zeros((problem.operands, len(first) - 1, 2))
    is_weak = np.ones(energies.shape[:2], np.bool_)
    sizes = np.empty(problem.dimensions)
    for row in range(len(first) - 1 if problem.counts_exactly == 1 else 0):
        unrolled = unrollings[first[row] : first[row + 1]]
        put_unrollings(problem, unrolled)
        temporal_sizes(problem, unrolled, sizes)
        once, always = least_traffic(problem, work, sizes)
        for t in range(problem.transfers):
            x, is_read = problem.transfer_operand[t], link_of(problem, t) == ARRAY
            energies[x, row, IRRELEVANT_FIRST] += once[0, t]
            energies[x, row, RELEVANT_FIRST] += always[0, t] if is_read else once[0, t]
        for x in range(problem.operands):
            is_weak[x, row] = False
            for link in range(problem.levels[x] if problem.counts_clipped == 1 else 0):
                is_weak[x, row] |= depends_on_tiles(problem, x, link)
    return energies, is_weak


@kernel
def operand_energies(
    problem: FlatProblem, work: Work, unrollings: Ints, first: Ints, x: int, rows: Ints
) -> Floats:
    """[i, kind of innermost loop] the least energy (pJ) of one operand with each of these rows.

    Zero if a table would be too large. The records are scratch; ``problem`` describes the layer.
    """
    energies = np.zeros((len(rows), 2))
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
