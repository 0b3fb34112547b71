"""Numbers the events of a schedule, nodes and transfers, with their dependencies."""

from __future__ import annotations

from collections import defaultdict
from functools import cache, cached_property
from typing import final

import numpy as np

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.model.multicore.top_memories import NO_MEMORY, TopMemories
from nestmap.pipeline.analysis.schedule.link_occupancy import FIRST_TRANSFER
from nestmap.pipeline.analysis.schedule.tables import BarKind, Ints

Places = frozenset[int]


@final
class Events:
    """The events of a schedule: first its nodes, then the transfers.

    Off-chip streaming lasts as long as its node, so its channels count as those of the node.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._nodes = len(schedule.core)
        self._ways = Interconnect(accelerator=schedule.problem.accelerator)
        self.start: Ints = np.concatenate((schedule.start, schedule.transfers.start))
        self.end: Ints = np.concatenate((schedule.end, schedule.transfers.end))
        self.wires = cache(self._wires)
        self.needs = cache(self._needs)

    def kind(self, event: int) -> BarKind:
        """The kind of an event."""
        if event < self._nodes:
            return BarKind.NODE
        return BarKind(int(self._schedule.transfers.kind[self.row(event)]) + FIRST_TRANSFER)

    def row(self, event: int) -> int:
        """The event's row in the columns of the schedule."""
        return event if event < self._nodes else event - self._nodes

    def core(self, event: int) -> int | None:
        """The core that runs the event; ``None`` for a transfer."""
        return int(self._schedule.core[event]) if event < self._nodes else None

    def _wires(self, event: int) -> Places:
        """The channels that the event takes; for a node, those of its off-chip streaming."""
        if event < self._nodes:
            return self._streamed_over[event]
        sent, row = self._schedule.transfers, self.row(event)
        return frozenset(self._ways.path(int(sent.sending[row]), int(sent.receiving[row])))

    def _needs(self, event: int) -> Places:
        """The events that produce or transfer its inputs; they end before it starts."""
        if event < self._nodes:
            return self._read_by(event)
        sent, row = self._schedule.transfers, self.row(event)
        tensor, sender = int(sent.tensor[row]), int(sent.sender[row])
        needs = {x for x in self._sendings[tensor] if sent.receiver[self.row(x)] == sender}
        if tensor < self._nodes:
            needs.add(tensor)
        if sent.kind[row] <= TransferKind.ACTIVATION:
            needs |= self._producers[int(sent.node[row])]
        return frozenset(needs) - {event}

    def _read_by(self, node: int) -> Places:
        """The events that produce or transfer the inputs of a node."""
        receiver, homes = self._schedule.transfers.receiver, self.memories(node)
        producers = self._producers[node]
        brought = {
            x for p in producers for x in self._sendings[p] if int(receiver[self.row(x)]) in homes
        }
        return producers | brought | self._brought_for[node]

    def fills(self, event: int) -> Places:
        """The memories in which it needs capacity."""
        if event < self._nodes:
            return self.memories(event)
        return frozenset((int(self._schedule.transfers.receiver[self.row(event)]),))

    def frees(self, event: int) -> Places:
        """The memories in which it may free capacity."""
        if event < self._nodes:
            return self.memories(event)
        return frozenset((int(self._schedule.transfers.sender[self.row(event)]),))

    def memories(self, node: int) -> Places:
        """The outermost memories of the core that runs a node."""
        return self._memories[int(self._schedule.core[node])]

    @cached_property
    def ending(self) -> dict[int, list[int]]:
        """The events that end at each time."""
        found: dict[int, list[int]] = defaultdict(list)
        for event, end in enumerate(self.end.tolist()):
            found[end].append(event)
        return found

    @cached_property
    def _memories(self) -> dict[int, Places]:
        accelerator = self._schedule.problem.accelerator
        homes = TopMemories(accelerator=accelerator)
        return {
            core.id: frozenset(homes.index_of(core.id, operand) for operand in core.top_levels)
            - {NO_MEMORY}
            for core in accelerator.cores
        }

    @cached_property
    def _producers(self) -> list[Places]:
        """The predecessors of each node whose output it reads."""
        found: list[set[int]] = [set() for _ in range(self._nodes)]
        edges = self._schedule.problem.nodes.edges
        rows = np.flatnonzero(edges.read >= 0)
        producers: list[int] = edges.producer[rows].tolist()
        consumers: list[int] = edges.consumer[rows].tolist()
        for producer, consumer in zip(producers, consumers, strict=True):
            found[consumer].add(producer)
        return [frozenset(x) for x in found]

    @cached_property
    def _brought_for(self) -> list[Places]:
        """The transfers of the inputs of each node."""
        sent = self._schedule.transfers
        found: list[set[int]] = [set() for _ in range(self._nodes)]
        for row in np.flatnonzero(sent.kind <= TransferKind.ACTIVATION).tolist():
            found[int(sent.node[row])].add(self._nodes + row)
        return [frozenset(x) for x in found]

    @cached_property
    def _sendings(self) -> dict[int, list[int]]:
        """The transfers of each tensor."""
        found: dict[int, list[int]] = defaultdict(list)
        for row, tensor in enumerate(self._schedule.transfers.tensor.tolist()):
            found[tensor].append(self._nodes + row)
        return found

    @cached_property
    def _streamed_over(self) -> dict[int, Places]:
        """The channels that stream operands while a node runs."""
        found: dict[int, Places] = defaultdict(frozenset)
        streams = self._schedule.streams
        rows = (streams.node.tolist(), streams.sending.tolist(), streams.receiving.tolist())
        for node, sending, receiving in zip(*rows, strict=True):
            found[node] |= frozenset(self._ways.path(sending, receiving))
        return found
