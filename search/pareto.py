"""The Pareto front of many evaluations, without keeping them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nestmap.model import EvaluationBatch
from nestmap.model.batch import Floats
from nestmap.search.shortlist import Columns, Rows, Shortlist, shortlist


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
    rows = _hopeful(energy, latency)
    rows = rows[np.lexsort((latency[rows], energy[rows]))]
    lowest = np.minimum.accumulate(latency[rows])
    improves = np.ones(len(rows), np.bool_)
    improves[1:] = lowest[1:] < lowest[:-1]
    return rows[improves]


def _hopeful(energy: Floats, latency: Floats) -> Rows:
    """Rows that the least energy-delay product does not dominate: mostly few are left to sort."""
    if not len(energy):
        return np.arange(0)
    best = np.argmin(energy * latency)
    hopeful = (energy < energy[best]) | (latency < latency[best])
    hopeful |= (energy == energy[best]) & (latency == latency[best])
    return np.flatnonzero(hopeful)
