"""What an explanation of a mapping consists of: loop nest, ports, latency, energy, what if."""

from __future__ import annotations

from enum import StrEnum

from pydantic import model_validator

from nestmap.model import Cuts, Frozen, Loop, Movement, PartEnergy, PortKind, StaticEnergy
from nestmap.model.dims import ArrayDimension, LayerOperand
from nestmap.model.evaluation.cme import Utilization
from nestmap.model.units import Bits, Count, Cycles, CyclesShare, PicoJoules, Width


class ParallelLoops(Frozen, frozen=True):
    """The loops unrolled over one array dimension, and how many units it has."""

    array_dimension: ArrayDimension
    units: Count
    loops: tuple[Loop, ...]


class Tile(Frozen, frozen=True):
    """What one instance of a memory holds of an operand, and for how long.

    ``cut`` is how many loops, from the innermost on, the mapping gives to this level and those
    below. Further loops that do not index the operand leave the tile in place: it stays for
    ``stays`` loops, and ``fills`` times another one takes its place, counting the first.
    ``share`` is that of the ``capacity`` of the memory, of which there are ``instances``.
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
    """The mapping as a loop nest; ``order`` has the innermost temporal loop first."""

    statement: str
    order: tuple[Loop, ...]
    parallel: tuple[ParallelLoops, ...]
    tiles: tuple[Tile, ...]


class LatencyPart(StrEnum):
    """What cycles are spent on, in the order in which they add up."""

    IDEAL = "ideal"
    IDLE_UNITS = "idle units"
    STALL = "stall"
    ONLOADING = "on-loading"
    OFFLOADING = "off-loading"
    DRAIN = "drain"


class LatencyStep(Frozen, frozen=True):
    """One part of the latency; ``end`` is the sum of all up to here."""

    part: LatencyPart
    cycles: CyclesShare
    end: CyclesShare


class Waterfall(Frozen, frozen=True):
    """The latency from the ideal one up to what it is."""

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
        """The cycles of one part."""
        return next(step.cycles for step in self.steps if step.part is part)


class PortName(Frozen, frozen=True):
    """A port of a memory."""

    memory: str
    port: str


class PortTransfer(Frozen, frozen=True):
    """One movement of an operand through a port, from one memory to another.

    ``times`` it moves ``bits``, which takes ``needed`` cycles and may take the ``allowed`` ones:
    all of them with ``ahead``, where the memory nearer to the array has room for the next tile
    beside the one in use. ``loading`` are the cycles that the first transfer (of inputs) or the
    last one (of outputs) costs before or after computation, if the path goes through here.
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
        """The end nearer to the array."""
        upwards = self.movement in (Movement.WR_BY_LOW, Movement.RD_TO_HIGH)
        return self.source if upwards else self.target


class PortTraffic(Frozen, frozen=True):
    """A port and what goes through it; ``stall`` is negative where there is slack (cycles)."""

    name: PortName
    kind: PortKind
    width_min: Width
    width_max: Width
    stall: int
    transfers: tuple[PortTransfer, ...]


class Bound(StrEnum):
    """What keeps the layer from being faster under this mapping."""

    PORT = "port"
    """A port: the array waits for it while it computes."""
    LOADING = "loading"
    """Nothing makes it wait meanwhile, but first data have to come in and last results go out."""
    ARRAY = "array"
    """The array itself: it computes all the time."""


class Binding(Frozen, frozen=True):
    """What binds: the ports with the largest stall, or the slowest ones of loading; none else.

    ``cycles`` are those of the stall or of on- and off-loading together.
    """

    bound: Bound
    ports: tuple[PortName, ...]
    cycles: CyclesShare


class EnergyKind(StrEnum):
    """What energy is spent by."""

    ARRAY = "array"
    MEMORY = "memory"
    LEAKAGE = "leakage"


class EnergyPart(Frozen, frozen=True):
    """What the array, a memory or leakage spends (pJ)."""

    kind: EnergyKind
    name: str
    energy: PicoJoules


class EnergyBreakdown(Frozen, frozen=True):
    """Where the energy goes (pJ): array, memories, leakage, and the parts that are known of them.

    ``array_parts`` are those of an array that computes in memory, ``leaking`` is there where the
    accelerator counts leakage.
    """

    total: PicoJoules
    parts: tuple[EnergyPart, ...]
    array_parts: tuple[PartEnergy, ...]
    leaking: tuple[StaticEnergy, ...]


class Change(StrEnum):
    """What is changed about the machine, to see what that gains."""

    PORT = "port"
    """The largest width of one port is twice as large; energy a bit stays the same."""
    BINDING_PORTS = "binding ports"
    """The same of the ports that stall most, and of those that do so then, as long as it helps."""
    EVERY_PORT = "every port"
    """The same of all ports of all memories."""
    CAPACITY = "capacity"
    """A memory is twice as large and the mapping stays; energy an access and leakage do, too."""
    CAPACITY_FILLED = "capacity, filled anew"
    """The same, and the memories are filled anew for the same order of loops, as LOMA does."""
    FILLED = "filled anew"
    """Nothing but that: the memories are filled anew."""


class WhatIf(Frozen, frozen=True):
    """What the layer costs on a changed machine: evaluated, not estimated.

    ``cuts`` are those of the mapping where the memories were filled anew, else none.
    """

    change: Change
    memory: str | None = None
    ports: tuple[PortName, ...] = ()
    latency: CyclesShare
    energy: PicoJoules
    stall: Cycles
    cuts: tuple[Cuts, ...] = ()
