"""Lower bounds of latency: from paths of nodes, from the load of cores, from the load of channels.

The bounds count only work that every schedule must do, in any order and with any evictions: each
node runs once, on one core, after its inputs have arrived over some route; off-chip inputs are
transferred at least once, and network outputs leave the chip. Transfers of one tensor may share
channels, so a tensor counts once for each channel that it cannot avoid.
"""

from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from heapq import heappop, heappush
from typing import NamedTuple, final

import numpy as np

from nestmap.model.arrays import Flags, Ints
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.units import Cycles
from nestmap.search.multicore.allocation.core_distances import cycles, to_lists
from nestmap.search.multicore.allocation.requirements import Choices, Requirements


class Job(NamedTuple):
    """Work that starts at ``head`` or later, with at least ``tail`` cycles after its end."""

    head: int
    time: int
    tail: int


def latency_bound(problem: ScheduleProblem, allocation: Allocation) -> Cycles:
    """A lower bound of the latency of every schedule of an allocation, in cycles.

    In the reference's counting, where transfers may be inconsistent, only nodes and their order
    count.

    Raises:
        ValueError: if a core of the allocation has no costs.
    """
    choices = tuple((problem.costs.column(core),) for core in allocation)
    return Bounds(Requirements(problem, choices), choices).latency


def earliest_end(jobs: Iterable[Job]) -> int:
    """The least end of all jobs on one resource, with preemption: longest tail first.

    This is Jackson's preemptive schedule, which is optimal, so no other order ends earlier.
    """
    waiting = sorted(jobs, reverse=True)
    ready: list[tuple[int, int]] = []
    now = end = 0
    while waiting or ready:
        now = max(now, waiting[-1].head) if not ready else now
        while waiting and waiting[-1].head <= now:
            job = waiting.pop()
            heappush(ready, (-job.tail, job.time))
        tail, left = heappop(ready)
        run = min(left, waiting[-1].head - now) if waiting else left
        now += run
        if run < left:
            heappush(ready, (tail, left - run))
        else:
            end = max(end, now - tail)
    return end


@final
class Bounds:
    """Bounds that hold for all allocations that assign each node group to one of its choices."""

    def __init__(self, demands: Requirements, choices: Choices) -> None:
        self.demands = demands
        self.choices = choices
        self._chosen = [np.asarray(columns, dtype=np.int64) for columns in choices]

    @cached_property
    def latency(self) -> int:
        """The lower bound of latency in cycles."""
        return max(self.path, self.busiest_core, self.busiest_wire)

    @property
    def path(self) -> int:
        """The longest path of runtimes and transfers in between."""
        ends = map(sum, zip(self.heads, self.runtimes, self.tails, strict=True))
        return max(ends, default=0)

    @property
    def busiest_core(self) -> int:
        """The least time in which every core runs the nodes that cannot run elsewhere."""
        jobs: dict[int, list[Job]] = {}
        for node, gene in enumerate(self._genes):
            if len(self.choices[gene]) == 1:
                job = Job(self.heads[node], self.runtimes[node], self.tails[node])
                jobs.setdefault(self.choices[gene][0], []).append(job)
        return max(map(earliest_end, jobs.values()), default=0)

    @property
    def busiest_wire(self) -> int:
        """The least time in which every channel carries the tensors that cannot avoid it."""
        return max((self._wire_end(wire) for wire in self.demands.wires), default=0)

    @cached_property
    def runtimes(self) -> list[int]:
        """The least runtime of each node."""
        return self._least(self.demands.problem.costs.runtime[kind] for kind in self._kinds)

    @cached_property
    def heads(self) -> list[int]:
        """The least start of each node."""
        heads = self._least(map(self.demands.onloading, self.demands.needs))
        for producer, consumer, flow in self.demands.edges:
            ready = heads[producer] + self.runtimes[producer] + self._delays[flow]
            heads[consumer] = max(heads[consumer], ready)
        return heads

    @cached_property
    def tails(self) -> list[int]:
        """The least time from the end of each node to the end of all."""
        demands, tails = self.demands, [0] * len(self._kinds)
        for node, bits in demands.results.items():
            times = demands.offloading(self._kinds[node], bits)
            tails[node] = int(times[self._columns(node)].min())
        for producer, consumer, flow in reversed(demands.edges):
            after = self._delays[flow] + self.runtimes[consumer] + tails[consumer]
            tails[producer] = max(tails[producer], after)
        return tails

    @cached_property
    def _kinds(self) -> list[int]:
        return to_lists(self.demands.kind)

    @cached_property
    def _genes(self) -> list[int]:
        return to_lists(self.demands.gene)

    def _columns(self, node: int) -> Ints:
        return self._chosen[self._genes[node]]

    def _least(self, rows: Iterable[Ints]) -> list[int]:
        """For each node, the least value over its choices."""
        return [int(row[self._columns(node)].min()) for node, row in enumerate(rows)]

    @cached_property
    def _delays(self) -> list[int]:
        """For each flow, the least time between its nodes."""
        delays = ((x, self.demands.delay(x)) for x in self.demands.flows)
        return [int(times[self._ends(x.producer, x.consumer)].min()) for x, times in delays]

    def _ends(self, producer: int, consumer: int) -> tuple[Ints, ...]:
        return np.ix_(self._chosen[producer], self._chosen[consumer])

    def _wire_end(self, wire: int) -> int:
        """The least end on a channel.

        Jobs are counted in bits, since streams may use part of the width.
        """
        width = self.demands.wires[wire]
        jobs = (
            Job(job.head * width, job.time, job.tail * width)
            for job in (*self._sent(wire).values(), *self._streams(wire))
        )
        return cycles(earliest_end(jobs), width)

    def _sent(self, wire: int) -> dict[tuple[bool, int], Job]:
        """The earliest use of a channel by each tensor: off-chip parts and outputs."""
        width, sent = self.demands.wires[wire], dict[tuple[bool, int], Job]()
        for tensor, bits, head, tail in (*self._supplied(wire), *self._written(wire)):
            tail_before = sent[tensor].tail if tensor in sent else 0
            sent[tensor] = Job(head, cycles(bits, width) * width, max(tail, tail_before))
        return sent

    def _supplied(self, wire: int) -> Iterator[tuple[tuple[bool, int], int, int, int]]:
        @cache
        def crosses(gene: int, kind: int, read: int) -> bool:
            flags = self.demands.supply_crosses(kind, read, wire)
            return bool(flags[self._chosen[gene]].all())

        for node, supplies in enumerate(self.demands.supplies):
            for part, read, bits in supplies:
                if crosses(self._genes[node], self._kinds[node], read):
                    yield (False, part), bits, 0, self.runtimes[node] + self.tails[node]

    def _written(self, wire: int) -> Iterator[tuple[tuple[bool, int], int, int, int]]:
        demands, runtimes = self.demands, self.runtimes
        certain = self._certain(wire)
        for producer, consumer, flow in self.demands.edges:
            if certain[flow]:
                bits, head = demands.flows[flow].bits, self.heads[producer] + runtimes[producer]
                yield (True, producer), bits, head, runtimes[consumer] + self.tails[consumer]
        for node, bits in demands.results.items():
            crosses = demands.result_crosses(self._kinds[node], wire)
            if crosses[self._columns(node)].all():
                yield (True, node), bits, self.heads[node] + runtimes[node], 0

    def _certain(self, wire: int) -> list[bool]:
        """For each flow, whether it cannot avoid a channel."""
        crossings: list[Flags] = [
            self.demands.crosses(flow, wire)[self._ends(flow.producer, flow.consumer)]
            for flow in self.demands.flows
        ]
        return [bool(x.all()) for x in crossings]

    def _streams(self, wire: int) -> Iterator[Job]:
        @cache
        def least(gene: int, kind: int) -> int:
            return int(self.demands.stream_bits(kind, wire)[self._chosen[gene]].min())

        for node, ends in enumerate(zip(self._genes, self._kinds, strict=True)):
            if least(*ends):
                yield Job(self.heads[node], least(*ends), self.tails[node])
