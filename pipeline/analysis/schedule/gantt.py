"""Builds the Gantt chart of a schedule: a row for each core and channel."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Final, final

import numpy as np

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.model.multicore.top_memories import NO_MEMORY, TopMemories
from nestmap.pipeline.analysis.schedule.downsample import downsample_bars
from nestmap.pipeline.analysis.schedule.link_occupancy import (
    FIRST_TRANSFER,
    WireOccupancy,
    join_streams,
    wire_occupancy,
    wire_rows,
)
from nestmap.pipeline.analysis.schedule.stalls import stalls
from nestmap.pipeline.analysis.schedule.tables import (
    NONE,
    BarKind,
    Cause,
    CriticalPath,
    Gantt,
    GanttBars,
    Ints,
    Row,
    RowKind,
)

# --- finds the critical path of a schedule: the chain of events that determines the latency ---

# --- draws the critical path as a line through the rows of a Gantt chart ---


def path_rows(schedule: Schedule, path: CriticalPath, rows: Sequence[Row]) -> Ints:
    """The row of each step, ``NONE`` if it has none; with several channels, the slowest one."""
    ways = Interconnect(accelerator=schedule.problem.accelerator)
    place = {(row.kind is RowKind.CORE, row.number): i for i, row in enumerate(rows)}
    found: list[int] = []
    for kind, event in zip(path.kind.tolist(), path.event.tolist(), strict=True):
        if kind == BarKind.NODE:
            found.append(place[True, int(schedule.core[event])])
            continue
        sent = schedule.transfers
        wires = ways.path(int(sent.sending[event]), int(sent.receiving[event]))
        shown = [wire for wire in wires if (False, wire) in place]
        slowest = min(shown, key=lambda x: (ways.channels[x].bandwidth or 0, x), default=None)
        found.append(NONE if slowest is None else place[False, slowest])
    return np.array(found, dtype=np.int64)


# --- numbers the events of a schedule, nodes and transfers, with their dependencies ---

Places = frozenset[int]


@final
class Events:
    """The events of a schedule: first its nodes, then the transfers.

    Off-chip streaming lasts as long as its node, so its channels count as those of the node.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._nodes = len(schedule.core)
        self._ways = Interconnect(accelerator=schedule.problem.accelerator)
        self.start: Ints = np.concatenate((schedule.start, schedule.transfers.start))
        self.end: Ints = np.concatenate((schedule.end, schedule.transfers.end))
        self.wires = cache(self._wires)
        self.needs = cache(self._needs)

    def kind(self, event: int) -> BarKind:
        """The kind of an event."""
        if event < self._nodes:
            return BarKind.NODE
        return BarKind(int(self._schedule.transfers.kind[self.row(event)]) + FIRST_TRANSFER)

    def row(self, event: int) -> int:
        """The event's row in the columns of the schedule."""
        return event if event < self._nodes else event - self._nodes

    def core(self, event: int) -> int | None:
        """The core that runs the event; ``None`` for a transfer."""
        return int(self._schedule.core[event]) if event < self._nodes else None

    def _wires(self, event: int) -> Places:
        """The channels that the event takes; for a node, those of its off-chip streaming."""
        if event < self._nodes:
            return self._streamed_over[event]
        sent, row = self._schedule.transfers, self.row(event)
        return frozenset(self._ways.path(int(sent.sending[row]), int(sent.receiving[row])))

    def _needs(self, event: int) -> Places:
        """The events that produce or transfer its inputs; they end before it starts."""
        if event < self._nodes:
            return self._read_by(event)
        sent, row = self._schedule.transfers, self.row(event)
        tensor, sender = int(sent.tensor[row]), int(sent.sender[row])
        needs = {x for x in self._sendings[tensor] if sent.receiver[self.row(x)] == sender}
        if tensor < self._nodes:
            needs.add(tensor)
        if sent.kind[row] <= TransferKind.ACTIVATION:
            needs |= self._producers[int(sent.node[row])]
        return frozenset(needs) - {event}

    def _read_by(self, node: int) -> Places:
        """The events that produce or transfer the inputs of a node."""
        receiver, homes = self._schedule.transfers.receiver, self.memories(node)
        producers = self._producers[node]
        brought = {
            x for p in producers for x in self._sendings[p] if int(receiver[self.row(x)]) in homes
        }
        return producers | brought | self._brought_for[node]

    def fills(self, event: int) -> Places:
        """The memories in which it needs capacity."""
        if event < self._nodes:
            return self.memories(event)
        return frozenset((int(self._schedule.transfers.receiver[self.row(event)]),))

    def frees(self, event: int) -> Places:
        """The memories in which it may free capacity."""
        if event < self._nodes:
            return self.memories(event)
        return frozenset((int(self._schedule.transfers.sender[self.row(event)]),))

    def memories(self, node: int) -> Places:
        """The outermost memories of the core that runs a node."""
        return self._memories[int(self._schedule.core[node])]

    @cached_property
    def ending(self) -> dict[int, list[int]]:
        """The events that end at each time."""
        found: dict[int, list[int]] = defaultdict(list)
        for event, end in enumerate(self.end.tolist()):
            found[end].append(event)
        return found

    @cached_property
    def _memories(self) -> dict[int, Places]:
        accelerator = self._schedule.problem.accelerator
        homes = TopMemories(accelerator=accelerator)
        return {
            core.id: frozenset(homes.index_of(core.id, operand) for operand in core.top_levels)
            - {NO_MEMORY}
            for core in accelerator.cores
        }

    @cached_property
    def _producers(self) -> list[Places]:
        """The predecessors of each node whose output it reads."""
        found: list[set[int]] = [set() for _ in range(self._nodes)]
        edges = self._schedule.problem.nodes.edges
        rows = np.flatnonzero(edges.read >= 0)
        producers: list[int] = edges.producer[rows].tolist()
        consumers: list[int] = edges.consumer[rows].tolist()
        for producer, consumer in zip(producers, consumers, strict=True):
            found[consumer].add(producer)
        return [frozenset(x) for x in found]

    @cached_property
    def _brought_for(self) -> list[Places]:
        """The transfers of the inputs of each node."""
        sent = self._schedule.transfers
        found: list[set[int]] = [set() for _ in range(self._nodes)]
        for row in np.flatnonzero(sent.kind <= TransferKind.ACTIVATION).tolist():
            found[int(sent.node[row])].add(self._nodes + row)
        return [frozenset(x) for x in found]

    @cached_property
    def _sendings(self) -> dict[int, list[int]]:
        """The transfers of each tensor."""
        found: dict[int, list[int]] = defaultdict(list)
        for row, tensor in enumerate(self._schedule.transfers.tensor.tolist()):
            found[tensor].append(self._nodes + row)
        return found

    @cached_property
    def _streamed_over(self) -> dict[int, Places]:
        """The channels that stream operands while a node runs."""
        found: dict[int, Places] = defaultdict(frozenset)
        streams = self._schedule.streams
        rows = (streams.node.tolist(), streams.sending.tolist(), streams.receiving.tolist())
        for node, sending, receiving in zip(*rows, strict=True):
            found[node] |= frozenset(self._ways.path(sending, receiving))
        return found


def critical_path(schedule: Schedule) -> CriticalPath:
    """The steps up to the last end; each started when the one before it ended.

    Of several candidates for the previous step, the one that made or transferred a required tensor
    comes first, then the previous node on the core, then one on the same channel, then one that
    freed capacity. If there is none (capacity became free at another time), the previous step is
    the dependency that ended last.
    """
    events = Events(schedule)
    steps = list(_backwards(events, schedule.latency))[::-1]
    found = [(events.kind(event), events.row(event), cause) for event, cause in steps]
    kind, row, cause = np.array(found, dtype=np.int64).reshape(-1, 3).T
    places = [event for event, _ in steps]
    return CriticalPath(kind, row, events.start[places], events.end[places], cause)


def _backwards(events: Events, latency: int) -> Iterator[tuple[int, Cause]]:
    """The steps, last one first, and the cause that links each to the previous step."""
    last = events.ending.get(latency, [])
    step = min(last, key=lambda x: (int(events.start[x]), x), default=None)
    seen: set[int] = set()
    while step is not None:
        seen.add(step)
        before, cause = _before(events, step, seen)
        yield step, cause
        step = before


def _before(events: Events, step: int, seen: set[int]) -> tuple[int | None, Cause]:
    """The event that a step waited for; none if it did not wait."""
    start = int(events.start[step])
    if start == 0:
        return None, Cause.START
    ended = (x for x in events.ending.get(start, ()) if x not in seen)
    causes = ((_cause(events, other, step), other) for other in ended)
    known = [(cause, -int(events.start[x]), x) for cause, x in causes if cause is not None]
    if known:
        cause, _, other = min(known)
        return other, cause
    needed = [x for x in events.needs(step) if x not in seen and events.end[x] <= start]
    if not needed:
        return None, Cause.START
    return max(needed, key=lambda x: (int(events.end[x]), -x)), Cause.MEMORY


def _cause(events: Events, other: int, step: int) -> Cause | None:
    """The role of an event that ended when a step started; ``None`` if it has none."""
    if other in events.needs(step):
        return Cause.DATA
    if events.kind(step) is BarKind.NODE and events.core(other) == events.core(step):
        return Cause.CORE
    if events.wires(other) & events.wires(step):
        return Cause.WIRE
    return Cause.MEMORY if events.frees(other) & events.fills(step) else None


# --- builds the Gantt chart of a schedule: a row for each core and channel ---

_SENT: Final = {
    BarKind.CONSTANT: "constants of",
    BarKind.ACTIVATION: "output of",
    BarKind.EVICTION: "evicted, of",
    BarKind.RESULT: "result of",
    BarKind.STREAM: "streamed for",
}


def gantt(schedule: Schedule, cells: int | None = None) -> Gantt:
    """The chart of a schedule.

    With ``cells``, the time is divided into that many cells, and bars narrower than a cell are
    merged (:func:`~nestmap.pipeline.analysis.schedule.downsample.downsample_bars`). Channels of
    unlimited bandwidth have no row.
    """
    rows = gantt_rows(schedule)
    bars = gantt_bars(schedule, rows)
    if cells is not None:
        bars = downsample_bars(bars, max(1, schedule.latency), cells)
    layers = tuple(layer.nest.name for layer in schedule.problem.nodes.layers)
    path = critical_path(schedule)
    return Gantt(
        rows=rows,
        layers=layers,
        bars=bars,
        stalls=stalls(schedule),
        critical=path,
        path_rows=path_rows(schedule, path, rows),
        latency=schedule.latency,
    )


def gantt_rows(schedule: Schedule) -> tuple[Row, ...]:
    """The cores that compute, then the channels in use: between cores, then off-chip."""
    accelerator = schedule.problem.accelerator
    found = _timed(schedule, wire_occupancy(schedule))
    used = set(found.wire.tolist())
    wires = [row for row in wire_rows(accelerator) if row.number in used]
    return (
        *(Row(RowKind.CORE, core.id, core.name) for core in accelerator.compute_cores),
        *(row for row in wires if row.kind is RowKind.WIRE),
        *(row for row in wires if row.kind is RowKind.OFFCHIP),
    )


def gantt_bars(schedule: Schedule, rows: Sequence[Row]) -> GanttBars:
    """All bars: one for each node, and one for each channel that a transfer or a stream takes.

    Transfers of one tensor that share a channel are one bar, as are streams that share a channel.
    """
    found = join_streams(_timed(schedule, wire_occupancy(schedule)))
    nodes = np.arange(len(schedule.core), dtype=np.int64)
    place = {(row.kind is RowKind.CORE, row.number): i for i, row in enumerate(rows)}
    of_core = [place[True, core] for core in schedule.core.tolist()]
    of_wire = [place[False, wire] for wire in found.wire.tolist()]
    events = np.concatenate((nodes, found.event))
    kinds = np.concatenate((np.full(len(nodes), int(BarKind.NODE)), found.kind))
    row = np.array([*of_core, *of_wire], dtype=np.int64)
    start = np.concatenate((schedule.start, found.start))
    order = np.lexsort((start, row))
    return GanttBars(
        row=row[order],
        start=start[order],
        end=np.concatenate((schedule.end, found.end))[order],
        kind=kinds[order],
        event=events[order],
        layer=layers_of_events(schedule, kinds, events)[order],
        count=np.concatenate((np.ones(len(nodes), dtype=np.int64), found.count))[order],
    )


def layers_of_events(schedule: Schedule, kinds: Ints, events: Ints) -> Ints:
    """The position of the layer that runs, or that produces or first reads the tensor."""
    nodes = events.copy()
    streams = kinds == BarKind.STREAM
    transfers = (kinds != BarKind.NODE) & ~streams
    nodes[streams] = schedule.streams.node[events[streams]]
    nodes[transfers] = schedule.tensors.node[schedule.transfers.tensor[events[transfers]]]
    found: Ints = np.searchsorted(schedule.problem.nodes.first_nodes, nodes, side="right") - 1
    return found


def _timed(schedule: Schedule, found: WireOccupancy) -> WireOccupancy:
    """The occupancy of channels of limited bandwidth."""
    wires = Interconnect(accelerator=schedule.problem.accelerator).channels
    slow = np.array([wire.bandwidth is not None for wire in wires], dtype=np.bool_)
    return found.rows(np.flatnonzero((found.end > found.start) & slow[found.wire]))
