"""A schedule as plain lists, and what its problem demands of each node: what the checker reads.

Shares nothing with the scheduler but the models.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nestmap.model import ComputeCore, Counting
from nestmap.model.multicore.cn_layer import CnLayer, TensorUse
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, WITHIN_GROUP
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem, TransferKind
from nestmap.model.multicore.top_memories import TopMemories, memory_operands

Part = tuple[int, int, tuple[tuple[int, int], ...]]
"""A part of a constant: the place of the layer that reads it, which input, from where to where."""


class Stay(NamedTuple):
    """A tensor in a memory; ``until`` is infinite for what stays."""

    tensor: int
    memory: int
    since: int
    available: int
    until: float


class Sent(NamedTuple):
    """A transfer: a row of the schedule."""

    tensor: int
    sender: int
    receiver: int
    sending: int
    receiving: int
    start: int
    end: int
    kind: TransferKind
    node: int
    link_energy: float
    memory_energy: float


class Streamed(NamedTuple):
    """A stream: a row of the schedule."""

    node: int
    sending: int
    receiving: int
    start: int
    end: int
    rate: int


class Read(NamedTuple):
    """A tensor that a node reads: in which memory, ``None``: streamed from off the chip."""

    tensor: int
    memory: int | None


class Run(NamedTuple):
    """A node as the problem and the allocation want it."""

    core: int
    runtime: int
    onchip: float
    offchip: float
    reads: tuple[Read, ...]
    output: int | None
    """The memory of what it writes; ``None``: off the chip."""
    rates: tuple[int, int]
    """Bit/cycle from and to off the chip."""


def ints(column: NDArray[np.int64]) -> list[int]:
    return [int(x) for x in column]


class Cells(NamedTuple):
    """What the nodes of a layer hold of one tensor: ranges and bits, node by node."""

    ranges: list[tuple[tuple[int, int], ...]]
    bits: list[int]


def cells(layer: CnLayer, use: TensorUse, counting: Counting) -> Cells:
    sides = [layer.range_of(axis, counting) for axis in use.axes]
    pairs = [list(zip(ints(a), ints(b), strict=True)) for a, b in sides]
    ranges = [tuple(side[n] for side in pairs) for n in range(layer.tiling.count)]
    return Cells(ranges, ints(layer.bits_of(use, counting)))


@dataclass(frozen=True)
class Demands:
    """What a problem says: nodes, tensors, constants."""

    problem: ScheduleProblem

    @cached_property
    def homes(self) -> TopMemories:
        return TopMemories(accelerator=self.problem.accelerator)

    @cached_property
    def ways(self) -> Interconnect:
        return Interconnect(accelerator=self.problem.accelerator)

    @cached_property
    def layer_of(self) -> list[tuple[int, int]]:
        """The place of the layer of each node, and its number there."""
        layers = self.problem.nodes.layers
        return [(i, n) for i, layer in enumerate(layers) for n in range(layer.tiling.count)]

    @cached_property
    def outputs(self) -> list[int]:
        """Bits that each node writes."""
        nodes = self.problem.nodes
        made = (cells(x, x.nest.output, nodes.counting).bits for x in nodes.layers)
        return [bits for layer in made for bits in layer]

    @cached_property
    def edges(self) -> list[tuple[int, int, int]]:
        """From which node to which one, and for which input (-1: none)."""
        edges = self.problem.nodes.edges
        return list(zip(ints(edges.producer), ints(edges.consumer), ints(edges.read), strict=True))

    @cached_property
    def makers(self) -> dict[tuple[int, int], list[int]]:
        """Whose output each input of each node is, and whose partial sums it goes on with."""
        makers: dict[tuple[int, int], list[int]] = {}
        for maker, reader, read in self.edges:
            if read != WITHIN_GROUP:
                makers.setdefault((reader, read), []).append(maker)
        return makers

    @cached_property
    def given(self) -> list[list[bool]]:
        """Of each input of each layer, whether it is off the chip from the start."""
        made = {(self.layer_of[reader][0], read) for _, reader, read in self.edges}
        return [
            [use.constant or (i, read) not in made for read, use in enumerate(layer.nest.inputs)]
            for i, layer in enumerate(self.problem.nodes.layers)
        ]

    @cached_property
    def inputs(self) -> list[list[Cells]]:
        nodes = self.problem.nodes
        return [
            [cells(layer, use, nodes.counting) for use in layer.nest.inputs]
            for layer in nodes.layers
        ]

    def part(self, place: int, read: int) -> Part:
        """The part of a constant that is some input of a node."""
        layer, number = self.layer_of[place]
        return layer, read, self.inputs[layer][read].ranges[number]

    def bits(self, part: tuple[int, int]) -> int:
        """The bits of an input of a node."""
        layer, number = self.layer_of[part[0]]
        return self.inputs[layer][part[1]].bits[number]

    def constants_of(self, place: int) -> Iterator[tuple[int, int]]:
        """The inputs of a node that are off the chip from the start, and hold anything."""
        for read, given in enumerate(self.given[self.layer_of[place][0]]):
            if given and self.bits((place, read)):
                yield place, read

    @cached_property
    def results(self) -> set[int]:
        """What has to be off the chip at the end: what nobody reads.

        In Stream finished parts of layers with a node that is before no other one.
        """
        exact = self.problem.counting is Counting.EXACT
        read = {maker for maker, _, read in self.edges if not exact or read != WITHIN_GROUP}
        unread = set(range(len(self.layer_of))) - read
        if exact:
            return unread
        last = {self.layer_of[place][0] for place in unread}
        nodes = enumerate(self.layer_of)
        return {p for p, (layer, n) in nodes if layer in last and self.final[layer][n]}

    @cached_property
    def final(self) -> list[list[bool]]:
        return [[bool(x) for x in layer.is_final] for layer in self.problem.nodes.layers]

    def run(self, place: int, core: int, constants: dict[Part, int]) -> Run:
        """What a node needs on a core."""
        costs = self.problem.costs
        kind, column = int(costs.kind[place]), costs.cores.index(core)
        streamed = int(costs.streamed[kind, column])
        nest = self.problem.nodes.layers[self.layer_of[place][0]].nest
        machine = self.problem.accelerator.core(core)
        assert isinstance(machine, ComputeCore)
        operands = memory_operands(nest, machine)
        assert operands is not None
        homes = [self.homes.index_of(core, operand) for operand in operands]
        kept = [None if streamed >> i & 1 else home for i, home in enumerate(homes)]
        reads = [
            Read(tensor, kept[1 + read])
            for read in range(len(nest.inputs))
            for tensor in self._tensors(place, read, constants)
        ]
        reads += [Read(tensor, kept[0]) for tensor in self.makers.get((place, PARTIAL_SUMS), ())]
        return Run(
            core=core,
            runtime=int(costs.runtime[kind, column]),
            onchip=float(costs.onchip[kind, column]),
            offchip=float(costs.offchip[kind, column]),
            reads=tuple(dict.fromkeys(reads)),
            output=kept[0],
            rates=self._rates(kind, column) if streamed else (0, 0),
        )

    def _rates(self, kind: int, column: int) -> tuple[int, int]:
        costs = self.problem.costs
        return int(costs.read_rate[kind, column]), int(costs.write_rate[kind, column])

    def _tensors(self, place: int, read: int, constants: dict[Part, int]) -> Iterator[int]:
        yield from self.makers.get((place, read), ())
        if (place, read) in self.constants_of(place) and self.part(place, read) in constants:
            yield constants[self.part(place, read)]


@dataclass(frozen=True)
class Replay:
    """A schedule as plain lists."""

    schedule: Schedule

    @cached_property
    def demands(self) -> Demands:
        return Demands(self.schedule.problem)

    @cached_property
    def exact(self) -> bool:
        return self.schedule.problem.counting is Counting.EXACT

    @cached_property
    def start(self) -> list[int]:
        return ints(self.schedule.start)

    @cached_property
    def end(self) -> list[int]:
        return ints(self.schedule.end)

    @cached_property
    def core(self) -> list[int]:
        return ints(self.schedule.core)

    @cached_property
    def bits(self) -> list[int]:
        return ints(self.schedule.tensors.bits)

    @cached_property
    def tensors(self) -> list[tuple[int, int]]:
        """Node and operand of each tensor."""
        made = self.schedule.tensors
        return list(zip(ints(made.node), ints(made.operand), strict=True))

    @cached_property
    def constants(self) -> dict[Part, int]:
        """The tensor of each part of a constant."""
        found: dict[Part, int] = {}
        for tensor, (node, operand) in enumerate(self.tensors):
            if operand:
                found.setdefault(self.demands.part(node, operand - 1), tensor)
        return found

    @cached_property
    def runs(self) -> list[Run]:
        return [self.demands.run(p, core, self.constants) for p, core in enumerate(self.core)]

    @cached_property
    def stays(self) -> list[Stay]:
        made = self.schedule.residencies
        columns = (made.tensor, made.memory, made.since, made.available, made.until)
        rows = zip(*map(ints, columns), strict=True)
        return [Stay(t, m, since, at, inf if end < 0 else end) for t, m, since, at, end in rows]

    @cached_property
    def where(self) -> dict[tuple[int, int], list[Stay]]:
        """The stays of each tensor in each memory, in the order of time."""
        found: dict[tuple[int, int], list[Stay]] = {}
        for stay in sorted(self.stays, key=lambda x: x.since):
            found.setdefault((stay.tensor, stay.memory), []).append(stay)
        return found

    @cached_property
    def sent(self) -> list[Sent]:
        made = self.schedule.transfers
        ends = zip(ints(made.sending), ints(made.receiving), strict=True)
        places = zip(ints(made.sender), ints(made.receiver), strict=True)
        times = zip(ints(made.start), ints(made.end), strict=True)
        reasons = zip(ints(made.tensor), ints(made.kind), ints(made.node), strict=True)
        energies = zip(made.link_energy, made.memory_energy, strict=True)
        return [
            Sent(tensor, *place, *end, *time, TransferKind(kind), node, float(link), float(memory))
            for (tensor, kind, node), place, end, time, (link, memory) in zip(
                reasons, places, ends, times, energies, strict=True
            )
        ]

    @cached_property
    def streams(self) -> list[Streamed]:
        made = self.schedule.streams
        columns = (made.node, made.sending, made.receiving, made.start, made.end, made.rate)
        return [Streamed(*row) for row in zip(*map(ints, columns), strict=True)]

    @cached_property
    def arriving(self) -> Counter[tuple[int, int, int, int]]:
        """How often each tensor is sent to each memory, from when to when."""
        return Counter((x.tensor, x.receiver, x.start, x.end) for x in self.sent)

    @cached_property
    def arrived(self) -> Counter[tuple[int, int, int, int]]:
        """How often each tensor gets room in each memory, from when on, and can be read."""
        return Counter((x.tensor, x.memory, x.since, x.available) for x in self.stays)

    def is_there(self, tensor: int, memory: int, start: float, end: float) -> bool:
        """Whether a tensor can be read in a memory from one time to another."""
        stays = self.where.get((tensor, memory), ())
        return any(stay.available <= start and stay.until >= end for stay in stays)

    def is_offchip(self, tensor: int, start: float, end: float) -> bool:
        """Whether a tensor can be read off the chip from one time to another."""
        return any(self.is_there(tensor, x, start, end) for x in self.demands.homes.offchip)
