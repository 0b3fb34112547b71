"""A schedule as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing.

The file is JSON in Chrome's trace event format: an object with ``traceEvents`` and times in
microseconds; 1 us represents 1 cycle.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, pairwise, product
from typing import Final, NamedTuple, final

from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.pipeline.analysis.schedule.names import KINDS, STREAMED, ScheduleNames
from nestmap.pipeline.util.atomic_files import Json

# --- builds the slices of a trace: activity of cores, channels and off-chip memory ---


class Process(IntEnum):
    """The groups of tracks, in their order from top to bottom."""

    CORES = 1
    WIRES = 2
    OFFCHIP = 3
    MEMORIES = 4


class Track(NamedTuple):
    """A row of the trace: a core, a channel, or one direction of the off-chip memory."""

    process: Process
    number: int


@final
@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a track from ``start`` to ``end``.

    ``node`` is its computation node, ``transfers`` are its transfers: several for a broadcast.
    """

    track: Track
    start: int
    end: int
    name: str
    category: str
    args: Mapping[str, Json]
    node: int | None = None
    transfers: tuple[int, ...] = ()


READ, WRITTEN = 0, 1
"""The directions of the off-chip memory."""


def all_slices(names: ScheduleNames) -> list[Slice]:
    """The slices of all tracks."""
    return [*_node_slices(names), *_transfer_slices(names), *_stream_slices(names)]


def _node_slices(names: ScheduleNames) -> Iterator[Slice]:
    schedule = names.schedule
    outputs = schedule.tensors.bits
    columns = (x.tolist() for x in (schedule.core, schedule.start, schedule.end))
    for node, (core, start, end) in enumerate(zip(*columns, strict=True)):
        layer, number = names.layer(node), names.number(node)
        args: dict[str, Json] = {
            "node": f"{layer.nest.number}.{number}",
            "layer": layer.nest.name,
            "operator": layer.nest.operator,
            "group": int(layer.groups[number]),
            "ranges": names.ranges(node) or "whole layer",
            "cycles": end - start,
            "output_bits": int(outputs[node]),
            "core_energy_pj": names.onchip(node),
            "offchip_energy_pj": names.offchip(node),
        }
        track = Track(Process.CORES, core)
        yield Slice(track, start, end, layer.nest.name, "node", args, node=node)


def _transfer_slices(names: ScheduleNames) -> Iterator[Slice]:
    """One slice for all transfers of a tensor that take a track at the same time: a broadcast."""
    transfers = names.schedule.transfers
    together: dict[tuple[Track, int, int, int, int], list[int]] = {}
    for row in range(len(transfers)):
        columns = (transfers.tensor, transfers.start, transfers.end, transfers.kind)
        tensor, start, end, kind = (int(column[row]) for column in columns)
        ends = int(transfers.sending[row]), int(transfers.receiving[row])
        for track in _tracks(names, *ends):
            together.setdefault((track, tensor, start, end, kind), []).append(row)
    for (track, tensor, start, end, kind), rows in together.items():
        yield Slice(
            track,
            start,
            end,
            names.tensor(tensor),
            KINDS[TransferKind(kind)],
            _transfer_args(names, rows),
            transfers=tuple(rows),
        )


def _transfer_args(names: ScheduleNames, rows: Sequence[int]) -> dict[str, Json]:
    transfers, tensors = names.schedule.transfers, names.schedule.tensors
    first, chosen = rows[0], list(rows)
    tensor = int(transfers.tensor[first])
    receivers = dict.fromkeys(int(transfers.receiving[row]) for row in rows)
    return {
        "tensor": names.tensor(tensor),
        "kind": KINDS[TransferKind(int(transfers.kind[first]))],
        "from": f"core {names.core(int(transfers.sending[first]))}",
        "to": ", ".join(f"core {names.core(core)}" for core in receivers),
        "for": names.node(int(transfers.node[first])),
        "bits": int(tensors.bits[tensor]),
        "wire_energy_pj": float(transfers.link_energy[chosen].sum()),
        "memory_energy_pj": float(transfers.memory_energy[chosen].sum()),
    }


def _stream_slices(names: ScheduleNames) -> Iterator[Slice]:
    streams = names.schedule.streams
    for row in range(len(streams)):
        columns = (streams.node, streams.sending, streams.receiving, streams.rate)
        node, sending, receiving, rate = (int(column[row]) for column in columns)
        start, end = int(streams.start[row]), int(streams.end[row])
        args: dict[str, Json] = {
            "kind": STREAMED,
            "from": f"core {names.core(sending)}",
            "to": f"core {names.core(receiving)}",
            "for": names.node(node),
            "bits_per_cycle": rate,
            "bits": rate * (end - start),
            "wire_energy_pj": float(streams.link_energy[row]),
        }
        for track in _tracks(names, sending, receiving):
            yield Slice(track, start, end, f"for {names.node(node)}", STREAMED, args)


def _tracks(names: ScheduleNames, sending: int, receiving: int) -> Iterator[Track]:
    """The channels between two cores, and the off-chip memory if it is at one end."""
    for wire in names.path(sending, receiving):
        yield Track(Process.WIRES, wire)
    offchip = names.schedule.problem.accelerator.offchip
    for core, direction in ((sending, READ), (receiving, WRITTEN)):
        if core == offchip:
            yield Track(Process.OFFCHIP, direction)


# --- builds the flows of a trace: dependencies between nodes and transfers ---


class Lane(NamedTuple):
    """A row of the trace: overlapping slices of a track go to several lanes."""

    track: Track
    number: int


Lanes = Mapping[Lane, Sequence[Slice]]


class Stop(NamedTuple):
    """A point that a flow passes, within a slice of a lane."""

    lane: Lane
    time: int


_MADE: Final = (TransferKind.ACTIVATION, TransferKind.RESULT)
"""Transfers that begin where a node produced the tensor."""

_AWAITED: Final = (TransferKind.ACTIVATION, TransferKind.CONSTANT)
"""Transfers that a node waits for."""


@final
class Flows:
    """The flows of a schedule, each with two or three stops, in order of time.

    Events without duration are no stops, because no slice is guaranteed to be found at their time.
    """

    def __init__(self, schedule: Schedule, lanes: Lanes) -> None:
        self._schedule = schedule
        self._nodes: dict[int, tuple[Lane, Slice]] = {}
        self._transfers: dict[int, tuple[Lane, Slice]] = {}
        for lane, slices in lanes.items():
            for each in slices:
                if each.end > each.start:
                    self._note(lane, each)

    def _note(self, lane: Lane, each: Slice) -> None:
        if each.node is not None:
            self._nodes[each.node] = lane, each
        if lane.track.process is Process.WIRES:
            for row in each.transfers:
                self._transfers.setdefault(row, (lane, each))

    def __iter__(self) -> Iterator[Sequence[Stop]]:
        for row in range(len(self._schedule.transfers)):
            stops = list(self._stops(row))
            if len(stops) > 1 and all(a.time <= b.time for a, b in pairwise(stops)):
                yield stops

    def _stops(self, row: int) -> Iterator[Stop]:
        transfers, tensors = self._schedule.transfers, self._schedule.tensors
        kind = TransferKind(int(transfers.kind[row]))
        maker = self._nodes.get(int(tensors.node[transfers.tensor[row]]))
        if kind in _MADE and maker is not None:
            yield Stop(maker[0], maker[1].end - 1)
        if row in self._transfers:
            lane, each = self._transfers[row]
            yield Stop(lane, each.start)
        reader = self._nodes.get(int(transfers.node[row]))
        if kind in _AWAITED and reader is not None:
            yield Stop(reader[0], reader[1].start)


# --- a schedule as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing ---

_UNIT: Final = "1 us is 1 cycle"
_FLOW: Final = "sent"
_FIRST_TRACK: Final = 100
"""Track numbers differ from process numbers, and from 0."""

_PROCESSES: Final = {
    Process.CORES: f"Cores ({_UNIT})",
    Process.WIRES: "Wires",
    Process.OFFCHIP: "Off the chip",
    Process.MEMORIES: "Memories (bits)",
}


class Event(NamedTuple):
    """An event of the trace, and its sort key.

    Events are sorted by time, then by phase, since a flow binds to a slice that exists already,
    then by falling duration, so that slices nest.
    """

    time: int
    phase: int
    shortness: int
    fields: dict[str, Json]


def perfetto_trace(schedule: Schedule) -> str:
    """The trace: cores, channels, off-chip memory, memory usage and dependencies.

    Events are sorted by time. Each transfer is a flow from the node that produced the tensor,
    through the first channel that it takes, to the node that receives it. Energies are in pJ.
    """
    names = ScheduleNames(schedule)
    lanes = _lanes(all_slices(names))
    numbers = {lane: _FIRST_TRACK + i for i, lane in enumerate(lanes)}
    events = [
        *_metadata(names, numbers),
        *_slice_events(lanes, numbers),
        *_flow_events(Flows(schedule, lanes), numbers),
        *_counter_events(names),
    ]
    ordered = sorted(events, key=lambda event: event[:3])
    trace: Json = {
        "displayTimeUnit": "ns",
        "otherData": _about(schedule),
        "traceEvents": [event.fields for event in ordered],
    }
    return json.dumps(trace, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _about(schedule: Schedule) -> Json:
    problem = schedule.problem
    return {
        "time": _UNIT,
        "energies": "pJ",
        "workload": problem.nodes.name,
        "accelerator": problem.accelerator.name,
        "latency_cycles": schedule.latency,
        "energy_pj": schedule.energy.total,
    }


def _lanes(slices: Sequence[Slice]) -> Lanes:
    """Slices by track; overlapping slices are separated, since a track can only nest them."""
    tracks: defaultdict[Track, list[Slice]] = defaultdict(list)
    for each in sorted(slices, key=lambda x: (x.start, -x.end)):
        tracks[each.track].append(each)
    lanes: dict[Lane, list[Slice]] = {}
    for track in sorted(tracks):
        free: list[int] = []
        for each in tracks[track]:
            lane = next((i for i, end in enumerate(free) if end <= each.start), len(free))
            free[lane : lane + 1] = [each.end]
            lanes.setdefault(Lane(track, lane), []).append(each)
    return {lane: lanes[lane] for lane in sorted(lanes)}


def _metadata(names: ScheduleNames, numbers: Mapping[Lane, int]) -> Iterator[Event]:
    """Names and order of processes and tracks."""
    for process in Process:
        of: dict[str, Json] = {"pid": process.value}
        yield _said("process_name", of, {"name": _PROCESSES[process]})
        yield _said("process_sort_index", of, {"sort_index": process.value})
    for lane, number in numbers.items():
        of = {"pid": lane.track.process.value, "tid": number}
        suffix = f" ({lane.number + 1})" if lane.number else ""
        yield _said("thread_name", of, {"name": _track_name(names, lane.track) + suffix})
        yield _said("thread_sort_index", of, {"sort_index": number})


def _said(name: str, of: dict[str, Json], args: dict[str, Json]) -> Event:
    return Event(-1, 0, 0, {"name": name, "ph": "M", **of, "args": args})


def _track_name(names: ScheduleNames, track: Track) -> str:
    match track.process:
        case Process.WIRES:
            return names.ways.channels[track.number].name
        case Process.OFFCHIP:
            offchip = names.schedule.problem.accelerator.offchip
            way = "read" if track.number == READ else "written"
            return f"core {names.core(offchip)}, {way}"
        case _:
            return f"core {names.core(track.number)}"


def _slice_events(lanes: Lanes, numbers: Mapping[Lane, int]) -> Iterator[Event]:
    placed = chain.from_iterable(product([lane], some) for lane, some in lanes.items())
    for lane, each in placed:
        length = each.end - each.start
        fields: dict[str, Json] = {
            "name": each.name,
            "cat": each.category,
            "ph": "X",
            "pid": lane.track.process.value,
            "tid": numbers[lane],
            "ts": each.start,
            "dur": length,
            "args": dict(each.args),
        }
        yield Event(each.start, 1, -length, fields)


def _flow_events(flows: Flows, numbers: Mapping[Lane, int]) -> Iterator[Event]:
    """Each flow begins with ``s``, may pass ``t``, and ends with ``f``."""
    for number, stops in enumerate(flows, start=1):
        for place, stop in enumerate(stops):
            last = place == len(stops) - 1
            fields: dict[str, Json] = {
                "name": _FLOW,
                "cat": _FLOW,
                "ph": "f" if last else "t" if place else "s",
                "id": number,
                "pid": stop.lane.track.process.value,
                "tid": numbers[stop.lane],
                "ts": stop.time,
            }
            yield Event(stop.time, 2 + place, 0, fields | ({"bp": "e"} if last else {}))


def _counter_events(names: ScheduleNames) -> Iterator[Event]:
    """The bits in each memory at each change, and at the end."""
    schedule = names.schedule
    for home, (times, used) in zip(names.memories, schedule.memory_usage, strict=False):
        points = [*zip(times.tolist(), used.tolist(), strict=True)]
        if points and points[-1][0] < schedule.latency:
            points.append((schedule.latency, points[-1][1]))
        for time, bits in points:
            fields: dict[str, Json] = {
                "name": str(home),
                "ph": "C",
                "pid": Process.MEMORIES.value,
                "ts": time,
                "args": {"bits": bits},
            }
            yield Event(time, 9, 0, fields)
