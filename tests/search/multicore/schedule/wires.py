"""What the wires carry when, by plain Python: a part of the checker of schedules."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from nestmap.model.multicore.interconnect import Channel
from tests.search.multicore.schedule.replay import Replay, Streamed

REFERENCE_ACTIVITY = 100
"""What a transfer takes of a wire in Stream as far as streams are concerned."""


class Load(NamedTuple):
    """What changes on a wire at a time: how many transfers, and the bit/cycle of streams."""

    time: int
    transfers: int
    rate: int


def wires(replay: Replay) -> Iterator[str]:
    """A wire carries one transfer and no stream, or streams that fit it together."""
    loads = _loads(replay)
    for number, wire in enumerate(replay.demands.ways.channels):
        yield from _overloaded(replay, wire, sorted(loads.get(number, ())))


def _loads(replay: Replay) -> dict[int, list[Load]]:
    """What changes on each wire, in any order."""
    ways, loads = replay.demands.ways, dict[int, list[Load]]()
    broadcasts: set[tuple[int, int, int, int]] = set()
    for sent in replay.sent:
        for wire in ways.path(sent.sending, sent.receiving):
            times = (sent.start, sent.end if replay.exact else -1)
            if sent.start == sent.end or (wire, sent.tensor, *times) in broadcasts:
                continue
            broadcasts.add((wire, sent.tensor, *times))
            loads.setdefault(wire, []).append(Load(sent.start, 1, 0))
            loads[wire].append(Load(sent.end, -1, 0))
    for stream in replay.streams:
        for wire in ways.path(stream.sending, stream.receiving):
            loads.setdefault(wire, []).append(Load(stream.start, 0, stream.rate))
            loads[wire].append(Load(stream.end, 0, -stream.rate))
    return loads


def _overloaded(replay: Replay, wire: Channel, loads: list[Load]) -> Iterator[str]:
    if wire.bandwidth is None:
        return
    whole = wire.bandwidth if replay.exact else min(wire.bandwidth, REFERENCE_ACTIVITY)
    transfers, rate = 0, 0
    for place, load in enumerate(loads):
        transfers += load.transfers
        rate += load.rate
        if place + 1 < len(loads) and loads[place + 1].time == load.time:
            continue
        if transfers > 1:
            yield f"{transfers} transfers on {wire.name} at {load.time}"
        if rate + transfers * whole > wire.bandwidth:
            yield f"{rate} bit/cycle and {transfers} transfers on {wire.name} at {load.time}"


def streams(replay: Replay) -> Iterator[str]:
    """What a node streams passes from and to off the chip as long as it runs, and nothing else."""
    found = Counter(stream for stream in replay.streams if stream.rate)
    wanted = Counter(_wanted(replay))
    for stream, count in ((wanted - found) + (found - wanted)).items():
        yield f"{count} times too often or not at all: {stream}"


def _wanted(replay: Replay) -> Iterator[Streamed]:
    offchip = replay.schedule.problem.accelerator.offchip
    for place, run in enumerate(replay.runs):
        times = (replay.start[place], replay.end[place])
        for ends, rate in zip(((offchip, run.core), (run.core, offchip)), run.rates, strict=True):
            if rate:
                yield Streamed(place, *ends, *times, _passing(replay, ends, rate))


def _passing(replay: Replay, ends: tuple[int, int], rate: int) -> int:
    """What passes of a rate: in Stream no more than the wires can."""
    ways = replay.demands.ways
    widths = [ways.channels[x].bandwidth for x in ways.path(*ends)]
    return rate if replay.exact else min(rate, *(x for x in widths if x is not None), rate)
