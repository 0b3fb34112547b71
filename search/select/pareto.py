"""The Pareto front of many evaluations, without keeping them."""

from __future__ import annotations

from collections.abc import Iterable

from nestmap.model import EvaluationBatch, front_rows
from nestmap.model.arrays import Rows
from nestmap.search.select.shortlist import Columns, Shortlist, shortlist


def pareto_front(batches: Iterable[EvaluationBatch]) -> Shortlist:
    """The rows than which no other has less energy or latency without having more of the other.

    By rising energy, and so by falling latency; of equal rows the first. Utilization is no
    criterion of its own: it is a layer's ideal cycles, the same for all its mappings, over the
    latency, and idle units of a spatial mapping show in the latency too.

    Raises:
        ValueError: if there is no batch at all.
    """
    return shortlist(batches, _costs, _front)


def _costs(batch: EvaluationBatch) -> Columns:
    return batch.energy, batch.latency2


def _front(columns: Columns) -> Rows:
    energy, latency = columns
    return front_rows(energy, latency)
