"""The best of many evaluations, without keeping them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nestmap.model import EvaluationBatch, Objective, SearchStatistics


def best_of(batches: Iterable[EvaluationBatch], objective: Objective) -> EvaluationBatch:
    """One row: the smallest objective, of equals the least energy, then latency, then the first.

    Its statistics add up those of all batches. Where no batch has a row, the result has none.

    Raises:
        ValueError: if there is no batch at all.
    """
    best: EvaluationBatch | None = None
    statistics = SearchStatistics()
    for batch in batches:
        statistics = statistics + batch.statistics
        candidate = _best_row(batch, objective)
        if best is None or _precedes(candidate, best, objective):
            best = candidate
    if best is None:
        raise ValueError("there is no batch to choose from")
    return best.with_statistics(statistics)


def _best_row(batch: EvaluationBatch, objective: Objective) -> EvaluationBatch:
    order = np.lexsort((batch.latency2, batch.energy, batch.values(objective)))
    return batch.take(order[:1])


def _precedes(one: EvaluationBatch, other: EvaluationBatch, objective: Objective) -> bool:
    if not len(one) or not len(other):
        return len(one) > len(other)
    return _key(one, objective) < _key(other, objective)


def _key(row: EvaluationBatch, objective: Objective) -> tuple[float, float, float]:
    return float(row.values(objective)[0]), float(row.energy[0]), float(row.latency2[0])
