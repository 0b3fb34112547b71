"""Which of many energies and latencies no other one beats."""

from __future__ import annotations

import numpy as np

from nestmap.model.arrays import Floats, Rows


def front_rows(energy: Floats, latency: Floats) -> Rows:
    """The rows than which no other has less energy or latency without having more of the other.

    By rising energy, and so by falling latency; of equal rows the first.
    """
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
