"""Results of a search: of a layer, of a network, and the statistics of the search."""

from __future__ import annotations

from pydantic import model_validator

from nestmap.model.base import Frozen
from nestmap.model.evaluation.cme import CostModelEvaluation, Utilization
from nestmap.model.hardware.vector_unit import VectorEvaluation
from nestmap.model.units import Area, Count, Cycles, CyclesShare, NanoSeconds, PicoJoules


class Infeasibility(Frozen, frozen=True):
    """The number of candidates rejected for one reason."""

    reason: str
    count: Count


class SearchStatistics(Frozen, frozen=True):
    """The counts of a search: mappings evaluated, and rejected candidates by reason.

    ``pruned`` counts the spatial mappings skipped because their lower bounds show that none of
    their mappings can improve on those found before.
    """

    evaluations: Count = 0
    infeasible: tuple[Infeasibility, ...] = ()
    pruned: Count = 0

    def __add__(self, other: SearchStatistics) -> SearchStatistics:
        counts = {entry.reason: entry.count for entry in self.infeasible}
        for entry in other.infeasible:
            counts[entry.reason] = counts.get(entry.reason, 0) + entry.count
        return SearchStatistics(
            evaluations=self.evaluations + other.evaluations,
            infeasible=tuple(Infeasibility(reason=r, count=n) for r, n in counts.items()),
            pruned=self.pruned + other.pruned,
        )


class LayerResult(Frozen, frozen=True):
    """The mapping chosen for a layer, and the statistics of its search.

    ``repeats`` names an earlier layer with the same content, mapping and cost.
    """

    cme: CostModelEvaluation
    statistics: SearchStatistics = SearchStatistics()
    repeats: str | None = None


class NetworkEvaluation(Frozen, frozen=True):
    """The results of all layers of a workload; totals are sums over the layers.

    ``vector`` are the vector operators. With ``vector_counted``, energy, latency and everything
    derived from them include the vector operators; otherwise totals are those of the array alone.
    """

    layers: tuple[LayerResult, ...]
    vector: tuple[VectorEvaluation, ...] = ()
    vector_counted: bool = False

    @model_validator(mode="after")
    def _check_layers(self) -> NetworkEvaluation:
        if not self.layers:
            raise ValueError("no layer was evaluated; expected at least one")
        return self

    @property
    def energy(self) -> PicoJoules:
        """Energy of all layers, and of the vector operators if they are counted."""
        layers = sum(result.cme.energy for result in self.layers)
        return layers + self.vector_energy if self.vector_counted else layers

    @property
    def latency(self) -> CyclesShare:
        """Cycles of all layers in sequence, and of the vector operators if they are counted."""
        layers = sum(result.cme.latency for result in self.layers)
        return layers + self.vector_latency if self.vector_counted else layers

    @property
    def vector_energy(self) -> PicoJoules:
        """Energy of all vector operators."""
        return sum((entry.energy for entry in self.vector), 0.0)

    @property
    def vector_latency(self) -> Cycles:
        """Cycles of all vector operators, executed in sequence."""
        return sum(entry.latency for entry in self.vector)

    @property
    def static_energy(self) -> PicoJoules:
        """Leakage energy of everything counted; 0 if the accelerator does not count leakage."""
        layers = sum((result.cme.static_energy for result in self.layers), 0.0)
        vector = sum((entry.static_energy for entry in self.vector), 0.0)
        return layers + vector if self.vector_counted else layers

    @property
    def area(self) -> Area:
        """Area of the accelerator as used by the layer that uses most of it."""
        return self.largest.area

    @property
    def largest(self) -> CostModelEvaluation:
        """The evaluation of the layer that uses most of the accelerator.

        Layers whose data stays on chip may not use the outer memories.
        """
        return max((result.cme for result in self.layers), key=lambda cme: cme.area)

    @property
    def clock_period(self) -> NanoSeconds | None:
        """The clock period (ns), if it is known."""
        return self.layers[0].cme.clock_period

    @property
    def edp(self) -> float:
        """Energy-delay product of the whole network, in pJ x cycles."""
        return self.energy * self.latency

    @property
    def macs(self) -> Count:
        """Multiply-accumulates of all layers."""
        return sum(result.cme.macs for result in self.layers)

    @property
    def ideal_cycles(self) -> Cycles:
        """Cycles at full use of the array."""
        return sum(result.cme.ideal_cycles for result in self.layers)

    @property
    def utilization(self) -> Utilization:
        """Ideal cycles over latency."""
        return self.ideal_cycles / self.latency

    @property
    def evaluations(self) -> Count:
        """Number of mappings evaluated."""
        return sum(result.statistics.evaluations for result in self.layers)
