"""Tables behind the pictures of a schedule: rows and bars of its Gantt chart, resource use.

Times are in cycles. Long tables are columns: arrays of equal length.
"""

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
"""In a column of positions: none."""


class RowKind(StrEnum):
    """The kind of a row in a Gantt chart."""

    CORE = "core"
    WIRE = "wire"
    """A link or bus between cores."""
    OFFCHIP = "offchip"
    """A link or bus to or from the off-chip memory."""


class Row(NamedTuple):
    """A row of a Gantt chart: a core (by number), or a channel (by position among all channels)."""

    kind: RowKind
    number: int
    name: str


class BarKind(IntEnum):
    """The kind of a bar; kinds of transfers start at 1 here and at 0 in the schedule."""

    NODE = 0
    """A node runs."""
    CONSTANT = 1
    ACTIVATION = 2
    EVICTION = 3
    RESULT = 4
    STREAM = 5
    """An operand that does not fit the core is streamed while its node runs."""


@final
@dataclass(frozen=True, eq=False)
class GanttBars:
    """The bars of a Gantt chart as columns, sorted by row and time; bars do not overlap.

    ``row`` is a position among the rows, ``kind`` a :class:`BarKind`, ``event`` the row of the
    node, transfer or stream in the schedule, ``layer`` the position of the layer that runs or whose
    tensor is sent. ``count`` is the number of events in the bar: one tensor sent to several cores
    at the same time, streams that share a channel, or bars too narrow to be seen. In the last case,
    kind, event and layer are those with the largest share of the time; otherwise those of the first
    event.
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
    """Why a core is idle: the dependency of its next node."""

    PREDECESSOR = 0
    """Waits for predecessors on other cores."""
    TRANSFER = 1
    """Waits for a transfer, or for the channels of its route."""
    MEMORY = 2
    """Waits for capacity in a memory."""
    NOTHING = 3
    """No next node: all nodes of this core have run."""


@final
@dataclass(frozen=True, eq=False)
class Stalls:
    """Idle times of cores as columns, sorted by row and time.

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
    """Why a step of the critical path did not start sooner: its relation to the previous step."""

    START = 0
    """The first step."""
    DATA = 1
    """The previous step produces or transfers a required tensor."""
    CORE = 2
    """The previous step runs on the same core."""
    WIRE = 3
    """The previous step takes the same channel."""
    MEMORY = 4
    """The previous step frees capacity."""


@final
@dataclass(frozen=True, eq=False)
class CriticalPath:
    """The critical path as columns, from the start to the end of the schedule.

    Its steps are nodes and transfers. ``kind`` and ``event`` are as for bars; ``cause`` is a
    :class:`Cause`. Each step starts when the one before it ends, or later if it waits for capacity.
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
    """A schedule as a Gantt chart: cores, then the channels in use, off-chip channels last.

    ``path_rows`` is the row of each step of the critical path, ``NONE`` if it has none.
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
    """The usage of a memory: ``bits[i]`` from ``times[i]`` on; both empty if it is not used.

    ``place`` is its position in the :class:`~nestmap.model.multicore.top_memories.TopMemories`,
    ``peak`` the maximum of bits over time.
    """

    place: int
    home: TopMemory
    offchip: bool
    peak: int
    times: Ints
    bits: Ints

    @property
    def capacity(self) -> int:
        """The capacity in bits."""
        return self.home.level.instance.size


@final
@dataclass(frozen=True, eq=False)
class WireUse:
    """The occupancy of a channel over time: cycles by kind (rows, ``BarKind``) and bin.

    A stream with a share of the bandwidth occupies that share of each cycle. ``edges`` are the
    borders of the bins, ``busy`` the cycles in which the channel is in use.
    """

    row: Row
    busy: int
    edges: Ints
    cycles: Floats

    @property
    def shares(self) -> Floats:
        """The utilization of the channel in each bin, by kind and bin."""
        found: Floats = self.cycles / np.maximum(np.diff(self.edges), 1)
        return found


class Traffic(NamedTuple):
    """Bits sent over a channel, or from one core to another, by :class:`BarKind`."""

    name: str
    bits: tuple[int, ...]

    @property
    def total(self) -> int:
        """Bits of all kinds."""
        return sum(self.bits)


@final
@dataclass(frozen=True, eq=False)
class FrontView:
    """A search for allocations: distinct individuals, and the Pareto front of each generation.

    ``latency`` (cycles), ``energy`` (pJ), ``memory`` (bits) and the ``generation`` of its first
    appearance have a value for each feasible individual. ``fronts`` has the positions of the Pareto
    front of each generation, by latency; ``numbers`` has the numbers of these generations.
    """

    allocations: tuple[Allocation, ...]
    latency: Ints
    energy: Floats
    memory: Ints
    generation: Ints
    numbers: tuple[int, ...]
    fronts: tuple[Ints, ...]
