"""The cost model evaluation (CME) of one mapping."""

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand, Movement, PaddedLoop
from nestmap.model.display import costs_text
from nestmap.model.hardware.components import PartArea, PartEnergy, StaticEnergy
from nestmap.model.mapping.constraints import OperandLink
from nestmap.model.mapping.dataflow import Dataflow
from nestmap.model.mapping.spatial import SpatialMapping
from nestmap.model.mapping.temporal import TemporalMapping
from nestmap.model.units import Area, AreaUnit, Count, Cycles, CyclesShare, NanoSeconds, PicoJoules

Utilization = float
"""A utilization as a fraction; 1 is full use."""


class MovementCosts(Frozen, frozen=True):
    """Word accesses and energies (pJ) of one operand at one memory level, by movement.

    Each tuple follows the order of :data:`nestmap.model.MOVEMENTS`.
    """

    accesses: tuple[Count, Count, Count, Count]
    energies: tuple[PicoJoules, PicoJoules, PicoJoules, PicoJoules]

    def accesses_of(self, movement: Movement) -> Count:
        """Word accesses of one movement."""
        return self.accesses[tuple(Movement).index(movement)]

    def energy_of(self, movement: Movement) -> PicoJoules:
        """Energy of one movement."""
        return self.energies[tuple(Movement).index(movement)]

    @property
    def energy(self) -> PicoJoules:
        """Energy of all movements."""
        return sum(self.energies)


class LevelEvaluation(Frozen, frozen=True):
    """One operand at one memory level.

    ``elements`` and ``bits`` are what one instance holds; ``utilization`` is ``bits`` over the size
    of the memory, ``shared_utilization`` the sum over all operands in that memory. The effective
    utilizations count only live data, as if data were replaced immediately after its last use.
    """

    operand: LayerOperand
    memory: str
    level: int = Field(ge=0)
    costs: MovementCosts
    elements: Count
    bits: Count
    utilization: Utilization
    shared_utilization: Utilization
    effective_utilization: Utilization
    effective_shared_utilization: Utilization
    double_buffered: bool


class PortStall(Frozen, frozen=True):
    """Stall (positive) or slack (negative) of a physical port, in cycles.

    ``busy`` is how long it needs for all that it moves; ``None``: recorded before this was counted.
    """

    memory: str
    port: str
    stall: int
    busy: Cycles | None = None


class HopStall(Frozen, frozen=True):
    """Stall (positive) or slack (negative) of hops between units, in cycles.

    ``busy`` is how long each of the links needs over which units hand on the words of an operand
    that come from its memory ``level`` (0: innermost) or go up to it.
    """

    operand: LayerOperand
    level: int = Field(ge=0)
    stall: int
    busy: Cycles


class CostModelEvaluation(Frozen, frozen=True):
    """The cost of one layer under one mapping.

    Energies in pJ, latencies in cycles. ``latency0`` is computation with stalls, ``latency1`` adds
    loading the first data, ``latency2`` storing the last data and draining a systolic array;
    ``latency`` is ``latency2``. ``area`` is the area of the accelerator, ``areas`` its parts.
    ``array_energies`` are the parts of ``mac_energy`` of an IMC array. ``static_energies`` are
    given if the accelerator counts leakage, ``clock_period`` (ns) if it is known.

    Source: Mei et al., IEEE TC 2021 and DATE 2022; docs/cost-model.md#energy and
    docs/cost-model.md#latency.
    """

    layer: str
    operator: str
    accelerator: str
    macs: Count
    spatial_mapping: SpatialMapping
    temporal_mapping: TemporalMapping
    mac_energy: PicoJoules
    memory_energy: PicoJoules
    levels: tuple[LevelEvaluation, ...]
    port_stalls: tuple[PortStall, ...]
    ideal_cycles: Cycles
    ideal_temporal_cycles: Cycles
    stall: Cycles
    onloading: CyclesShare
    offloading: CyclesShare
    drain: Cycles
    area: Area
    area_unit: AreaUnit | None = None
    areas: tuple[PartArea, ...] = ()
    array_energies: tuple[PartEnergy, ...] = ()
    static_energies: tuple[StaticEnergy, ...] = ()
    clock_period: NanoSeconds | None = None
    links: tuple[OperandLink, ...] = ()
    """The memory operand that carried each operand."""
    gated_macs: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Of ``macs``, those that are expected to do nothing because an input is zero."""
    skipped_cycles: Cycles = 0
    """The cycles that computation would take more if the array skipped no zeros."""
    hop_energy: PicoJoules = 0.0
    """Of ``mac_energy``, what units spend to hand on words to their neighbors."""
    hop_stalls: tuple[HopStall, ...] = ()
    """If the array limits hops: where units hand on words, output first."""
    padding: tuple[PaddedLoop, ...] = ()
    """The loops that iterate more often than the network needs; all costs include this work."""
    dataflows: tuple[Dataflow, ...] = ()
    """Those that the mapping has in memories of which the array has several.

    Source: docs/cost-model.md#dataflows.
    """

    def __repr__(self) -> str:
        costs = costs_text(self.latency, self.energy)
        return f"<{type(self).__name__}: {self.layer} on {self.accelerator}, {costs}>"

    __str__ = __repr__

    @property
    def energy(self) -> PicoJoules:
        """Dynamic energy plus, if the accelerator counts leakage, static energy."""
        return self.dynamic_energy + self.static_energy

    @property
    def dynamic_energy(self) -> PicoJoules:
        """Energy of computation and memories."""
        return self.mac_energy + self.memory_energy

    @property
    def static_energy(self) -> PicoJoules:
        """Leakage energy while the layer runs; 0 if the accelerator does not count leakage."""
        if self.clock_period is None:
            return 0.0
        power = sum((entry.power for entry in self.static_energies), 0.0)
        return power * self.clock_period * self.latency

    @property
    def latency0(self) -> Cycles:
        """Cycles of computation with stalls."""
        return self.ideal_temporal_cycles + self.stall

    @property
    def latency1(self) -> CyclesShare:
        """``latency0`` plus on-loading."""
        return self.latency0 + self.onloading

    @property
    def latency2(self) -> CyclesShare:
        """``latency1`` plus off-loading and drain."""
        return self.latency1 + self.offloading + self.drain

    @property
    def latency(self) -> CyclesShare:
        """The total latency, ``latency2``."""
        return self.latency2

    @property
    def overloaded_port(self) -> PortStall | None:
        """The port that is busy for longer than the latency, the busiest; ``None``: there is none.

        Loads that share it overlap in the reference's counting, unless ports are strict.
        Source: docs/cost-model.md#busy-ports.
        """
        busiest = max(self.port_stalls, key=lambda port: port.busy or 0, default=None)
        if busiest is None or (busiest.busy or 0) <= self.latency:
            return None
        return busiest

    @property
    def spatial_utilization(self) -> Utilization:
        """Ideal cycles over the cycles that the actual unrolling needs."""
        return self.ideal_cycles / self.ideal_temporal_cycles

    @property
    def utilizations(self) -> tuple[Utilization, Utilization, Utilization]:
        """Ideal cycles over ``latency0``, ``latency1`` and ``latency2``."""
        ideal = self.ideal_cycles
        return (ideal / self.latency0, ideal / self.latency1, ideal / self.latency2)

    @property
    def utilization(self) -> Utilization:
        """Ideal cycles over ``latency2``."""
        return self.ideal_cycles / self.latency2

    def level(self, operand: LayerOperand, level: int) -> LevelEvaluation:
        """One operand at one of its memory levels (0: innermost).

        Raises:
            KeyError: if there is no such level.
        """
        for entry in self.levels:
            if (entry.operand, entry.level) == (operand, level):
                return entry
        raise KeyError((operand, level))
