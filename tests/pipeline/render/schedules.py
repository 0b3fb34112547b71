"""Schedules to draw, made without a scheduler: layers in a line, each one step behind the other.

A node runs for 10 cycles, then what it wrote is sent for 2. Layer ``l`` runs on core ``l`` modulo
their number; as many layers as there are cores run at a time, row by row.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nestmap.model.multicore.allocation import Fitness, Generation, Individual
from nestmap.model.multicore.schedule import (
    OperandStreams,
    Residencies,
    Schedule,
    ScheduledTensors,
    ScheduleEnergy,
    TransferKind,
    Transfers,
)
from nestmap.model.multicore.top_memories import TopMemories
from tests.search.multicore.schedule.lines import OFF, WIDE, Row, core, line, machine, problem

RUN, SEND = 10, 2
STEP = RUN + SEND


class Sent(NamedTuple):
    """A transfer."""

    tensor: int
    ends: tuple[int, int]
    start: int
    kind: TransferKind
    node: int


class _Line(NamedTuple):
    """So many layers of so many rows on so many cores."""

    layers: int
    rows: int
    cores: int

    def starts(self, layer: int, row: int) -> int:
        """When a node starts."""
        block, place = divmod(layer, self.cores)
        return SEND + STEP * (block * (self.rows + self.cores) + place + row)

    def weights(self, layer: int) -> int:
        """The tensor of a layer's weights; the first layer has none."""
        return (self.layers + 1) * self.rows + layer - 1

    def sent(self) -> Iterator[Sent]:
        """Images to the first layer, weights, rows to the next layer, results."""
        for layer in range(self.layers):
            here, there = layer % self.cores, (layer + 1) % self.cores
            for row in range(self.rows):
                node, start = layer * self.rows + row, self.starts(layer, row)
                if not layer:
                    image = self.layers * self.rows + row
                    yield Sent(image, (OFF, 0), start - SEND, TransferKind.CONSTANT, node)
                elif not row:
                    weights, kind = self.weights(layer), TransferKind.CONSTANT
                    yield Sent(weights, (OFF, here), start - SEND, kind, node)
                if layer + 1 == self.layers:
                    yield Sent(node, (here, OFF), start + RUN, TransferKind.RESULT, node)
                elif here != there:
                    kind = TransferKind.ACTIVATION
                    yield Sent(node, (here, there), start + RUN, kind, node + self.rows)


def pipelined(layers: int, rows: int, cores: int) -> Schedule:
    """The schedule; 16 bits are sent each time, and all nodes cost 5 pJ."""
    made = _Line(layers, rows, cores)
    chip = machine(*(core(i, 400) for i in range(cores)), between=WIDE)
    posed = problem(line([Row(16), *[Row(16, 16)] * (layers - 1)], rows, image=16), chip)
    starts = ints([made.starts(x, row) for x in range(layers) for row in range(rows)])
    sent = list(made.sent())
    transfers = _transfers(sent, TopMemories(accelerator=chip))
    nodes, images = list(range(layers * rows)), list(range(rows))
    heads = [layer * rows for layer in range(1, layers)]
    return Schedule(
        problem=posed,
        allocation=tuple(layer % cores for layer in range(layers)),
        core=np.repeat(ints([layer % cores for layer in range(layers)]), rows),
        start=starts,
        end=starts + RUN,
        tensors=ScheduledTensors(
            node=ints([*nodes, *images, *heads]),
            operand=ints([*[0] * len(nodes), *[1] * rows, *[2] * len(heads)]),
            bits=ints([16] * (len(nodes) + rows + len(heads))),
        ),
        transfers=transfers,
        streams=_no_streams(),
        residencies=_stays(made, sent, starts, TopMemories(accelerator=chip)),
        latency=int(transfers.end.max()),
        energy=_energy(transfers, len(nodes)),
    )


def ints(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _transfers(sent: list[Sent], homes: TopMemories) -> Transfers:
    start = ints([x.start for x in sent])
    return Transfers(
        tensor=ints([x.tensor for x in sent]),
        sender=ints([homes.index_of(x.ends[0], "O") for x in sent]),
        receiver=ints([homes.index_of(x.ends[1], "O") for x in sent]),
        sending=ints([x.ends[0] for x in sent]),
        receiving=ints([x.ends[1] for x in sent]),
        start=start,
        end=start + SEND,
        kind=ints([x.kind for x in sent]),
        node=ints([x.node for x in sent]),
        link_energy=np.full(len(sent), 0.5),
        memory_energy=np.full(len(sent), 3.0),
    )


def _no_streams() -> OperandStreams:
    none = ints([])
    return OperandStreams(none, none, none, none, none, none, np.zeros(0))


def _stays(
    made: _Line, sent: list[Sent], starts: NDArray[np.int64], homes: TopMemories
) -> Residencies:
    """Outputs up to the end of their transfer, what came up to the end of its last reader."""
    rows: list[tuple[int, int, int, int, int]] = []
    last = made.layers * made.rows
    for node, start in enumerate(starts.tolist()):
        rows.append((node, node // made.rows % made.cores, start, start + RUN, start + STEP))
    for x in sent:
        is_weight = x.tensor >= last + made.rows
        reader = x.node + made.rows - 1 if is_weight else x.node
        home = homes.index_of(x.ends[1], "O")
        until = -1 if x.kind is TransferKind.RESULT else int(starts[reader]) + RUN
        rows.append((x.tensor, home, x.start, x.start + SEND, until))
    off = homes.index_of(OFF, "O")
    constants = range(last, last + made.rows + made.layers - 1)
    rows += [(tensor, off, 0, 0, -1) for tensor in constants]
    return Residencies(*np.array(rows, dtype=np.int64).T)


def _energy(transfers: Transfers, nodes: int) -> ScheduleEnergy:
    counts = {kind: int(np.count_nonzero(transfers.kind == kind)) for kind in TransferKind}
    return ScheduleEnergy(
        computation=5.0 * nodes,
        streaming=0.0,
        constant_links=0.5 * counts[TransferKind.CONSTANT],
        constant_memory=3.0 * counts[TransferKind.CONSTANT],
        activation_links=0.5 * counts[TransferKind.ACTIVATION],
        activation_memory=3.0 * counts[TransferKind.ACTIVATION],
        eviction_links=0.5 * counts[TransferKind.EVICTION],
        eviction_memory=3.0 * counts[TransferKind.EVICTION],
        result_links=0.5 * counts[TransferKind.RESULT],
        result_memory=3.0 * counts[TransferKind.RESULT],
    )


def two_rows() -> Schedule:
    """Two layers of three rows on two cores: 50 cycles."""
    return pipelined(2, 3, 2)


def streamed() -> Schedule:
    """As :func:`two_rows`; something streams to core 0 at half the width of the wire, twice.

    From 2 to 12 and from 8 to 12, so both share the wire for 4 cycles.
    """
    streams = OperandStreams(
        node=ints([0, 1]),
        sending=ints([OFF, OFF]),
        receiving=ints([0, 0]),
        start=ints([2, 8]),
        end=ints([12, 12]),
        rate=ints([4, 4]),
        link_energy=np.array([1.0, 1.0]),
    )
    return replace(two_rows(), streams=streams)


def search() -> list[Generation]:
    """Five generations of four individuals, the later ones better."""
    found: list[Generation] = []
    front: tuple[Individual, ...] = ()
    for number in range(5):
        population = tuple(_individual(number, i) for i in range(4))
        front = _best((*front, *population))
        found.append(
            Generation(
                number=number, population=population, front=front, evaluations=4 * (number + 1)
            )
        )
    return found


def _individual(number: int, i: int) -> Individual:
    """The last one of each generation cannot be scheduled."""
    latency, energy = 1000 + 400 * i - 90 * number, 5e6 - 9e5 * i - 3e5 * number
    fitness = Fitness(latency=latency, energy=energy, memory=64 * (i + 1))
    return Individual(allocation=(number, i), fitness=fitness if i < 3 else None)


def _best(found: tuple[Individual, ...]) -> tuple[Individual, ...]:
    """Those than which no other is better in latency and in energy."""
    known = [(x, x.fitness) for x in found if x.fitness is not None]
    return tuple(
        x
        for x, mine in known
        if not any(y.latency < mine.latency and y.energy < mine.energy for _, y in known)
    )
