"""What a sweep finds of one design: its area, and what each network costs on it."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model.base import Frozen, copy_with
from nestmap.model.design_space.expression_syntax import Value
from nestmap.model.design_space.objective import (
    ObjectiveFormula,
    SweepObjective,
    expression_of,
    objective_part,
)
from nestmap.model.design_space.part_values import SpaceError, number_of
from nestmap.model.design_space.space import Aggregate, Design
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES, DesignQuantity, Objective
from nestmap.model.units import Area, Count, CyclesShare, PicoJoules


class NetworkFigures(Frozen, frozen=True):
    """What a network costs on a design, once.

    ``gap`` is the share by which the optimum of its mappings may be below, as far as it is known;
    0 if they are optimal. ``cut``: whether a limit of time ended a search, so that exploring the
    design again may give other figures.
    """

    network: str
    weight: float
    energy: PicoJoules
    latency: CyclesShare
    gap: float | None = None
    cut: bool = False

    @property
    def counted_energy(self) -> float:
        """Energy (pJ) of ``weight`` times the network."""
        return self.weight * self.energy

    @property
    def counted_latency(self) -> float:
        """Latency (cycles) of ``weight`` times the network, one after the other."""
        return self.weight * self.latency


class DesignResult(Frozen, frozen=True):
    """A design, mapped for an objective: its parameters, its area, what each network costs on it.

    ``number`` is its place among all combinations of values of the space; ``mapped_for`` is what
    the mapping of each layer, or the schedule of each network, minimizes. A design without figures
    has a ``reason``: its description is refused, a layer has no mapping, or an objective has no
    value. ``accelerator`` is the content hash of its accelerator; a refused design has neither it
    nor an area. ``aggregate`` is that of the space: whether energy, latency and energy-delay
    product are sums over the networks, or those of the worst network, each network counted
    ``weight`` times.
    """

    aggregate: Aggregate
    number: Count
    parameters: tuple[tuple[str, Value], ...]
    mapped_for: Objective
    accelerator: str | None = None
    area: Area | None = None
    networks: tuple[NetworkFigures, ...] = ()
    reason: str | None = None

    @property
    def is_feasible(self) -> bool:
        """Whether all networks run on it."""
        return self.reason is None

    @property
    def energy(self) -> float | None:
        """Energy (pJ): the sum over the networks, or the largest."""
        if not self.is_feasible:
            return None
        return self.aggregate.of(x.counted_energy for x in self.networks)

    @property
    def latency(self) -> float | None:
        """Latency (cycles): the sum over the networks, or the largest."""
        if not self.is_feasible:
            return None
        return self.aggregate.of(x.counted_latency for x in self.networks)

    @property
    def edp(self) -> float | None:
        """Energy-delay product (pJ x cycles): of both sums, or the largest of a network."""
        if self.aggregate is Aggregate.WORST and self.is_feasible:
            return max(x.counted_energy * x.counted_latency for x in self.networks)
        energy, latency = self.energy, self.latency
        return None if energy is None or latency is None else energy * latency

    @property
    def gap(self) -> float | None:
        """The largest gap of a network; ``None`` if none is known."""
        return max((x.gap for x in self.networks if x.gap is not None), default=None)

    def figure(self, objective: SweepObjective) -> float | None:
        """The value of an objective; ``None`` if the design is infeasible.

        Raises:
            SpaceError: where an expression has no value that is a number.
            KeyError: where a name in it is not one of a quantity or a parameter.
        """
        if not self.is_feasible:
            return None
        match objective:
            case ObjectiveFormula(of=expression):
                return number_of(str(objective), expression, self._known)
            case DesignQuantity():
                return self.area
            case Objective.ENERGY:
                return self.energy
            case Objective.LATENCY:
                return self.latency
            case Objective.EDP:
                return self.edp

    def with_objectives(self, objectives: Sequence[SweepObjective]) -> DesignResult:
        """The design; infeasible, with the reason, if an objective has no finite value.

        It keeps what its networks cost, which other objectives may need.
        """
        if not self.is_feasible:
            return self
        for n, objective in enumerate(objectives):
            try:
                number_of(objective_part(n), expression_of(objective), self._known)
            except SpaceError as error:
                return copy_with(self, {"reason": str(error)})
        return self

    @property
    def _known(self) -> dict[str, Value]:
        """The values of names in expressions."""
        quantities = {x.value: self.figure(x) for x in DESIGN_OBJECTIVES}
        found = {name: value for name, value in quantities.items() if value is not None}
        return {**dict(self.parameters), **found}

    def __str__(self) -> str:
        return str(Design(self.number, self.parameters))
