"""The requirements of every schedule of a problem: nodes in order, and transfers of their inputs.

Nodes with the same requirements are grouped into kinds, so that thousands of nodes are few kinds.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Final, NamedTuple, final

import numpy as np

from nestmap.model.arrays import Flags, Ints
from nestmap.model.multicore.cn_workload import WITHIN_GROUP
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.multicore.split_options import Convention
from nestmap.search.multicore.allocation.core_distances import (
    CoreDistances,
    Relays,
    cycles,
    to_lists,
)
from nestmap.search.multicore.allocation.indirect_paths import IndirectPaths
from nestmap.search.multicore.allocation.memory_pressure import MemoryPressure
from nestmap.search.multicore.allocation.offchip_inputs import OffChipInput, offchip_inputs

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
        rows = (layer.bits_of(layer.nest.output, nodes.convention) for layer in nodes.layers)
        return [bits for row in rows for bits in to_lists(row)]

    @cached_property
    def holdings(self) -> MemoryPressure:
        """The tensors that memories may hold."""
        return MemoryPressure(self._problem, self.supplies, self.written)


@final
class Requirements:
    """The requirements of a problem; rows of matrices are kinds, columns cores of its cost table.

    In Stream's convention nothing is known about transfers, so only nodes and their order count.
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
        self.sends: Final = problem.convention is Convention.EXACT
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
