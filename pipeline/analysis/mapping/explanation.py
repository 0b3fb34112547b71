"""The parts of an explanation of a mapping: loop nest, ports, latency, energy, what-if."""

from __future__ import annotations

from enum import StrEnum

from pydantic import model_validator

from nestmap.model import (
    Cuts,
    Dataflow,
    Frozen,
    Loop,
    Movement,
    PartEnergy,
    PortKind,
    SpatialMapping,
    StaticEnergy,
)
from nestmap.model.dims import ArrayDimension, LayerOperand
from nestmap.model.evaluation.cme import Utilization
from nestmap.model.units import Bits, Count, Cycles, CyclesShare, PicoJoules, Width


class ParallelLoops(Frozen, frozen=True):
    """The loops unrolled over one array dimension, and its number of units."""

    array_dimension: ArrayDimension
    units: Count
    loops: tuple[Loop, ...]


class Tile(Frozen, frozen=True):
    """The tile of an operand in one instance of a memory, and its reuse.

    ``cut`` is the number of loops, counted from the innermost, that the mapping assigns to this
    level and those below. Loops above the cut that are irrelevant to the operand reuse the tile: it
    stays in place for the innermost ``stays`` loops. ``fills`` is how often a tile is loaded.
    ``share`` is the tile's share of the ``capacity`` of the memory, of which there are
    ``instances``.
    """

    operand: LayerOperand
    memory: str
    level: int
    cut: Count
    stays: Count
    fills: Count
    elements: Count
    bits: Bits
    capacity: Bits
    share: Utilization
    instances: Count
    double_buffered: bool


class LoopNest(Frozen, frozen=True):
    """The mapping as a loop nest; ``order`` starts with the innermost temporal loop.

    ``dataflows`` are those that it has in memories of which the array has several, if any loop runs
    for which data has to stay.
    """

    statement: str
    order: tuple[Loop, ...]
    parallel: tuple[ParallelLoops, ...]
    tiles: tuple[Tile, ...]
    dataflows: tuple[Dataflow, ...] = ()


class LatencyPart(StrEnum):
    """The components of the latency, in the order in which they are added."""

    IDEAL = "ideal"
    IDLE_UNITS = "idle units"
    STALL = "stall"
    ONLOADING = "on-loading"
    OFFLOADING = "off-loading"
    DRAIN = "drain"


class LatencyStep(Frozen, frozen=True):
    """One component of the latency; ``end`` is the sum up to and including it."""

    part: LatencyPart
    cycles: CyclesShare
    end: CyclesShare


class Waterfall(Frozen, frozen=True):
    """The latency, from its ideal value to the total."""

    steps: tuple[LatencyStep, ...]
    total: CyclesShare

    @model_validator(mode="after")
    def _adds_up(self) -> Waterfall:
        end = 0.0
        for step in self.steps:
            end += step.cycles
            if step.end != end:
                raise ValueError(f"{step.part} ends at {step.end} cycles; expected {end}, the sum")
        if end != self.total:
            raise ValueError(f"parts of {end} cycles; expected {self.total} together")
        return self

    def cycles_of(self, part: LatencyPart) -> CyclesShare:
        """The cycles of one component."""
        return next(step.cycles for step in self.steps if step.part is part)


class PortName(Frozen, frozen=True):
    """A port of a memory."""

    memory: str
    port: str


class PortTransfer(Frozen, frozen=True):
    """One transfer of an operand through a port, from one memory to another.

    It moves ``bits``, ``times`` times. Each move needs ``needed`` cycles and may take ``allowed``
    cycles without a stall. With ``ahead``, the memory closer to the array double-buffers the tile,
    and all cycles are allowed. ``loading`` are the cycles of the first transfer (of inputs) or the
    last one (of outputs) before or after computation, if its path includes this transfer.
    ``source`` and ``target`` are memories; ``None`` is the array.
    """

    operand: LayerOperand
    movement: Movement
    source: str | None
    target: str | None
    ahead: bool
    bits: Bits
    times: Count
    needed: Cycles
    allowed: Cycles
    loading: CyclesShare

    @property
    def near(self) -> str | None:
        """The end closer to the array."""
        upwards = self.movement in (Movement.WR_BY_LOW, Movement.RD_TO_HIGH)
        return self.source if upwards else self.target


class PortTraffic(Frozen, frozen=True):
    """A port and its transfers, which keep it ``busy``; a negative ``stall`` is slack (cycles)."""

    name: PortName
    kind: PortKind
    width_min: Width
    width_max: Width
    stall: int
    busy: Cycles
    transfers: tuple[PortTransfer, ...]


class Bound(StrEnum):
    """The kind of bottleneck of a layer under this mapping."""

    PORT = "port"
    """A port stalls the array during computation."""
    HOPS = "hops"
    """Links between units stall the array."""
    LOADING = "loading"
    """No port stalls the array, but the first data must be loaded and the last results stored."""
    ARRAY = "array"
    """The array itself: it computes all the time."""


class HandedOn(Frozen, frozen=True):
    """An operand that units hand on from a memory or up to it, ``busy`` cycles over each link."""

    operand: LayerOperand
    memory: str
    busy: Cycles


class Binding(Frozen, frozen=True):
    """The bottleneck: the ports or hops with the largest stall, the slowest in loading, or none.

    ``cycles`` are those of the stall, or of on-loading and off-loading together.
    """

    bound: Bound
    ports: tuple[PortName, ...]
    cycles: CyclesShare
    hops: tuple[HandedOn, ...] = ()


class EnergyKind(StrEnum):
    """The consumers of energy."""

    ARRAY = "array"
    MEMORY = "memory"
    LEAKAGE = "leakage"


class EnergyPart(Frozen, frozen=True):
    """The energy (pJ) of the array, a memory or leakage."""

    kind: EnergyKind
    name: str
    energy: PicoJoules


class EnergyBreakdown(Frozen, frozen=True):
    """The energy (pJ) of array, memories and leakage, with their known components.

    ``array_parts`` are given for in-memory computing arrays, ``leaking`` if the accelerator models
    leakage.
    """

    total: PicoJoules
    parts: tuple[EnergyPart, ...]
    array_parts: tuple[PartEnergy, ...]
    leaking: tuple[StaticEnergy, ...]


class Change(StrEnum):
    """A change of the accelerator or of the mapping whose effect is evaluated."""

    SPATIAL = "spatial mapping"
    """Unrolls other loops, and orders the rest anew."""

    PORT = "port"
    """Doubles the maximum width of one port, at the same energy per bit."""
    BINDING_PORTS = "binding ports"
    """Doubles the ports that stall most, then the next ones, as long as the latency falls."""
    EVERY_PORT = "every port"
    """Doubles the maximum width of all ports of all memories."""
    HOPS = "hops"
    """Doubles what links between units move in a cycle."""
    CAPACITY = "capacity"
    """Doubles a memory for the same mapping; energy per access and leakage double, too."""
    CAPACITY_FILLED = "capacity, reallocated"
    """Doubles a memory and reallocates memories for the same loop order, as LOMA does."""
    FILLED = "reallocated"
    """Reallocates memories for the same loop order and changes nothing else."""


class WhatIf(Frozen, frozen=True):
    """The cost of the layer on a changed accelerator, evaluated, not estimated.

    ``cuts`` are those of the mapping if memories were reallocated, else empty. ``spatial_mapping``
    is given if it differs from that of the layer.
    """

    change: Change
    memory: str | None = None
    ports: tuple[PortName, ...] = ()
    latency: CyclesShare
    energy: PicoJoules
    stall: Cycles
    cuts: tuple[Cuts, ...] = ()
    spatial_mapping: SpatialMapping | None = None
