"""The Pareto front of a stream of evaluations, without storing them."""

from __future__ import annotations

from collections.abc import Iterable

from nestmap.model import EvaluationBatch, front_rows
from nestmap.model.arrays import Rows
from nestmap.search.select.shortlist import Columns, Shortlist, shortlist


def pareto_front(batches: Iterable[EvaluationBatch]) -> Shortlist:
    """The Pareto-optimal (non-dominated) rows in energy and latency.

    Sorted by ascending energy and therefore descending latency; of equal rows, the first is kept.
    Utilization is not a separate objective: it is a layer's ideal cycles, which are the same for
    all its mappings, over the latency, which also includes the idle units of a spatial mapping.

    Raises:
        ValueError: if there is no batch at all.
    """
    return shortlist(batches, _costs, _front)


def _costs(batch: EvaluationBatch) -> Columns:
    return batch.energy, batch.latency2


def _front(columns: Columns) -> Rows:
    energy, latency = columns
    return front_rows(energy, latency)
