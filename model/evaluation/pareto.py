"""The Pareto filter: non-dominated rows among many energies and latencies."""

from __future__ import annotations

import numpy as np

from nestmap.model.arrays import Floats, Rows


def front_rows(energy: Floats, latency: Floats) -> Rows:
    """The Pareto-optimal rows in energy and latency.

    In order of ascending energy, and so of descending latency. Of equal rows, the first.
    """
    rows = _candidates(energy, latency)
    rows = rows[np.lexsort((latency[rows], energy[rows]))]
    lowest = np.minimum.accumulate(latency[rows])
    improves = np.ones(len(rows), np.bool_)
    improves[1:] = lowest[1:] < lowest[:-1]
    return rows[improves]


def _candidates(energy: Floats, latency: Floats) -> Rows:
    """Rows that the row with the lowest energy-delay product does not dominate: few are left."""
    if not len(energy):
        return np.arange(0)
    best = np.argmin(energy * latency)
    hopeful = (energy < energy[best]) | (latency < latency[best])
    hopeful |= (energy == energy[best]) & (latency == latency[best])
    return np.flatnonzero(hopeful)
