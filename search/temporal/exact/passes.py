"""One pass over the paths of a space: those that may be better, evaluated by the cost model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import EvaluationBatch, MappingBatch, SearchStatistics
from nestmap.model.arrays import Floats
from nestmap.search.temporal.exact.incumbents import Costs
from nestmap.search.temporal.exact.labels import Pruning, find_paths, leftover, new_pool
from nestmap.search.temporal.exact.objective_bound import costs_of
from nestmap.search.temporal.exact.path import mapping_of, moves_to
from nestmap.search.temporal.exact.space import Prepared
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


def run_pass(
    prepared: Prepared, pruning: Pruning, incumbents: Sequence[Costs], labels: int
) -> Passed:
    """The mappings that may be better than the limit, and for a front than the incumbents."""
    energies, latencies = np.array(incumbents, np.float64).reshape(-1, 2).T
    rule = prepared.space.rule._replace(energies=energies.copy(), latencies=latencies.copy())
    space, flat = prepared.space._replace(rule=rule), prepared.flat
    pool = new_pool(flat, space, labels)
    outcome = find_paths(flat, space, pool, pruning)
    ends = leftover(pool) if outcome.is_complete else []
    if not ends:
        empty = MappingBatch.empty(prepared.spatial, SearchStatistics())
        return Passed(evaluate_batch(empty), np.empty(0), np.empty(0), outcome.is_complete)
    paths = [moves_to(label, pool.parent, pool.move) for label in ends]
    mappings = mapping_of(prepared.spatial, flat, prepared.factors, paths)
    if prepared.is_even:
        failures, table = new_record(Failures), space.lattice.factors
        even = fits_rows(flat, table, mappings.orders, mappings.cuts, True, failures)
        mappings = mappings.take(np.flatnonzero(even))
    kinds = len(space.resources.kind)
    costs = [costs_of(rule, space.resources, pool.spent[label, :kinds]) for label in ends]
    bounds = np.array(costs).T
    return Passed(evaluate_batch(mappings), bounds[0], bounds[1], True)
