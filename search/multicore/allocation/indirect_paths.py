"""The routes by which outputs may reach their readers if other nodes relocate them in between.

The scheduler sends a tensor from the memory that has held it longest: that of its producer, unless
the tensor was evicted or forwarded. Both happen only while another node is scheduled that neither
precedes the producer nor follows the reader.
"""

from __future__ import annotations

from functools import cached_property
from typing import final

from nestmap.model.dims import OUTPUT
from nestmap.model.multicore.cn_workload import WITHIN_GROUP
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.multicore.top_memories import NO_MEMORY, TopMemories
from nestmap.search.multicore.allocation.core_distances import Relays, to_lists
from nestmap.search.multicore.allocation.memory_pressure import MemoryPressure, NodeSet


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
