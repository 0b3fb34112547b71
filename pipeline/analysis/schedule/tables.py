"""The tables behind pictures of a schedule: rows and bars of its Gantt chart, use of what it has.

Times are in cycles. What there are thousands of are columns: arrays of equal length.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.top_memories import TopMemory

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NONE = -1
"""In a column of places: there is none."""


class RowKind(StrEnum):
    """What a row of a Gantt chart is."""

    CORE = "core"
    WIRE = "wire"
    """A link or a bus between cores."""
    OFFCHIP = "offchip"
    """A link or a bus to or from the memory off the chip."""


class Row(NamedTuple):
    """A row of a Gantt chart: a core, by its number, or a wire, by its place among all wires."""

    kind: RowKind
    number: int
    name: str


class BarKind(IntEnum):
    """What happens during a bar; transfers are numbered from 1 as their kinds are from 0."""

    NODE = 0
    """A node runs."""
    CONSTANT = 1
    ACTIVATION = 2
    EVICTION = 3
    RESULT = 4
    STREAM = 5
    """An operand that does not fit the core passes while its node runs."""


@final
@dataclass(frozen=True, eq=False)
class GanttBars:
    """The bars of a Gantt chart, as columns: row by row, in a row by time; none overlaps another.

    ``row`` is a place among the rows, ``kind`` a :class:`BarKind`, ``event`` the row of that node,
    transfer or stream in the schedule, ``layer`` the place of the layer that runs, or whose tensor
    is sent. ``count``: so many events are one bar: one tensor that is sent to several cores at the
    same time, streams that share a wire, or bars too narrow to be seen. Of these, kind, event and
    layer are those that take most of it; of others those of the first one.
    """

    row: Ints
    start: Ints
    end: Ints
    kind: Ints
    event: Ints
    layer: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.row)


class StallReason(IntEnum):
    """Why a core is idle: what the node that it runs next waits for."""

    PREDECESSOR = 0
    """For nodes on other cores that it reads from."""
    TRANSFER = 1
    """For a tensor on its way, or for the wires on that way."""
    MEMORY = 2
    """For room in a memory."""
    NOTHING = 3
    """There is no next node: all of this core have run."""


@final
@dataclass(frozen=True, eq=False)
class Stalls:
    """Times in which cores are idle, as columns: row by row, in a row by time.

    ``reason`` is a :class:`StallReason`, ``node`` the one that waits; ``NONE`` at the end.
    """

    row: Ints
    start: Ints
    end: Ints
    reason: Ints
    node: Ints

    def __len__(self) -> int:
        return len(self.row)


class Cause(IntEnum):
    """Why a step of the critical path did not start sooner: what the step before it was to it."""

    START = 0
    """It is the first step."""
    DATA = 1
    """It makes or brings a tensor that is needed."""
    CORE = 2
    """It runs on the same core."""
    WIRE = 3
    """It takes the same wire."""
    MEMORY = 4
    """Room is there only after it."""


@final
@dataclass(frozen=True, eq=False)
class CriticalPath:
    """What must be faster for the schedule to end sooner, as columns, from the start to the end.

    Nodes and transfers, ``kind`` and ``event`` as of bars; ``cause`` is a :class:`Cause`. Each step
    starts when the one before it ends, or later where the time between is spent waiting for room.
    """

    kind: Ints
    event: Ints
    start: Ints
    end: Ints
    cause: Ints

    def __len__(self) -> int:
        return len(self.kind)


@final
@dataclass(frozen=True, eq=False)
class Gantt:
    """A schedule as a Gantt chart: cores, then the wires that are used, off the chip the last.

    ``path_rows`` is the row of each step of the critical path, ``NONE`` where it has none.
    """

    rows: tuple[Row, ...]
    layers: tuple[str, ...]
    bars: GanttBars
    stalls: Stalls
    critical: CriticalPath
    path_rows: Ints
    latency: int


@final
@dataclass(frozen=True, eq=False)
class MemoryUse:
    """What a memory holds: ``bits[i]`` from ``times[i]`` on; both are empty where it is not used.

    ``place`` is that among the :class:`~nestmap.model.multicore.top_memories.TopMemories`,
    ``peak`` the most bits at any time.
    """

    place: int
    home: TopMemory
    offchip: bool
    peak: int
    times: Ints
    bits: Ints

    @property
    def capacity(self) -> int:
        """The bits that fit in it."""
        return self.home.level.instance.size


@final
@dataclass(frozen=True, eq=False)
class WireUse:
    """How much of the time a wire is taken, in bins: cycles by kind (rows, ``BarKind``) and bin.

    A stream that takes a part of the bandwidth takes that part of a cycle. ``edges`` are the
    borders of the bins, ``busy`` the cycles in which anything is on the wire.
    """

    row: Row
    busy: int
    edges: Ints
    cycles: Floats

    @property
    def shares(self) -> Floats:
        """The share of what the wire could carry in each bin, by kind and bin."""
        found: Floats = self.cycles / np.maximum(np.diff(self.edges), 1)
        return found


class Traffic(NamedTuple):
    """Bits that are sent over a wire, or from one core to another, by :class:`BarKind`."""

    name: str
    bits: tuple[int, ...]

    @property
    def total(self) -> int:
        """Bits of all kinds."""
        return sum(self.bits)


@final
@dataclass(frozen=True, eq=False)
class FrontView:
    """A search for allocations: different individuals, and the best ones up to each generation.

    ``latency`` (cycles), ``energy`` (pJ), ``memory`` (bits) and ``generation``, in which it was
    seen first, have an item for each individual that can be scheduled. ``fronts`` has the places of
    the best ones of each generation, by latency; ``numbers`` which generation that is.
    """

    allocations: tuple[Allocation, ...]
    latency: Ints
    energy: Floats
    memory: Ints
    generation: Ints
    numbers: tuple[int, ...]
    fronts: tuple[Ints, ...]
