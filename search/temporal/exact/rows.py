"""Searches many spatial mappings of one layer, without a model of each."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.spatial import put_unrollings, temporal_sizes
from nestmap.model.arrays import Floats, Ints
from nestmap.search.temporal.exact.incumbents import Incumbents
from nestmap.search.temporal.exact.labels import find_paths, least_leftover, leftover, new_pool
from nestmap.search.temporal.exact.lattice import Lattice, prime_lattice
from nestmap.search.temporal.exact.objective_bound import (
    Goal,
    costs_of,
    goal_of,
    is_energy_alone,
    rule_of,
)
from nestmap.search.temporal.exact.resources import energy_resource
from nestmap.search.temporal.exact.search import ExactOptions, limits_between
from nestmap.search.temporal.exact.space import (
    Space,
    has_too_many_cells,
    origin_bounds,
    space_of,
    space_with,
)

ROUNDING = 1e-9
"""How far energies that are equal may differ because their terms are rounded."""


class RowTable(NamedTuple):
    """Spatial mappings, one a row, with what is known of each."""

    unrollings: Ints  # [i, 3] as in an UnrollingTable
    first: Ints  # [row + 1]
    computation: Floats  # [row] pJ of all multiply-accumulates
    energy: Floats  # [row] lower bounds (pJ)
    latency: Floats  # [row] lower bounds (cycles)


class Bounded(NamedTuple):
    """What is shown of one row: a lower bound of its objective, and the labels made.

    The bound is infinite where no mapping fits, or where none improves on what is known.
    """

    bound: float
    labels: int


def bound_row(
    flat: FlatProblem, table: RowTable, row: int, known: Incumbents, options: ExactOptions
) -> Bounded:
    """Bounds the objective of any temporal mapping of a row.

    The remainders at the origin show that none improves, or the paths that are left. The known
    bound stays if tables would be too large. The record, which describes the layer, is scratch.
    """
    costs = table.energy[row : row + 1], table.latency[row : row + 1]
    if not known.improved_by(*costs).any():
        return Bounded(inf, 0)
    goal, bound = goal_of(known, options.mapping_type), float(known.value_of(*costs)[0])
    lattice, steps = put_row(flat, table, row, is_energy_alone(flat, goal))
    if has_too_many_cells(flat, len(lattice.depth), goal):
        return Bounded(bound, 0)
    space = space_of(flat, new_record(Work), lattice, steps, goal)
    least = origin_bounds(space)
    costs = np.maximum(costs[0], least[0]), np.maximum(costs[1], least[1])
    if not known.improved_by(*costs).any():
        return Bounded(inf, 0)
    bound = max(bound, float(known.value_of(*costs)[0]))
    has_path, labels = _has_path(flat, space, (bound, known.limit), options.labels)
    return Bounded(bound if has_path else inf, labels)


def _has_path(
    problem: FlatProblem, space: Space, limits: tuple[float, float], labels: int
) -> tuple[bool, int]:
    """Whether any path may be better than the limit, or there are too many labels; their number."""
    pool, made = new_pool(problem, space, labels), 0
    for limit in limits_between(*limits).tolist():
        outcome = find_paths(problem, space, pool, limit)
        made += outcome.labels
        if not outcome.is_complete or leftover(pool):
            return True, made
    return False, made


@kernel
def least_energies(
    problem: FlatProblem,
    work: Work,
    table: RowTable,
    rows: Ints,
    goal: Goal,
    limits: tuple[float, int],
) -> tuple[Floats, int]:
    """[i] the least energy (pJ) of the uneven mappings of each row, and the labels of all.

    ``limits``: the energy is infinite if it is not below, and so many labels end a search.

    Each energy found lowers the limit for the rows after it, except for those that are as low up
    to rounding. -infinity where the limit on labels ends a search, or where tables would be too
    large. The records are scratch. Energy has to be all that counts.
    """
    least, made = np.full(len(rows), np.inf), 0
    below, labels = limits
    for i in range(len(rows)):
        if table.energy[rows[i]] >= below:
            continue
        lattice, steps = put_row(problem, table, rows[i], True)
        if has_too_many_cells(problem, len(lattice.depth), goal):
            least[i] = -np.inf
            continue
        resources = energy_resource(problem, work, lattice)
        space = space_with(problem, work, lattice, resources, rule_of(problem, steps, goal))
        least[i], labels_of_row = least_of_paths(problem, space, below, labels)
        made += labels_of_row
        if least[i] > -np.inf:
            below = min(below, least[i] * (1 + ROUNDING))
    return least, made


@kernel
def put_row(
    problem: FlatProblem, table: RowTable, row: int, is_for_energy: bool
) -> tuple[Lattice, float]:
    """Writes a row to the record of the problem; returns the lattice and number of iterations."""
    unrollings = table.unrollings[table.first[row] : table.first[row + 1]]
    put_unrollings(problem, unrollings)
    if is_for_energy:
        problem.views = 1  # energy and capacity have only the fractional view
    problem.computation = table.computation[row]
    sizes = np.empty(problem.dimensions)
    steps = temporal_sizes(problem, unrollings, sizes)
    return prime_lattice(sizes), steps


@kernel
def least_of_paths(
    problem: FlatProblem, space: Space, below: float, labels: int
) -> tuple[float, int]:
    """The least energy of a path below a limit, else infinity, and how many labels were made.

    The energy is -infinity if there are too many.
    """
    bound, made = origin_bounds(space)[0], 0
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
