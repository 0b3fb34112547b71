"""Bounds and least energies of many spatial mappings of one layer, without a model of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes
from nestmap.model.arrays import Floats, Ints
from nestmap.search.temporal.exact.labels import find_paths, least_leftover, new_pool
from nestmap.search.temporal.exact.lattice import Lattice, most_levels, prime_lattice
from nestmap.search.temporal.exact.limits import limits_between
from nestmap.search.temporal.exact.objective_bound import Rule, costs_of
from nestmap.search.temporal.exact.resources import energy_resource
from nestmap.search.temporal.exact.space import MOST_CELLS, Space, space_of

ROUNDING = 1e-9
"""How far energies that are equal may differ because their terms are rounded."""


class RowTable(NamedTuple):
    """Spatial mappings, one a row, with what is known of each."""

    unrollings: Ints  # [i, 3] as in an UnrollingTable
    first: Ints  # [row + 1]
    computation: Floats  # [row] pJ of all multiply-accumulates
    bounds: Floats  # [row] lower bounds of the energy (pJ)
    leakage: Floats  # [row] pJ that leak at least


@kernel
def energy_bounds(
    problem: FlatProblem, work: Work, table: RowTable, rows: Ints, below: float, even: bool
) -> Floats:
    """[i] the energy (pJ) of any temporal mapping of each of these rows is at least this.

    Infinite where no mapping fits. Rows keep the known bound if it is not ``below`` a limit, or if
    their tables would be too large. The records are scratch; ``problem`` describes the layer.
    """
    bounds = np.empty(len(rows))
    for i in range(len(rows)):
        row = rows[i]
        bounds[i] = table.bounds[row]
        if bounds[i] >= below:
            continue
        lattice = _put_row(problem, table, row)
        if not _is_too_large(problem, lattice):
            space = _energy_space(problem, work, lattice, even)
            bounds[i] = max(bounds[i], _origin_bound(problem, space) + table.leakage[row])
    return bounds


@kernel
def least_energies(
    problem: FlatProblem, work: Work, table: RowTable, rows: Ints, below: float, labels: int
) -> tuple[Floats, int]:
    """[i] the least energy (pJ) of the uneven mappings of each row, and the labels of all.

    The energy is infinite if it is not ``below``.

    Each energy found lowers the limit for the rows after it, except for those that are as low up
    to rounding. -infinity where the limit on labels ends a search, or where tables would be too
    large. The records are scratch. Nothing may leak.
    """
    least, made = np.full(len(rows), np.inf), 0
    for i in range(len(rows)):
        if table.bounds[rows[i]] >= below:
            continue
        lattice = _put_row(problem, table, rows[i])
        if _is_too_large(problem, lattice):
            least[i] = -np.inf
            continue
        space = _energy_space(problem, work, lattice, False)
        least[i], labels_of_row = _least_energy(problem, space, below, labels)
        made += labels_of_row
        if least[i] > -np.inf:
            below = min(below, least[i] * (1 + ROUNDING))
    return least, made


@kernel
def _put_row(problem: FlatProblem, table: RowTable, row: int) -> Lattice:
    """Writes a row to the record of the problem; returns the lattice of its loops."""
    unrollings = table.unrollings[table.first[row] : table.first[row + 1]]
    put_unrollings(problem, unrollings)
    problem.views = 1  # energy and capacity have only the fractional view
    problem.computation = table.computation[row]
    sizes = np.empty(problem.dimensions)
    temporal_sizes(problem, unrollings, sizes)
    return prime_lattice(sizes)


@kernel
def _is_too_large(problem: FlatProblem, lattice: Lattice) -> bool:
    cells = len(lattice.depth) * problem.operands * (most_levels(problem) + 1)
    return bool(cells > MOST_CELLS)


@kernel
def _energy_space(problem: FlatProblem, work: Work, lattice: Lattice, even: bool) -> Space:
    """The tables for energy without leakage."""
    rule = Rule(problem.computation, 0.0, 0.0, 0.0, True, False, False, np.empty(0), np.empty(0))
    resources = energy_resource(problem, work, lattice)
    return space_of(problem, work, lattice, resources, rule, even)


@kernel
def _origin_bound(problem: FlatProblem, space: Space) -> float:
    spent = np.zeros(1)
    for x in range(problem.operands):
        spent[0] += space.least[0, x, 0, 0]
    return float(costs_of(space.rule, space.resources, spent)[0])


@kernel
def _least_energy(
    problem: FlatProblem, space: Space, below: float, labels: int
) -> tuple[float, int]:
    """The least energy below a limit, else infinity, and how many labels were made.

    The energy is -infinity if there are too many.
    """
    bound, made = _origin_bound(problem, space), 0
    if bound >= below:
        return np.inf, made
    pool = new_pool(problem, space, labels)
    for limit in limits_between(bound, below):
        outcome = find_paths(problem, space, pool, limit)
        made += outcome.labels
        if not outcome.is_complete:
            return -np.inf, made
        label = least_leftover(pool)
        if label >= 0:
            return float(costs_of(space.rule, space.resources, pool.spent[label, :1])[0]), made
    return np.inf, made
