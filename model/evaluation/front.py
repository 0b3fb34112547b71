"""Pareto fronts in energy and latency: of a layer, and of all layers of a network."""

import numpy as np
from pydantic import Field

from nestmap.model.arrays import Floats, Rows
from nestmap.model.base import Frozen
from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.evaluation.objective import Objective, objective_bound
from nestmap.model.evaluation.result import (
    InfeasibleLayer,
    LayerResult,
    NetworkEvaluation,
    OnChip,
    SearchStatistics,
)
from nestmap.model.hardware.vector_unit import VectorEvaluation

# --- the Pareto filter: non-dominated rows among many energies and latencies ---


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


class LayerFront(Frozen, frozen=True):
    """The Pareto-optimal mappings of a layer in energy and latency.

    Sorted by ascending energy, and so by descending latency. ``statistics`` describe the search;
    ``repeats`` names an earlier layer with the same content and front.
    """

    cmes: tuple[CostModelEvaluation, ...] = Field(min_length=1)
    statistics: SearchStatistics = SearchStatistics()
    repeats: str | None = None

    @property
    def gap(self) -> float | None:
        """How far points may be off, ``None`` if it is not known.

        Every mapping of the space searched has a point here whose energy and latency are both at
        most this share above its own. Exactly 0 if the front is complete.
        """
        return self.statistics.front_gap

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return self.cmes[0].layer

    def best(self, objective: Objective) -> LayerResult:
        """The mapping with the lowest objective, which is the best of all mappings evaluated."""
        chosen = min(self.cmes, key=objective.of)
        return LayerResult(
            cme=chosen,
            statistics=self.statistics,
            repeats=self.repeats,
            bound=objective_bound(self.statistics.bounds, objective),
        )


class NetworkFront(Frozen, frozen=True):
    """The fronts of all layers of a workload, and the costs of its vector operators.

    ``vector_counted``: whether the totals of :meth:`best` include the vector operators.
    ``infeasible`` are the layers without a mapping. ``on_chip``: where the tensors between layers
    stay, if they may be kept on chip.
    """

    layers: tuple[LayerFront, ...] = Field(min_length=1)
    vector: tuple[VectorEvaluation, ...] = ()
    vector_counted: bool = False
    infeasible: tuple[InfeasibleLayer, ...] = ()
    on_chip: OnChip | None = None

    def best(self, objective: Objective) -> NetworkEvaluation:
        """The best mapping of each layer for the objective, with their totals."""
        return NetworkEvaluation(
            layers=tuple(front.best(objective) for front in self.layers),
            vector=self.vector,
            vector_counted=self.vector_counted,
            infeasible=self.infeasible,
            on_chip=self.on_chip,
        )
