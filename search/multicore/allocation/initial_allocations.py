"""Allocations to begin a search with, each made by a simple rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from graphlib import TopologicalSorter
from typing import final

import numpy as np
from numpy.typing import NDArray

from nestmap.model.arrays import Floats, Ints
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.cn_costs import INFEASIBLE
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import ScheduleProblem

Placing = list[int]
"""The column of each gene's core in the cost table."""


def initial_allocations(problem: ScheduleProblem) -> tuple[Allocation, ...]:
    """What simple rules make of a problem, each allocation once, the usually better ones first.

    Genes as early as they can end (list scheduling, HEFT); the longest ones first, each where it
    ends first; each on its fastest, on its cheapest core and on that with the least product of
    both, of equal ones the least busy; the network in stretches of equal time, one for each core;
    its depths back and forth over the cores; all on one core, for each of them; the cores in turn.
    """
    genes = InitialAllocations(problem)
    placings = (
        genes.earliest_end(),
        genes.balanced_loads(lambda runtime, _: runtime * 0),
        genes.balanced_loads(lambda runtime, _: runtime),
        genes.balanced_loads(lambda _, energy: energy),
        genes.balanced_loads(lambda runtime, energy: runtime * energy),
        genes.stretches(),
        genes.back_and_forth(),
        *genes.single_core(),
        genes.round_robin(),
    )
    return tuple(dict.fromkeys(map(genes.allocation, placings)))


@final
class InitialAllocations:
    """The genes of a problem: what each costs in total on each core, and what passes between them.

    Rows of matrices are genes, columns the cores of the cost table; infinite: it cannot run there.
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self._problem = problem
        self._space = problem.space
        self._cores = problem.costs.cores

    def allocation(self, placing: Placing) -> Allocation:
        """The cores of these columns."""
        return tuple(self._cores[column] for column in placing)

    def earliest_end(self) -> Placing:
        """Heterogeneous earliest finish time: each gene where it ends first, urgent ones first.

        Urgent is what has the longest way to the end. A gene begins where those have ended that it
        reads, and what they write has come. Source: Topcuoglu et al., "Performance-effective and
        low-complexity task scheduling for heterogeneous computing", 2002.
        """
        ends = np.zeros(len(self._runtime))
        free = np.zeros(len(self._cores))
        placing = [0] * len(ends)
        for gene in sorted(range(len(ends)), key=lambda gene: -self._urgency[gene]):
            start = free.copy()
            for before, bits in self._reads[gene].items():
                start = np.maximum(start, ends[before] + bits * self._slowness[placing[before]])
            end = start + self._runtime[gene]
            placing[gene] = column = int(np.argmin(end))
            ends[gene] = free[column] = end[column]
        return placing

    def balanced_loads(self, cost: Callable[[Floats, Floats], Floats]) -> Placing:
        """Each gene where it costs least; of equal ones on the core where it ends first.

        Those that run longest are placed first. ``cost`` is made of runtime (cycles) and energy
        (pJ) of a gene on the cores that it can run on.
        """
        busy = np.zeros(len(self._cores))
        placing = [0] * len(self._runtime)
        for gene in np.argsort(-self._shortest, kind="stable").tolist():
            columns = self._columns(gene)
            costs = cost(self._runtime[gene, columns], self._energy[gene, columns])
            least = columns[costs <= costs.min() * (1 + 1e-9)]
            column = int(least[np.argmin((busy + self._runtime[gene])[least])])
            busy[column] += self._runtime[gene, column]
            placing[gene] = column
        return placing

    def stretches(self) -> Placing:
        """What is free, in its order, cut into as many parts of equal time as there are cores."""
        order = [gene for gene in self._order if gene in self._space.free_groups]
        time = self._shortest[order]
        middle = np.cumsum(time) - time / 2
        parts = (middle / max(time.sum(), 1) * len(self._busy)).astype(np.int64).tolist()
        return self._placed({x: self._busy[part] for x, part in zip(order, parts, strict=True)})

    def back_and_forth(self) -> Placing:
        """Genes of one depth on one core, the next ones on the next, and back from the last."""
        turns = [*self._busy, *self._busy[::-1]]
        found = sorted({self._depths[gene] for gene in self._space.free_groups})
        turn_of = {depth: turns[turn % len(turns)] for turn, depth in enumerate(found)}
        return self._placed({gene: turn_of[self._depths[gene]] for gene in self._space.free_groups})

    def single_core(self) -> Iterator[Placing]:
        """All genes on one core that can run there, the others where they are fastest."""
        for column in self._busy:
            yield self._placed(dict.fromkeys(self._space.free_groups, column))

    def round_robin(self) -> Placing:
        """One gene after the other on the next core that it can run on."""
        columns = {gene: self._columns(gene) for gene in self._space.free_groups}
        turns = enumerate(columns.items())
        return self._placed({gene: int(can[turn % len(can)]) for turn, (gene, can) in turns})

    def _columns(self, gene: int) -> Ints:
        return np.flatnonzero(np.isfinite(self._runtime[gene]))

    def _placed(self, wanted: dict[int, int]) -> Placing:
        """Genes in these columns, where they can run there; all others where they are fastest."""
        placing: Placing = np.argmin(self._runtime, axis=1).tolist()
        for gene, column in wanted.items():
            if np.isfinite(self._runtime[gene, column]):
                placing[gene] = column
        return placing

    @cached_property
    def _busy(self) -> list[int]:
        """The columns of the cores that something free may run on."""
        free = self._allowed[list(self._space.free_groups)]
        columns: list[int] = np.flatnonzero(free.any(axis=0)).tolist()
        return columns

    @cached_property
    def _allowed(self) -> NDArray[np.bool_]:
        """Where each gene may run and can; where it can nowhere, where it may."""
        may = np.array(
            [[core in gene.cores for core in self._cores] for gene in self._space.groups]
        )
        can = ~self._sums(self._problem.costs.runtime == INFEASIBLE).astype(np.bool_) & may
        return np.where(can.any(axis=1, keepdims=True), can, may)

    @cached_property
    def _runtime(self) -> Floats:
        """Cycles; none of what can run nowhere."""
        cycles = self._sums(self._problem.costs.runtime).clip(0)
        return np.where(self._allowed, cycles, np.inf)

    @cached_property
    def _energy(self) -> Floats:
        """pJ, in the cores and for what is streamed."""
        costs = self._problem.costs
        energy: Floats = costs.onchip + costs.offchip
        return np.where(self._allowed, self._sums(energy), np.inf)

    def _sums(self, table: NDArray[np.bool_] | Ints | Floats) -> Floats:
        """The sums over the nodes of each gene."""
        sums = np.zeros((len(self._space.groups), len(self._cores)))
        np.add.at(sums, self._space.group_of, table[self._problem.costs.kind])
        return sums

    @cached_property
    def _shortest(self) -> Floats:
        """The runtime of each gene on its fastest core."""
        shortest: Floats = self._runtime.min(axis=1)
        return shortest

    @cached_property
    def _reads(self) -> list[dict[int, float]]:
        """For each gene those that it reads, and how many bits."""
        edges, gene_of, count = self._problem.nodes.edges, self._space.group_of, len(self._runtime)
        producers, consumers = gene_of[edges.producer], gene_of[edges.consumer]
        pairs, place = np.unique(producers * count + consumers, return_inverse=True)
        bits = np.bincount(place, weights=edges.bits, minlength=len(pairs))
        reads = [dict[int, float]() for _ in range(count)]
        for pair, total in zip(pairs.tolist(), bits.tolist(), strict=True):
            producer, consumer = divmod(pair, count)
            if producer != consumer:
                reads[consumer][producer] = total
        return reads

    @cached_property
    def _order(self) -> list[int]:
        """The genes, each behind those that it reads."""
        return list(TopologicalSorter(dict(enumerate(self._reads))).static_order())

    @cached_property
    def _depths(self) -> list[int]:
        """How many genes each one has to wait for, one after the other."""
        depths = [0] * len(self._reads)
        for gene in self._order:
            depths[gene] = max((depths[x] + 1 for x in self._reads[gene]), default=0)
        return depths

    @cached_property
    def _urgency(self) -> list[float]:
        """Cycles from the start of each gene to the end of all, on middling cores and ways."""
        middling = np.where(self._allowed, self._runtime, 0).sum(axis=1) / self._allowed.sum(axis=1)
        urgency: list[float] = middling.tolist()
        slowness = float(self._slowness.mean())
        after = [0.0] * len(urgency)
        for gene in self._order[::-1]:
            urgency[gene] += after[gene]
            for before, bits in self._reads[gene].items():
                after[before] = max(after[before], bits * slowness + urgency[gene])
        return urgency

    @cached_property
    def _slowness(self) -> Floats:
        """Cycles for a bit from one core to another, on the slowest wire of its way."""
        ways = Interconnect(accelerator=self._problem.accelerator)
        return np.array([[_slowness(ways, a, b) for b in self._cores] for a in self._cores])


def _slowness(ways: Interconnect, sender: CoreId, receiver: CoreId) -> float:
    if sender == receiver:
        return 0.0
    widths = (ways.channels[wire].bandwidth for wire in ways.path(sender, receiver))
    return max((1 / width for width in widths if width is not None), default=0.0)
