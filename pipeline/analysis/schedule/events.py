"""What happens in a schedule, numbered: nodes and transfers; what each of them waits for."""

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

    What streams does so as long as its node runs, so its wires count as those of the node.
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
        """What happens."""
        if event < self._nodes:
            return BarKind.NODE
        return BarKind(int(self._schedule.transfers.kind[self.row(event)]) + FIRST_TRANSFER)

    def row(self, event: int) -> int:
        """Its row in the columns of the schedule."""
        return event if event < self._nodes else event - self._nodes

    def core(self, event: int) -> int | None:
        """The core that runs; ``None`` where none does."""
        return int(self._schedule.core[event]) if event < self._nodes else None

    def _wires(self, event: int) -> Places:
        """The wires that it takes; of a node those of what streams meanwhile."""
        if event < self._nodes:
            return self._streamed_over[event]
        sent, row = self._schedule.transfers, self.row(event)
        return frozenset(self._ways.path(int(sent.sending[row]), int(sent.receiving[row])))

    def _needs(self, event: int) -> Places:
        """The events that make or bring what it reads or sends; they end before it starts."""
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
        """What makes or brings what a node reads."""
        receiver, homes = self._schedule.transfers.receiver, self.memories(node)
        producers = self._producers[node]
        brought = {
            x for p in producers for x in self._sendings[p] if int(receiver[self.row(x)]) in homes
        }
        return producers | brought | self._brought_for[node]

    def fills(self, event: int) -> Places:
        """The memories that it needs room in."""
        if event < self._nodes:
            return self.memories(event)
        return frozenset((int(self._schedule.transfers.receiver[self.row(event)]),))

    def frees(self, event: int) -> Places:
        """The memories that may have more room after it."""
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
        """The predecessors of each node that it reads from."""
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
        """The transfers that were planned for each node, to bring what it reads."""
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
        """The wires on which something streams while a node runs."""
        found: dict[int, Places] = defaultdict(frozenset)
        streams = self._schedule.streams
        rows = (streams.node.tolist(), streams.sending.tolist(), streams.receiving.tolist())
        for node, sending, receiving in zip(*rows, strict=True):
            found[node] |= frozenset(self._ways.path(sending, receiving))
        return found
