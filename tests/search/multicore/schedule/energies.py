"""What the events of a schedule cost, added up again: a part of the checker of schedules."""

from collections.abc import Iterator
from math import isclose

from nestmap.model.multicore.schedule import TransferKind
from tests.search.multicore.schedule.replay import Replay, Sent

PARTS = {
    TransferKind.CONSTANT: ("constant_links", "constant_memory"),
    TransferKind.ACTIVATION: ("activation_links", "activation_memory"),
    TransferKind.EVICTION: ("eviction_links", "eviction_memory"),
    TransferKind.RESULT: ("result_links", "result_memory"),
}


def energies(replay: Replay) -> Iterator[str]:
    """Each part of the energy is what the events cost."""
    energy = replay.schedule.energy
    wanted = dict.fromkeys(type(energy).model_fields, 0.0)
    for run in replay.runs:
        wanted["computation"] += run.onchip
        wanted["streaming"] += run.offchip
    charged: set[tuple[int, ...]] = set()
    for row, sent in enumerate(replay.sent):
        wires, joins = _links(replay, sent, charged)
        costs = (wires, _memory(replay, sent, joins))
        for name, cost in zip(PARTS[sent.kind], costs, strict=True):
            wanted[name] += cost
        for cost, booked in zip(costs, (sent.link_energy, sent.memory_energy), strict=True):
            if not _close(cost, booked):
                yield f"transfer {row} costs {booked} pJ; expected {cost}"
    wanted["streaming_links"] = sum(_streams(replay)) if replay.exact else 0.0
    for name, cost in wanted.items():
        said: float = getattr(energy, name)
        if not _close(said, cost):
            yield f"{name}: {said} pJ; the events cost {cost}"


def _close(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def _links(replay: Replay, sent: Sent, charged: set[tuple[int, ...]]) -> tuple[float, bool]:
    """What the wires cost, and whether the first one is paid for: a broadcast pays once.

    Not so in Stream.
    """
    ways, bits, energy, joins = replay.demands.ways, replay.bits[sent.tensor], 0.0, False
    for place, number in enumerate(ways.path(sent.sending, sent.receiving)):
        key = (number, sent.tensor, sent.start, sent.end)
        if replay.exact and sent.start < sent.end and key in charged:
            joins = joins or not place
            continue
        charged.add(key)
        wire = ways.channels[number]
        energy += bits * wire.energy_per_bit + (sent.end - sent.start) * wire.energy_per_cycle
    return energy, joins


def _memory(replay: Replay, sent: Sent, joins: bool) -> float:
    """What reading and writing cost; what is sent to several is read once."""
    homes, bits = replay.demands.homes.memories, replay.bits[sent.tensor]
    sender, receiver = homes[sent.sender], homes[sent.receiver]
    reads, writes = -(-bits // sender.read_width), -(-bits // receiver.write_width)
    reading = 0.0 if joins else reads * sender.level.instance.read_energy
    return reading + writes * receiver.level.instance.write_energy


def _streams(replay: Replay) -> Iterator[float]:
    ways = replay.demands.ways
    for stream in replay.streams:
        cycles = stream.end - stream.start
        for number in ways.path(stream.sending, stream.receiving):
            wire = ways.channels[number]
            yield cycles * (stream.rate * wire.energy_per_bit + wire.energy_per_cycle)
