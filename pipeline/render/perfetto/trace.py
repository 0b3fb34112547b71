"""A schedule as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing.

The file is JSON in Chrome's trace event format: an object with ``traceEvents`` and times in
microseconds; 1 us represents 1 cycle.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Final, NamedTuple

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.names import ScheduleNames
from nestmap.pipeline.render.perfetto.flows import Flows, Lane, Lanes
from nestmap.pipeline.render.perfetto.slices import READ, Process, Slice, Track, all_slices
from nestmap.pipeline.util.json import Json

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
