"""Results of a search: of a layer, of a network, and the statistics of the search."""

from __future__ import annotations

from math import sqrt

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand
from nestmap.model.display import costs_text
from nestmap.model.evaluation.cme import CostModelEvaluation, Utilization
from nestmap.model.evaluation.fusion import FusedSegment, SegmentEnd
from nestmap.model.evaluation.objective import (
    CostBounds,
    LimitedCost,
    Objective,
    ObjectiveBound,
    gap_to,
    union_bounds,
)
from nestmap.model.hardware.vector_unit import VectorEvaluation
from nestmap.model.units import Area, Bits, Count, Cycles, CyclesShare, NanoSeconds, PicoJoules


class Infeasibility(Frozen, frozen=True):
    """The number of candidates rejected for one reason."""

    reason: str
    count: Count


class SearchStatistics(Frozen, frozen=True):
    """The counts of a search: mappings evaluated, and rejected candidates by reason.

    ``pruned`` counts the spatial mappings skipped because none of their mappings can improve on
    those found: another one costs the same, or their lower bounds show it. ``bounds`` are lower
    bounds over the space searched, ``None`` if they are not known. ``unproven`` counts the searches
    that a limit ended before they had proven their optimum; ``cut`` those that a limit of time
    ended, so that another run may find more. ``labels`` is the work of the exact search: the
    partial mappings that it followed, which are the same on every machine. ``front_gap`` is known
    of a front: every mapping has a point on it whose energy and latency are both at most this share
    above its own.

    Sums count what several batches or spatial mappings of a layer have together: their bounds are
    those of the union. Bounds that are not known leave those of the others as they are, since only
    one batch of a search carries its bounds.
    """

    evaluations: Count = 0
    infeasible: tuple[Infeasibility, ...] = ()
    pruned: Count = 0
    bounds: CostBounds | None = None
    unproven: Count = 0
    cut: Count = 0
    labels: Count = 0
    front_gap: float | None = Field(default=None, ge=0, le=1)

    def __add__(self, other: SearchStatistics) -> SearchStatistics:
        counts = {entry.reason: entry.count for entry in self.infeasible}
        for entry in other.infeasible:
            counts[entry.reason] = counts.get(entry.reason, 0) + entry.count
        gaps = [x.front_gap for x in (self, other) if x.front_gap is not None]
        return SearchStatistics(
            evaluations=self.evaluations + other.evaluations,
            infeasible=tuple(Infeasibility(reason=r, count=n) for r, n in counts.items()),
            pruned=self.pruned + other.pruned,
            bounds=union_bounds(self.bounds, other.bounds),
            unproven=self.unproven + other.unproven,
            cut=self.cut + other.cut,
            labels=self.labels + other.labels,
            front_gap=max(gaps) if gaps else None,
        )

    @property
    def without_counts(self) -> SearchStatistics:
        """The statistics of a layer that repeats one: no counts, but its bounds hold there too."""
        return SearchStatistics(bounds=self.bounds, front_gap=self.front_gap)


class LayerResult(Frozen, frozen=True):
    """The mapping chosen for a layer, and the statistics of its search.

    ``repeats`` names an earlier layer with the same content, mapping and cost. ``bound`` is a lower
    bound of the objective over the space searched, ``None`` if it is not known.
    """

    cme: CostModelEvaluation
    statistics: SearchStatistics = SearchStatistics()
    repeats: str | None = None
    bound: ObjectiveBound | None = None

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap {self.gap:.2%}"
        costs = costs_text(self.cme.latency, self.cme.energy)
        return f"<{type(self).__name__}: {self.cme.layer}, {costs}{gap}>"

    __str__ = __repr__

    @property
    def gap(self) -> float | None:
        """The share by which the optimum of the space searched may be below this result.

        Exactly 0 if the result is optimal, ``None`` if no bound is known.
        """
        if self.bound is None:
            return None
        return gap_to(self.bound.value, self.bound.objective.of(self.cme))


class InfeasibleLayer(Frozen, frozen=True):
    """A layer for which a search found no mapping that fits.

    ``causes`` count the rejected orders by memory. With ``greedy``, the search tried one allocation
    to memories for each order, as LOMA and SALSA do, so another allocation may fit. ``repeats``
    names an earlier layer with the same content.
    """

    layer: str
    operator: str
    accelerator: str
    causes: tuple[Infeasibility, ...]
    greedy: bool = False
    repeats: str | None = None

    @property
    def reason(self) -> str:
        """Why no mapping fits, and what may find one."""
        causes = "; ".join(f"{x.reason} ({x.count} orders)" for x in self.causes)
        if not self.greedy:
            return f"no loop order fits {self.accelerator}: {causes}"
        return (
            f"the memory allocation of this search found no place for any loop order on "
            f"{self.accelerator}: {causes}; the exact search (--search exact) tries all allocations"
        )

    @property
    def message(self) -> str:
        """The reason, with the name of the layer."""
        return f"layer {self.layer}: {self.reason}"


class KeptTensor(Frozen, frozen=True):
    """What a node writes for others, and the memory in which it stays until the last has read it.

    ``reason`` says why that is the outermost memory, where it is.
    """

    node: str
    operand: LayerOperand
    memory: str
    bits: Bits
    reason: str | None = None


class OutsideCosts(Frozen, frozen=True):
    """What a network costs with all tensors in the outermost memory."""

    energy: PicoJoules
    latency: CyclesShare


class OnChip(Frozen, frozen=True):
    """Where the tensors between layers stay, if a network keeps data on chip.

    ``outside``: what the network costs with all tensors in the outermost memory, vector operators
    as in the total; ``None``: it was not searched, or the mapping fixes memories on chip.
    ``bound``: a lower bound of the total, wherever tensors stay; ``None``: it is not known.
    ``segments`` are the nodes that run tile by tile; ``None``: these were not searched. ``ends``:
    why these, and the layers by themselves, end where they do.
    """

    tensors: tuple[KeptTensor, ...]
    outside: OutsideCosts | None = None
    bound: ObjectiveBound | None = None
    segments: tuple[FusedSegment, ...] | None = None
    ends: tuple[SegmentEnd, ...] = ()


class NetworkEvaluation(Frozen, frozen=True):
    """The results of all layers of a workload; totals are sums over the layers.

    ``infeasible`` are the layers without a mapping; totals are without them. ``vector`` are
    the vector operators. With ``vector_counted``, energy, latency and everything derived from them
    include the vector operators; otherwise totals are those of the array alone. ``limited``: the
    limit under which the mappings were chosen together, if there was one. ``on_chip``: where the
    tensors between layers stay, if they may be kept on chip.
    """

    layers: tuple[LayerResult, ...]
    vector: tuple[VectorEvaluation, ...] = ()
    vector_counted: bool = False
    infeasible: tuple[InfeasibleLayer, ...] = ()
    limited: LimitedCost | None = None
    on_chip: OnChip | None = None

    @model_validator(mode="after")
    def _check_layers(self) -> NetworkEvaluation:
        if not self.layers:
            raise ValueError("no layer was evaluated; expected at least one")
        return self

    def __repr__(self) -> str:
        costs = costs_text(self.latency, self.energy)
        return f"<{type(self).__name__}: {len(self.layers)} layers, {costs}>"

    __str__ = __repr__

    def segment_of(self, layer: str) -> FusedSegment | None:
        """The segment in which a layer runs tile by tile; ``None``: it runs as a whole.

        What such a layer costs is the sum over its tiles, each of which has a mapping of its own.
        """
        segments = (self.on_chip and self.on_chip.segments) or ()
        return next((x for x in segments if layer in x.nodes), None)

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
    def gap(self) -> float | None:
        """The share by which the optimum of all layers together may be below their total.

        ``None`` if no bound is known. That of the energy-delay product may stay open although every
        layer is optimal: its bound is reached where all layers have the same ratio of energy to
        latency.
        """
        bound = self.bound
        if bound is None:
            return None
        return gap_to(bound.value, bound.objective.of(self))

    @property
    def bound(self) -> ObjectiveBound | None:
        """A lower bound of the total; ``None`` unless all layers have one of the same objective.

        Bounds of energy and latency add up. Of the energy-delay product the squares of sums do: by
        the inequality of Cauchy and Schwarz, the product of two sums is at least the square of the
        sum of the roots of the products. Under a limit, it is that of all layers together; where
        tensors may stay on chip, that of all homes; where layers may run together, that of all
        segments and tiles.
        """
        if self.limited is not None:
            return self.limited.bound
        if self.on_chip is not None and self.on_chip.segments is not None:
            return self.on_chip.bound
        bounds = [result.bound for result in self.layers if result.bound is not None]
        objectives = {bound.objective for bound in bounds}
        if len(bounds) < len(self.layers) or len(objectives) != 1:
            return None
        whole = None if self.on_chip is None else self.on_chip.bound
        if whole is not None and objectives == {whole.objective}:
            return whole
        # vector operators have one implementation each, so what they cost is their bound
        vector = (self.vector_energy, float(self.vector_latency)) if self.vector_counted else (0, 0)
        objective = objectives.pop()
        match objective:
            case Objective.ENERGY:
                value = sum(bound.value for bound in bounds) + vector[0]
            case Objective.LATENCY:
                value = sum(bound.value for bound in bounds) + vector[1]
            case Objective.EDP:
                roots = sum(sqrt(bound.value) for bound in bounds) + sqrt(vector[0] * vector[1])
                value = roots**2
        return ObjectiveBound(objective=objective, value=value)

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
