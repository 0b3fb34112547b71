"""Passes over the paths of a space: those that may be better, evaluated by the cost model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.costmodel.evaluate_rows import Columns
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import EvaluationBatch, MappingBatch, SearchStatistics
from nestmap.model.arrays import Floats
from nestmap.search.temporal.exact.descent import Descent, Status, descend, new_descent
from nestmap.search.temporal.exact.incumbents import Costs
from nestmap.search.temporal.exact.labels import find_paths, leftover, new_pool
from nestmap.search.temporal.exact.objective_bound import costs_of
from nestmap.search.temporal.exact.path import mapping_of, moves_to
from nestmap.search.temporal.exact.space import Prepared, Space
from nestmap.search.temporal.memory_allocation import Failures, fits_rows


class Passed(NamedTuple):
    """The paths left over: their mappings, and the bounds of their costs.

    ``energies`` and ``latencies`` bound all mappings that the pass did not find too costly. They
    mean nothing unless the pass is complete.
    """

    evaluations: EvaluationBatch
    energies: Floats
    latencies: Floats
    is_complete: bool
    labels: int


class Descended(NamedTuple):
    """The end of a depth-first pass."""

    is_complete: bool
    steps: int


def pass_with_dominance(
    prepared: Prepared, limit: float, incumbents: Sequence[Costs], labels: int
) -> Passed:
    """The paths with the lowest bounds below a limit, and for a front below the incumbents.

    The pass is not complete if there are more than ``labels`` partial paths.
    """
    space, flat = _with_incumbents(prepared.space, incumbents, 0), prepared.flat
    pool = new_pool(flat, space, labels)
    outcome = find_paths(flat, space, pool, limit)
    ends = leftover(pool) if outcome.is_complete else []
    if not ends:
        empty = MappingBatch.empty(prepared.spatial, SearchStatistics())
        none = np.empty(0)
        return Passed(evaluate_batch(empty), none, none, outcome.is_complete, outcome.labels)
    paths = [moves_to(label, pool.parent, pool.move) for label in ends]
    mappings = mapping_of(prepared.spatial, flat, prepared.factors, paths)
    if prepared.is_even:
        failures, table = new_record(Failures), space.lattice.factors
        even = fits_rows(flat, table, mappings.orders, mappings.cuts, True, failures)
        mappings = mappings.take(np.flatnonzero(even))
    kinds = len(space.resources.kind)
    costs = [costs_of(space.rule, space.resources, pool.spent[label, :kinds]) for label in ends]
    bounds = np.array(costs).T
    return Passed(evaluate_batch(mappings), bounds[0], bounds[1], True, outcome.labels)


def pass_depth_first(
    prepared: Prepared, limit: float, incumbents: Sequence[Costs], steps: int
) -> Generator[EvaluationBatch, None, Descended]:
    """All mappings that may be better than those before; returns whether these are all.

    It ends early after so many ``steps``, each of which makes a partial path longer.
    """
    space, flat = _with_incumbents(prepared.space, incumbents, MOST_POINTS), prepared.flat
    descent, status = new_descent(flat, space), Status(0, 0, steps, limit)
    while status.depth >= 0 and status.steps > 0:
        status = descend(flat, space, descent, status, prepared.is_even)
        if status.rows:
            yield _evaluated(prepared, descent, status.rows)
    return Descended(status.depth < 0, steps - status.steps)


MOST_POINTS = 1000
"""Points of a front that a depth-first pass remembers; it drops fewer paths if there are more."""


def _with_incumbents(space: Space, incumbents: Sequence[Costs], room: int) -> Space:
    """The space with these incumbents, and room for more."""
    energies, latencies = np.full((2, len(incumbents) + room), np.inf)
    for n, (energy, latency) in enumerate(incumbents):
        energies[n], latencies[n] = energy, latency
    return space._replace(rule=space.rule._replace(energies=energies, latencies=latencies))


def _evaluated(prepared: Prepared, descent: Descent, rows: int) -> EvaluationBatch:
    """The rows of a descent, in arrays of their own."""
    orders, cuts = descent.orders[:rows].copy(), descent.cuts[:rows].copy()
    columns = Columns(*(column[:rows].copy() for column in descent.columns))
    return EvaluationBatch(
        mappings=MappingBatch(prepared.spatial, prepared.factors, orders, cuts),
        energy=columns.energy,
        latency0=columns.latency0,
        latency1=columns.latency1,
        latency2=columns.latency2,
        ideal_cycles=int(prepared.flat.ideal_cycles),
        statistics=SearchStatistics(evaluations=rows),
    )
