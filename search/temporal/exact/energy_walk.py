"""The walk over all spatial mappings of a layer for the least energy, with a proof.

Rows of a table of spatial mappings come in the order of their lower bounds, block by block on
several threads. Kernels search them without a model of each row, as the exact search does for
energy alone. Where this is not a sum over boundaries (leakage, even mappings), or where the user
orders loops, they only bound the rows, and the exact search goes through those that are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.record import copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.model import LayerConstraints, MappingType, Objective
from nestmap.model.arrays import Floats, Ints
from nestmap.search.parallel import map_in_order
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.spatial.unrolling_table import array_energies
from nestmap.search.temporal.exact.many import RowTable, energy_bounds, least_energies
from nestmap.search.temporal.exact.operand_bounds import operand_bounds
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact

BLOCK = 32
"""Rows that a thread takes at a time."""


def least_energy_rows(
    candidates: SpatialCandidates, incumbent: float, options: ExactOptions, workers: int = 1
) -> Iterator[int]:
    """The rows on which the exact search for energy improves, in the order of the walk.

    Each has a mapping with less energy (pJ) than the incumbent and all rows before it, up to the
    rounding of sums, so that an exact search of each row with the best costs so far finds the
    optimum of all rows. After the last row this is proven, except for rows on which a limit ends
    the search: they are among these, and the exact search reports them as unproven. Without any row
    no mapping of any row is below the incumbent.

    Raises:
        InputError: if the user's temporal ordering is unsatisfiable for a row.
    """
    walk = _searched if _is_plain(candidates, options) else _bounded
    table = row_table(candidates, workers)
    order = np.argsort(table.bounds, kind="stable")
    return walk(candidates, table, order, incumbent, options, workers)


def row_table(candidates: SpatialCandidates, workers: int = 1) -> RowTable:
    """The rows as kernels read them, with the better of two lower bounds."""
    problem, table = candidates.problem, candidates.table
    computation, cheap = array_energies(problem, table), candidates.bounds()
    leakage = flatten_problem(problem).leakage * cheap.latency
    bounds = operand_bounds(problem, table, workers) + computation + leakage
    return RowTable(
        table.unrollings, table.first, computation, np.maximum(cheap.energy, bounds), leakage
    )


def bounds_of_rows(
    candidates: SpatialCandidates,
    table: RowTable,
    rows: Ints,
    below: float,
    mapping_type: MappingType,
) -> Floats:
    """[i] lower bounds of the energy (pJ) of these rows: remainders at the origin, or known ones.

    Rows keep the known bound if it is not ``below``, and all rows if the user orders loops.
    """
    if has_order(candidates.problem.constraints):
        return table.bounds[rows]
    flat, even = copy_record(flatten_problem(candidates.problem)), mapping_type is MappingType.EVEN
    return energy_bounds(flat, new_record(Work), table, rows, below, even)


def has_order(constraints: LayerConstraints) -> bool:
    """Whether the user restricts temporal mappings."""
    return bool(
        constraints.temporal_ordering or constraints.outer_ordering or constraints.memory_levels
    )


def _is_plain(candidates: SpatialCandidates, options: ExactOptions) -> bool:
    """Whether the kernels find the optimum of a row."""
    leaks = flatten_problem(candidates.problem).leakage > 0
    is_even = options.mapping_type is MappingType.EVEN
    return not (leaks or is_even or has_order(candidates.problem.constraints))


def _searched(
    candidates: SpatialCandidates,
    table: RowTable,
    order: Ints,
    incumbent: float,
    options: ExactOptions,
    workers: int,
) -> Iterator[int]:
    """The walk with kernels that search each row."""
    known = incumbent

    def blocks() -> Iterator[tuple[Ints, float]]:
        for first in range(0, len(order), BLOCK):
            if table.bounds[order[first]] >= known:
                return
            yield order[first : first + BLOCK], known

    def run(block: tuple[Ints, float]) -> tuple[Ints, Floats]:
        rows, below = block
        flat = copy_record(flatten_problem(candidates.problem))
        return rows, least_energies(flat, new_record(Work), table, rows, below, options.labels)

    for rows, least in map_in_order(run, blocks(), workers):
        for i in np.flatnonzero(least < known).tolist():
            energy = float(least[i])
            if energy < known:
                known = known if energy == -inf else energy
                yield int(rows[i])


def _bounded(
    candidates: SpatialCandidates,
    table: RowTable,
    order: Ints,
    incumbent: float,
    options: ExactOptions,
    workers: int,
) -> Iterator[int]:
    """The walk with kernels that bound each row, and an exact search of those that are left."""
    known = incumbent

    def blocks() -> Iterator[tuple[Ints, float]]:
        for first in range(0, len(order), BLOCK):
            if table.bounds[order[first]] >= known:
                return
            yield order[first : first + BLOCK], known

    def run(block: tuple[Ints, float]) -> tuple[Ints, Floats]:
        rows, below = block
        return rows, bounds_of_rows(candidates, table, rows, below, options.mapping_type)

    for rows, bounds in map_in_order(run, blocks(), workers):
        for i in np.argsort(bounds, kind="stable").tolist():
            if bounds[i] >= known:
                break
            least, is_proven = _exact_energy(candidates, int(rows[i]), known, options)
            if least < known or not is_proven:
                known = min(known, least)
                yield int(rows[i])


def _exact_energy(
    candidates: SpatialCandidates, row: int, known: float, options: ExactOptions
) -> tuple[float, bool]:
    """The least energy that the exact search finds, and whether none is below."""
    incumbents = ((known, inf),) if known < inf else ()
    task = SearchTask(candidates.spatial(row), incumbents, start=False)
    batches = list(exact(task, Objective.ENERGY, options))
    least = min((float(batch.energy.min()) for batch in batches if len(batch)), default=inf)
    return least, not batches[-1].statistics.unproven
