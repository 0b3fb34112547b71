"""The requirements of every schedule of a problem: nodes in order, and transfers of their inputs.

Nodes with the same requirements are grouped into kinds, so that thousands of nodes are few kinds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from typing import Final, NamedTuple, final

import numpy as np

from nestmap.model import Counting
from nestmap.model.arrays import Flags, Ints
from nestmap.model.dims import OUTPUT
from nestmap.model.multicore.cn_workload import WITHIN_GROUP, CnWorkload
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.multicore.top_memories import NO_MEMORY, TopMemories
from nestmap.search.multicore.allocation.core_distances import (
    CoreDistances,
    Relays,
    cycles,
    to_lists,
)
from nestmap.search.multicore.schedule.node_reads import constant_reads

# --- the parts of tensors that are read from off-chip memory, since no node writes them ---


class OffChipInput(NamedTuple):
    """A part of a tensor in off-chip memory, and the input of a node that reads it."""

    part: int
    read: int
    bits: int


def offchip_inputs(nodes: CnWorkload) -> tuple[tuple[OffChipInput, ...], ...]:
    """For each node, the parts that it needs from off-chip memory."""
    reads = constant_reads(nodes)
    node, part, place = to_lists(reads.node), to_lists(reads.part), to_lists(reads.place)
    supplies = map(OffChipInput, part, place, to_lists(reads.bits[reads.part]))
    found: list[list[OffChipInput]] = [[] for _ in range(len(nodes))]
    for reader, supply in zip(node, supplies, strict=True):
        found[reader].append(supply)
    return tuple(map(tuple, found))


# --- the tensors that memories may hold while a node is scheduled, with unscheduled readers ---
# All other tensors leave when their last reader ends, so that the node eventually fits.

NodeSet = int
"""A bit for each node."""

LARGEST: Final = 500
"""The largest network in nodes that is analyzed in this detail."""


class HeldTensor(NamedTuple):
    """A tensor: its bits, the nodes that bring it into a memory, and its readers."""

    bits: int
    makers: NodeSet
    readers: NodeSet


@final
class MemoryPressure:
    """The tensors of a problem, and the most bits of them held at a time.

    ``own`` are the bits that each node needs for itself, in addition to outputs of other nodes.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        supplies: tuple[tuple[OffChipInput, ...], ...],
        bits: list[int],
    ) -> None:
        self._prefetches = bool(problem.options.prefetch)
        self.own: Final = [
            made + sum(x.bits for x in read) for made, read in zip(bits, supplies, strict=True)
        ]
        self._tensors = (*self._outputs(problem, bits), *self._parts(supplies))
        self._close = len(bits) <= LARGEST

    def held(self, planned: NodeSet, waiting: NodeSet) -> int | None:
        """The most bits that a memory holds for nodes that may not be scheduled yet.

        ``planned`` are all nodes that may be scheduled by then, ``waiting`` those that may not be.
        ``None``: not analyzed.
        """
        if not self._close:
            return None
        return sum(x.bits for x in self._tensors if x.makers & planned and x.readers & waiting)

    def _outputs(self, problem: ScheduleProblem, bits: list[int]) -> Iterable[HeldTensor]:
        edges, readers = problem.nodes.edges, [0] * len(bits)
        columns = to_lists(edges.producer), to_lists(edges.consumer), to_lists(edges.read)
        for producer, consumer, read in zip(*columns, strict=True):
            if read != WITHIN_GROUP:
                readers[producer] |= 1 << consumer
        return (HeldTensor(size, 1 << x, readers[x]) for x, size in enumerate(bits))

    def _parts(self, supplies: tuple[tuple[OffChipInput, ...], ...]) -> Iterable[HeldTensor]:
        """The off-chip inputs, brought for their first reader or before the first node runs.

        An input with one reader is not held while that reader waits.
        """
        sizes: dict[int, int] = {}
        readers: dict[int, NodeSet] = {}
        for node, read in enumerate(supplies):
            for x in read:
                sizes[x.part] = x.bits
                readers[x.part] = readers.get(x.part, 0) | 1 << node
        for part, nodes in readers.items():
            if self._prefetches:
                yield HeldTensor(sizes[part], -1, nodes)
            elif nodes.bit_count() > 1:
                yield HeldTensor(sizes[part], nodes, nodes)


# --- routes by which outputs reach their readers if other nodes relocate them in between ---
# The scheduler sends a tensor from the memory that has held it longest: that of its producer,
# unless the tensor was evicted or forwarded. Both happen only while another node is scheduled that
# neither precedes the producer nor follows the reader.


@final
class IndirectPaths:
    """The locations of outputs and the nodes that may relocate them.

    ``columns`` are a group's cores.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        columns: tuple[tuple[int, ...], ...],
        holdings: MemoryPressure,
    ) -> None:
        self._problem = problem
        self._holdings = holdings
        self._genes = to_lists(problem.space.group_of)
        self._kinds = to_lists(problem.costs.kind)
        self._columns = columns
        self._homes = TopMemories(accelerator=problem.accelerator)
        self._everything = (1 << len(problem.nodes)) - 1

    @cached_property
    def sharing(self) -> tuple[tuple[int, ...], ...]:
        """For each column, the cores (in order) that share the memory for its core's outputs."""
        places = [self._homes.index_of(core, OUTPUT) for core in self._problem.costs.cores]
        return tuple(
            (core,) if place == NO_MEMORY else self._homes.memories[place].cores
            for core, place in zip(self._problem.costs.cores, places, strict=True)
        )

    def stops(self, writer: int, reader: int) -> tuple[Relays, ...]:
        """By the producer's column, the memories that may hold its output until it is read."""
        between = self._everything & ~(self._before[writer] | self._after[reader])
        between &= ~(1 << writer | 1 << reader)
        crowding = self._crowding(writer, reader, between)
        readers = between & self._readers[writer]
        if readers:
            leaves = crowding or self._streaming & readers
            return (Relays.ALL if leaves else Relays.CHIP,) * len(self.sharing)
        return tuple(Relays.ALL if crowding & movers else Relays.NONE for movers in self._movers)

    def _crowding(self, writer: int, reader: int, between: NodeSet) -> NodeSet:
        """The nodes that may cause evictions from a memory."""
        planned = self._everything & ~(self._after[reader] | 1 << reader)
        waiting = self._everything & ~(self._before[writer] | 1 << writer)
        crowding = between & self._streaming
        left = between & ~crowding
        held = self._holdings.held(planned, waiting) if left else 0
        if held is None:
            return between
        while left:
            node = left.bit_length() - 1
            left ^= 1 << node
            if held + self._holdings.own[node] > self._rooms[self._genes[node]]:
                crowding |= 1 << node
        return crowding

    @cached_property
    def _rooms(self) -> list[int]:
        """For each node group, the bits of the smallest memory of its possible cores."""
        homes, numbers = self._homes.memories, self._problem.costs.cores
        sizes = [
            min((x.level.instance.size for x in homes if core in x.cores), default=0)
            for core in numbers
        ]
        return [min((sizes[x] for x in columns), default=0) for columns in self._columns]

    @cached_property
    def _streaming(self) -> NodeSet:
        """The nodes that may stream an operand and therefore empty memories."""
        streamed, nodes = self._problem.costs.streamed, 0
        for node, (gene, kind) in enumerate(zip(self._genes, self._kinds, strict=True)):
            if any(streamed[kind, column] for column in self._columns[gene]):
                nodes |= 1 << node
        return nodes

    @cached_property
    def _movers(self) -> list[NodeSet]:
        """For each column, the nodes that may need capacity in its core's output memory."""
        on = [0] * len(self._problem.costs.cores)
        for node, gene in enumerate(self._genes):
            for column in self._columns[gene]:
                on[column] |= 1 << node
        movers = [0] * len(on)
        for column, cores in enumerate(self.sharing):
            for other, core in enumerate(self._problem.costs.cores):
                if core in cores:
                    movers[column] |= on[other]
        return movers

    @cached_property
    def _edges(self) -> list[tuple[int, int, int]]:
        edges = self._problem.nodes.edges
        columns = to_lists(edges.producer), to_lists(edges.consumer), to_lists(edges.read)
        return sorted(zip(*columns, strict=True))

    @cached_property
    def _readers(self) -> list[NodeSet]:
        """The readers of each node's output."""
        readers = [0] * len(self._problem.nodes)
        for writer, reader, read in self._edges:
            if read != WITHIN_GROUP:
                readers[writer] |= 1 << reader
        return readers

    @cached_property
    def _before(self) -> list[NodeSet]:
        """For each node, all nodes that must end before it."""
        before = [0] * len(self._problem.nodes)
        for writer, reader, _ in self._edges:
            before[reader] |= before[writer] | 1 << writer
        return before

    @cached_property
    def _after(self) -> list[NodeSet]:
        """For each node, all nodes that must wait for it."""
        after = [0] * len(self._problem.nodes)
        for writer, reader, _ in reversed(self._edges):
            after[writer] |= after[reader] | 1 << reader
        return after


# --- the requirements of every schedule of a problem ---

Choices = tuple[tuple[int, ...], ...]
"""For each node group, columns of the cost table: its possible cores."""


class Flow(NamedTuple):
    """The data along edges from nodes of one group and kind to nodes of another.

    ``read`` is as in :class:`~nestmap.model.multicore.cn_workload.CnEdges`; ``stops`` are the
    memories that it may pass through, by the column of the producer.
    """

    producer: int
    consumer: int
    producer_kind: int
    consumer_kind: int
    read: int
    bits: int
    stops: tuple[Relays, ...]


class CapacityRequirement(NamedTuple):
    """The off-chip inputs of a node: its kind, and the bits of each input."""

    kind: int
    reads: tuple[tuple[int, int], ...]


@final
class ProblemFacts:
    """The properties of a problem that do not depend on the possible cores; computed once."""

    def __init__(self, problem: ScheduleProblem) -> None:
        self._problem = problem
        self.routes = CoreDistances(problem.accelerator)

    @cached_property
    def supplies(self) -> tuple[tuple[OffChipInput, ...], ...]:
        """For each node, the parts that it needs from off-chip memory."""
        return offchip_inputs(self._problem.nodes)

    @cached_property
    def written(self) -> list[int]:
        """The bits that each node writes."""
        nodes = self._problem.nodes
        rows = (layer.bits_of(layer.nest.output, nodes.counting) for layer in nodes.layers)
        return [bits for row in rows for bits in to_lists(row)]

    @cached_property
    def holdings(self) -> MemoryPressure:
        """The tensors that memories may hold."""
        return MemoryPressure(self._problem, self.supplies, self.written)


@final
class Requirements:
    """The requirements of a problem; rows of matrices are kinds, columns cores of its cost table.

    In the reference's counting nothing is known about transfers, so only nodes and their order
    count.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        columns: Choices | None = None,
        givens: ProblemFacts | None = None,
    ) -> None:
        self.problem = problem
        self.givens: Final = givens or ProblemFacts(problem)
        self.columns: Final = columns or self._possible(problem)
        self.routes = self.givens.routes
        self.places: Final = [self.routes.place(core) for core in problem.costs.cores]
        self.offchip: Final = self.routes.place(self.routes.offchip)
        self.sends: Final = problem.counting is Counting.EXACT
        self.delay = cache(self._delay)
        self.onloading = cache(self._onloading)
        self.offloading = cache(self._offloading)
        self.crosses = cache(self._crosses)
        self.supply_crosses = cache(self._supply_crosses)
        self.result_crosses = cache(self._result_crosses)
        self.stream_bits = cache(self._stream_bits)

    def among(self, columns: Choices) -> Requirements:
        """The requirements for a subset of allocations, which are tighter."""
        return Requirements(self.problem, columns, self.givens)

    @property
    def gene(self) -> Ints:
        """The node group of each node."""
        return self.problem.space.group_of

    @property
    def kind(self) -> Ints:
        """The kind of each node."""
        return self.problem.costs.kind

    @cached_property
    def wires(self) -> dict[int, int]:
        """The bandwidth in bit/cycle of each channel that may be required."""
        return self.routes.bandwidths if self.sends else {}

    @staticmethod
    def _possible(problem: ScheduleProblem) -> Choices:
        """For each node group, the columns of the cores that can run its nodes."""
        genes, costs = problem.space.groups, problem.costs
        possible = np.ones((len(genes), len(costs.cores)), dtype=np.bool_)
        np.logical_and.at(possible, problem.space.group_of, costs.runtime[costs.kind] >= 0)
        return tuple(
            tuple(column for column in map(costs.column, gene.cores) if possible[place, column])
            for place, gene in enumerate(genes)
        )

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The distinct flows."""
        return tuple(dict.fromkeys(flow for _, _, flow in self._edges))

    @cached_property
    def edges(self) -> list[tuple[int, int, int]]:
        """Producer, consumer and flow of each edge, sorted by producer.

        Producers precede consumers.
        """
        places = {flow: place for place, flow in enumerate(self.flows)}
        return [(producer, consumer, places[flow]) for producer, consumer, flow in self._edges]

    @cached_property
    def _edges(self) -> list[tuple[int, int, Flow]]:
        edges, genes, kinds = self.problem.nodes.edges, to_lists(self.gene), to_lists(self.kind)
        columns = (edges.producer, edges.consumer, edges.read, edges.bits)
        first, after, reads, bits = map(to_lists, columns)
        return [
            (x, y, Flow(genes[x], genes[y], kinds[x], kinds[y], read, size, self._stops(x, y)))
            for x, y, read, size in sorted(zip(first, after, reads, bits, strict=True))
        ]

    def _stops(self, producer: int, consumer: int) -> tuple[Relays, ...]:
        return self._detours.stops(producer, consumer) if self.sends else ()

    @cached_property
    def _detours(self) -> IndirectPaths:
        return IndirectPaths(self.problem, self.columns, self.givens.holdings)

    def streamed(self, kind: int, operand: int) -> Flags:
        """The cores on which an operand of a kind streams.

        Slot 0 is the output, ``1 + i`` input ``i``.
        """
        streamed: Ints = self.problem.costs.streamed[kind]
        return np.asarray(streamed >> operand & 1, dtype=np.bool_)

    @cached_property
    def _sharing(self) -> tuple[tuple[int, ...], ...]:
        """For each column, the cores that share the memory for its core's outputs."""
        return tuple(tuple(map(self.routes.place, x)) for x in self._detours.sharing)

    def _senders(self, kind: int) -> Ints:
        """The memory that has a kind's output when a node ends, by the node's core."""
        first = [cores[0] for cores in self._sharing]
        return np.where(self.streamed(kind, 0), self.offchip, first)

    def _receivers(self, kind: int, read: int) -> Ints:
        """The memory that must have a kind's input when a node starts, by the node's core."""
        return np.where(self.streamed(kind, max(1 + read, 0)), self.offchip, self.places)

    def _stops_of(self, flow: Flow) -> list[Relays]:
        """By the producer's core, the memories that the tensor may pass through."""
        streamed = self.streamed(flow.producer_kind, 0)
        return [
            self.from_offchip if there else stops
            for there, stops in zip(streamed, flow.stops, strict=True)
        ]

    @cached_property
    def from_offchip(self) -> Relays:
        """Off-chip inputs come directly if no other memory has held them as long."""
        times = np.delete(self.routes.times(1, Relays.NONE)[self.offchip], self.offchip)
        return Relays.NONE if (times > 0).all() else Relays.ALL

    def _is_there(self, flow: Flow) -> Flags:
        """By the producer's and the consumer's core, whether they share the tensor's memory."""
        receivers = self._receivers(flow.consumer_kind, flow.read)
        shared = [[place in cores for place in receivers.tolist()] for cores in self._sharing]
        there = np.asarray(shared, dtype=np.bool_)
        return there & ~self.streamed(flow.producer_kind, 0)[:, None]

    def _stays(self, flow: Flow) -> bool:
        """Whether no transfer is needed: along edges for order only, and within a node group."""
        return flow.read == WITHIN_GROUP or flow.producer == flow.consumer or not self.sends

    def _delay(self, flow: Flow) -> Ints:
        """The fewest cycles between the nodes, by the producer's and the consumer's core."""
        if self._stays(flow):
            return np.zeros((len(self.places), len(self.places)), dtype=np.int64)
        senders, stops = self._senders(flow.producer_kind), self._stops_of(flow)
        rows = zip(senders.tolist(), stops, strict=True)
        times = np.stack([self.routes.times(flow.bits, x)[sender] for sender, x in rows])
        receivers = self._receivers(flow.consumer_kind, flow.read)
        return np.where(self._is_there(flow), 0, times[:, receivers])

    def _crosses(self, flow: Flow, wire: int) -> Flags:
        """By the producer's and the consumer's core, whether the tensor must use a channel."""
        if self._stays(flow):
            return np.zeros((len(self.places), len(self.places)), dtype=np.bool_)
        senders, stops = self._senders(flow.producer_kind), self._stops_of(flow)
        rows = zip(senders.tolist(), stops, strict=True)
        needed = np.stack([self.routes.needed(wire, x)[sender] for sender, x in rows])
        receivers = self._receivers(flow.consumer_kind, flow.read)
        return needed[:, receivers] & ~self._is_there(flow)

    def _supply_crosses(self, kind: int, read: int, wire: int) -> Flags:
        """By core, whether off-chip inputs must use a channel."""
        needed = self.routes.needed(wire, self.from_offchip)
        crosses: Flags = needed[self.offchip, self._receivers(kind, read)]
        return crosses

    def _result_crosses(self, kind: int, wire: int) -> Flags:
        """By core, whether a network output must use a channel to leave the chip."""
        crosses: Flags = self.routes.needed(wire, Relays.NONE)[self._senders(kind), self.offchip]
        return crosses

    def _stream_bits(self, kind: int, wire: int) -> Ints:
        """By core, the bits that a node of that kind streams over a channel while it runs."""
        costs, width = self.problem.costs, self.wires[wire]
        straight = self.routes.needed(wire, Relays.NONE)
        read = costs.read_rate[kind].clip(0, width) * straight[self.offchip, self.places]
        write = costs.write_rate[kind].clip(0, width) * straight[self.places, self.offchip]
        passing: Ints = np.where(costs.streamed[kind] != 0, (read + write).clip(0, width), 0)
        bits: Ints = passing * costs.runtime[kind].clip(0)
        return bits

    def _onloading(self, need: CapacityRequirement) -> Ints:
        """By core, the fewest cycles from the start until a node has its off-chip inputs."""
        least = np.zeros(len(self.places), dtype=np.int64)
        if not self.sends:
            return least
        for read, bits in need.reads:
            receivers = self._receivers(need.kind, read)
            times = self.routes.times(bits, self.from_offchip)[self.offchip, receivers]
            least = np.maximum(least, times)
        for wire, width in self.wires.items():
            busy = np.zeros_like(least)
            for read, bits in need.reads:
                busy += cycles(bits, width) * self.supply_crosses(need.kind, read, wire)
            least = np.maximum(least, busy)
        return least

    def _offloading(self, kind: int, bits: int) -> Ints:
        """By core, the fewest cycles in which a network output leaves the chip."""
        times: Ints = self.routes.times(bits, Relays.NONE)[self._senders(kind), self.offchip]
        return times

    @cached_property
    def needs(self) -> tuple[CapacityRequirement, ...]:
        """The off-chip inputs of each node, by kind."""
        return tuple(
            CapacityRequirement(kind, tuple((x.read, x.bits) for x in supplies))
            for kind, supplies in zip(self.kind.tolist(), self.supplies, strict=True)
        )

    @property
    def supplies(self) -> tuple[tuple[OffChipInput, ...], ...]:
        """For each node, the parts that it needs from off-chip memory."""
        return self.givens.supplies

    @cached_property
    def results(self) -> dict[int, int]:
        """The nodes whose output is a network output: finished, and read by no layer."""
        if not self.sends:
            return {}
        nodes = self.problem.nodes
        producers = nodes.edges.producer[nodes.edges.read >= 0]
        read = set(np.searchsorted(nodes.first_nodes, producers, side="right").tolist())
        continued = set(to_lists(nodes.edges.producer[nodes.edges.read != WITHIN_GROUP]))
        found: dict[int, int] = {}
        for place, layer in enumerate(nodes.layers):
            first = int(nodes.first_nodes[place])
            if place + 1 not in read:
                final = (first + i for i in to_lists(np.flatnonzero(layer.is_final)))
                found |= {
                    node: self.givens.written[node] for node in final if node not in continued
                }
        return found
