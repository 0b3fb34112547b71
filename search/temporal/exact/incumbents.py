"""The best costs that a search knows: what a mapping has to improve on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from nestmap.model import EvaluationBatch, Objective, front_rows
from nestmap.model.arrays import Flags, Floats

Costs = tuple[float, float]
"""Energy (pJ) and latency (cycles) of a mapping."""


@final
@dataclass(frozen=True, slots=True)
class Incumbents:
    """The best costs for an objective, or without one the front of energy and latency.

    Of equals the least energy counts, then the least latency, as in
    :func:`~nestmap.search.best_of`: a search recalled from a store, which has only the front,
    leaves the same incumbent.

    Only costs below a ``share`` of these are an improvement: 1 looks for the optimum.
    """

    objective: Objective | None
    costs: tuple[Costs, ...] = ()
    share: float = 1.0

    def with_batch(self, batch: EvaluationBatch) -> Incumbents:
        """The best of these and of the rows of a batch."""
        if not len(batch):
            return self
        best = self._best(batch.energy, batch.latency2)
        return self.with_costs([(float(batch.energy[i]), float(batch.latency2[i])) for i in best])

    def with_costs(self, costs: Sequence[Costs]) -> Incumbents:
        """The best of these and of others."""
        every = (*self.costs, *costs)
        if not every:
            return self
        energy, latency = np.array(every).T
        best = self._best(energy, latency)
        return replace(self, costs=tuple(every[row] for row in best))

    def _best(self, energy: Floats, latency: Floats) -> list[int]:
        """The rows that are the best, or the front."""
        rows: list[int]
        if self.objective is None:
            rows = front_rows(energy, latency).tolist()
        else:
            values = self.objective.value_of(energy, latency)
            rows = np.lexsort((latency, energy, values))[:1].tolist()
        return rows

    def improved_by(self, energies: Floats, latencies: Floats) -> Flags:
        """Which of these costs are better: a lower objective, or a new point of the front."""
        if self.objective is not None:
            return np.asarray(self.objective.value_of(energies, latencies) < self.limit)
        beaten = np.zeros(len(energies), np.bool_)
        for energy, latency in self.costs:
            beaten |= (energy * self.share <= energies) & (latency * self.share <= latencies)
        return ~beaten

    def value_of(self, energies: Floats, latencies: Floats) -> Floats:
        """The objective of these costs, of a front the energy-delay product."""
        return (self.objective or Objective.EDP).value_of(energies, latencies)

    @property
    def limit(self) -> float:
        """The objective that a mapping has to be below; infinite for a front."""
        if self.objective is None or not self.costs:
            return float("inf")
        energy, latency = np.array(self.costs).T
        return float(self.objective.value_of(energy, latency)[0]) * self.share
