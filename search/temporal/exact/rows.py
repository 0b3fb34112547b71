"""Searches many spatial mappings of one layer, without a model of each."""

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
from nestmap.search.temporal.exact.labels import find_paths, leftover, limits_between, new_pool
from nestmap.search.temporal.exact.lattice import grid_of, prime_counts
from nestmap.search.temporal.exact.objective_bound import goal_of, is_energy_alone
from nestmap.search.temporal.exact.search import ExactOptions
from nestmap.search.temporal.exact.space import Space, has_too_many_cells, origin_bounds, space_of


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
    factors, counts, steps = put_row(flat, table, row, is_energy_alone(flat, goal))
    lattice = grid_of(factors, counts)
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
        if not outcome.is_complete or len(leftover(pool)):
            return True, made
    return False, made


@kernel
def put_row(
    problem: FlatProblem, table: RowTable, row: int, is_for_energy: bool
) -> tuple[Ints, Ints, float]:
    """Writes a row to the record; returns its factors, their counts, and all iterations."""
    unrollings = table.unrollings[table.first[row] : table.first[row + 1]]
    put_unrollings(problem, unrollings)
    if is_for_energy:
        problem.views = 1  # energy and capacity have only the fractional view
    problem.computation = table.computation[row]
    sizes = np.empty(problem.dimensions)
    steps = temporal_sizes(problem, unrollings, sizes)
    factors, counts = prime_counts(sizes)
    return factors, counts, steps
