"""Traces are what Perfetto reads: events in the documented format, in order, nested, paired."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple, cast

import pytest
from hypothesis import given, settings

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule, TransferKind, Transfers
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.pipeline.render.perfetto.trace import perfetto_trace
from tests.pipeline.render.schedules import pipelined, streamed, two_rows
from tests.search.multicore.schedule.problems import Case, cases
from tests.search.multicore.schedule.serial import serial
from tests.sweeps import some_of

Json = Mapping[str, object]

FIELDS: Final = {
    "M": {"name", "ph", "pid", "args"},
    "X": {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"},
    "C": {"name", "ph", "pid", "ts", "args"},
    "s": {"name", "cat", "ph", "id", "pid", "tid", "ts"},
    "t": {"name", "cat", "ph", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "ph", "id", "pid", "tid", "ts", "bp"},
}
"""The fields of events, by phase; metadata of a thread have its ``tid``, too."""

SCHEDULES: Final[Mapping[str, Callable[[], Schedule]]] = {
    "one core": lambda: pipelined(2, 3, 1),
    "two rows": two_rows,
    "three cores": lambda: pipelined(5, 4, 3),
    "streams": streamed,
}


class Event(NamedTuple):
    """An event of a trace; what it does not have is 0 or empty."""

    phase: str
    name: str
    category: str
    track: tuple[int, int]
    time: int
    length: int
    flow: int
    args: Json


def trace(schedule: Schedule) -> Json:
    return cast(Json, json.loads(perfetto_trace(schedule)))


def raw(schedule: Schedule) -> Sequence[Json]:
    return cast(Sequence[Json], trace(schedule)["traceEvents"])


def events(schedule: Schedule) -> list[Event]:
    return [
        Event(
            phase=str(x["ph"]),
            name=str(x["name"]),
            category=str(x.get("cat", "")),
            track=(cast(int, x["pid"]), cast(int, x.get("tid", 0))),
            time=cast(int, x.get("ts", 0)),
            length=cast(int, x.get("dur", 0)),
            flow=cast(int, x.get("id", 0)),
            args=cast(Json, x.get("args", {})),
        )
        for x in raw(schedule)
    ]


def tracks(found: Sequence[Event], kind: str) -> dict[tuple[int, int], str]:
    """The names of processes or threads."""
    named = (x for x in found if x.phase == "M" and x.name == kind)
    return {x.track: str(x.args["name"]) for x in named}


def slices(found: Sequence[Event], process: str) -> list[Event]:
    """The slices on the tracks of a process."""
    of = {track[0] for track, name in tracks(found, "process_name").items() if process in name}
    return [x for x in found if x.phase == "X" and x.track[0] in of]


def check(schedule: Schedule) -> None:
    """Checks all that holds of every trace."""
    check_format(schedule)
    found = events(schedule)
    check_tracks(found)
    check_flows(found)
    check_counters(schedule, found)


def check_format(schedule: Schedule) -> None:
    whole = trace(schedule)
    assert set(whole) == {"displayTimeUnit", "otherData", "traceEvents"}
    about = cast(Json, whole["otherData"])
    assert about["time"] == "1 us is 1 cycle"
    assert about["latency_cycles"] == schedule.latency
    assert about["energy_pj"] == schedule.energy.total
    for event in raw(schedule):
        phase = str(event["ph"])
        threads = phase == "M" and str(event["name"]).startswith("thread_")
        assert set(event) == FIELDS[phase] | ({"tid"} if threads else set())
        numbers = [event[name] for name in ("pid", "tid", "ts", "dur", "id") if name in event]
        assert all(isinstance(x, int) and x >= 0 for x in numbers)


def check_tracks(found: Sequence[Event]) -> None:
    """Sorted by time, every track named, and on a track one thing at a time."""
    timed = [x for x in found if x.phase != "M"]
    assert found[: len(found) - len(timed)] == [x for x in found if x.phase == "M"]
    assert all(one.time <= other.time for one, other in pairwise(timed))
    processes, threads = tracks(found, "process_name"), tracks(found, "thread_name")
    assert {x.track[0] for x in found} <= {track[0] for track in processes}
    assert not {thread for _, thread in threads} & {process for process, _ in processes}
    assert len({thread for _, thread in threads}) == len(threads)
    on_track: defaultdict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in found:
        if event.phase == "X":
            on_track[event.track].append(event)
    assert set(on_track) == set(threads)
    for some in on_track.values():
        assert all(one.time + one.length <= other.time for one, other in pairwise(some))


def check_flows(found: Sequence[Event]) -> None:
    """Each begins and ends once, goes on in time, and every stop is within a slice."""
    flows: defaultdict[int, list[Event]] = defaultdict(list)
    for event in found:
        if event.phase in "stf":
            flows[event.flow].append(event)
    for stops in flows.values():
        phases = "".join(stop.phase for stop in stops)
        assert phases in ("sf", "stf")
        assert len({(stop.name, stop.category) for stop in stops}) == 1
        assert all(sum(is_around(x, stop) for x in found) == 1 for stop in stops)


def is_around(event: Event, stop: Event) -> bool:
    """Whether an event is a slice that a stop of a flow is within."""
    on_track = event.phase == "X" and event.track == stop.track
    return on_track and event.time <= stop.time < event.time + event.length


def check_counters(schedule: Schedule, found: Sequence[Event]) -> None:
    """The curves of the memories, each up to the end."""
    homes = TopMemories(accelerator=schedule.problem.accelerator).memories
    for home, (times, used) in zip(homes, schedule.memory_usage, strict=False):
        curve = [(x.time, x.args["bits"]) for x in found if x.phase == "C" and x.name == str(home)]
        expected = list(zip(times.tolist(), used.tolist(), strict=True))
        assert curve[: len(expected)] == expected
        assert len(curve) - len(expected) == (bool(expected) and expected[-1][0] < schedule.latency)
        assert not curve or curve[-1][0] >= schedule.latency
        assert not curve or curve[-1][1] == expected[-1][1]


@pytest.mark.parametrize("name", SCHEDULES)
def test_traces_are_what_perfetto_reads(name: str) -> None:
    check(SCHEDULES[name]())


@settings(max_examples=some_of(25), deadline=None)
@given(cases())
def test_traces_of_random_schedules(case: Case) -> None:
    check(serial(case.problem, case.allocation))


@pytest.mark.parametrize("name", SCHEDULES)
def test_each_node_is_a_slice_on_its_core(name: str) -> None:
    schedule = SCHEDULES[name]()
    found = events(schedule)
    threads = tracks(found, "thread_name")
    shown = sorted((threads[x.track], x.time, x.time + x.length) for x in slices(found, "Cores"))
    names = {core.id: f"core {core.id} {core.name}" for core in schedule.problem.accelerator.cores}
    columns = (schedule.core.tolist(), schedule.start.tolist(), schedule.end.tolist())
    expected = sorted((names[core], a, b) for core, a, b in zip(*columns, strict=True))
    assert shown == expected
    spent = sum(cast(float, x.args["core_energy_pj"]) for x in slices(found, "Cores"))
    assert spent == pytest.approx(schedule.energy.computation)


@pytest.mark.parametrize("name", SCHEDULES)
def test_each_transfer_is_on_all_its_wires(name: str) -> None:
    schedule = SCHEDULES[name]()
    found = events(schedule)
    ways, sent = Interconnect(accelerator=schedule.problem.accelerator), schedule.transfers
    ends = zip(sent.sending.tolist(), sent.receiving.tolist(), strict=True)
    expected = Counter(
        (ways.channels[wire].name, int(sent.start[row]), int(sent.end[row]))
        for row, pair in enumerate(ends)
        for wire in ways.path(*pair)
    )
    threads = tracks(found, "thread_name")
    passing = [x for x in slices(found, "Wires") if x.category != "streamed"]
    assert Counter((threads[x.track], x.time, x.time + x.length) for x in passing) == expected


def test_flows_go_from_who_makes_a_tensor_to_who_reads_it() -> None:
    schedule = two_rows()
    found = events(schedule)
    counts = Counter(TransferKind(kind) for kind in schedule.transfers.kind.tolist())
    phases = Counter(x.phase for x in found)
    assert phases["s"] == phases["f"] == len(schedule.transfers)
    assert phases["t"] == counts[TransferKind.ACTIVATION]
    made = [x.time for x in found if x.phase == "s" and x.track[0] == 1]
    assert made == sorted((schedule.end - 1).tolist())
    read = [x.time for x in found if x.phase == "f" and x.track[0] == 1]
    waiting = schedule.transfers.kind != TransferKind.RESULT
    assert read == sorted(schedule.start[schedule.transfers.node[waiting]].tolist())


def test_what_overlaps_stands_in_lanes_of_its_track() -> None:
    found = events(streamed())
    names = Counter(tracks(found, "thread_name").values())
    assert names["9 -> 0"] == names["9 -> 0 (2)"] == 1
    streams = [x for x in found if x.category == "streamed" and x.track[0] == 2]
    assert [(x.time, x.length, x.args["bits"]) for x in streams] == [(2, 10, 40), (8, 4, 16)]


def test_a_broadcast_is_one_slice() -> None:
    schedule = two_rows()
    sent = schedule.transfers
    whole = {name: getattr(sent, name)[[*range(len(sent)), 0]] for name in vars(sent)}
    both = replace(schedule, transfers=Transfers(**whole))
    one, other = (slices(events(x), "Wires") for x in (schedule, both))
    assert len(one) == len(other)
    assert other[0].args["wire_energy_pj"] == 2 * cast(float, one[0].args["wire_energy_pj"])
    check(both)
