"""The mappings of a layer between which energy is traded for latency."""

from __future__ import annotations

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.evaluation.cme import CostModelEvaluation, Objective
from nestmap.model.evaluation.result import LayerResult, NetworkEvaluation, SearchStatistics
from nestmap.model.hardware.vector_unit import VectorEvaluation


class LayerFront(Frozen, frozen=True):
    """The mappings of a layer than which none found is better in energy or latency at no cost.

    By rising energy and falling latency; ``statistics`` count what the search looked at;
    ``repeats`` names an earlier layer that has the same content and front.
    """

    cmes: tuple[CostModelEvaluation, ...] = Field(min_length=1)
    statistics: SearchStatistics = SearchStatistics()
    repeats: str | None = None

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return self.cmes[0].layer

    def best(self, objective: Objective) -> LayerResult:
        """The one with the least of the objective: the best of all mappings that were found."""
        chosen = min(self.cmes, key=objective.of)
        return LayerResult(cme=chosen, statistics=self.statistics, repeats=self.repeats)


class NetworkFront(Frozen, frozen=True):
    """The fronts of all layers of a workload; its vector operators cost what they cost.

    ``vector_counted``: whether the totals of :meth:`best` include them.
    """

    layers: tuple[LayerFront, ...] = Field(min_length=1)
    vector: tuple[VectorEvaluation, ...] = ()
    vector_counted: bool = False

    def best(self, objective: Objective) -> NetworkEvaluation:
        """The best mapping of each layer, and their sum."""
        return NetworkEvaluation(
            layers=tuple(front.best(objective) for front in self.layers),
            vector=self.vector,
            vector_counted=self.vector_counted,
        )
