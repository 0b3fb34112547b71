"""Initial allocations for a search, each constructed by a simple rule."""

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
"""The column of each node group's core in the cost table."""


def initial_allocations(problem: ScheduleProblem) -> tuple[Allocation, ...]:
    """The distinct allocations that simple rules construct, the usually better ones first.

    The rules: earliest finish time (list scheduling, HEFT); longest node groups first, each on the
    core where it ends first; each on its fastest core, its lowest-energy core and the core with the
    least product of both, ties by load; the network in sequences of equal time, one per core; its
    depths back and forth over the cores; all on one core, for each core; round robin.
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


def single_core_allocations(problem: ScheduleProblem) -> dict[CoreId, Allocation]:
    """By core: all node groups that it can run on that core, the others on their fastest core.

    Only cores that can run a node group which may run on several.
    """
    return InitialAllocations(problem).single_cores()


@final
class InitialAllocations:
    """The node groups of a problem: their total costs on each core, and the data between them.

    Rows of matrices are node groups, columns the cores of the cost table; infinity marks a core
    that cannot run a group.
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self._problem = problem
        self._space = problem.space
        self._cores = problem.costs.cores

    def allocation(self, placing: Placing) -> Allocation:
        """The cores of these columns."""
        return tuple(self._cores[column] for column in placing)

    def single_cores(self) -> dict[CoreId, Allocation]:
        """The allocations of :func:`single_core_allocations`."""
        placings = zip(self._busy, self.single_core(), strict=True)
        return {self._cores[column]: self.allocation(placing) for column, placing in placings}

    def earliest_end(self) -> Placing:
        """Heterogeneous earliest finish time: each node group where it ends first, by upward rank.

        The upward rank is the length of the longest path to the end. A node group starts when its
        predecessors have ended and their outputs have arrived. Source: Topcuoglu et al.,
        "Performance-effective and low-complexity task scheduling for heterogeneous computing",
        2002.
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
        """Each node group on its cheapest core; ties go to the core where it ends first.

        Node groups with the longest runtime are assigned first. ``cost`` combines runtime (cycles)
        and energy (pJ) of a node group on the cores that can run it.
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
        """Free node groups in order, divided into sequences of equal time, one per core."""
        order = [gene for gene in self._order if gene in self._space.free_groups]
        time = self._shortest[order]
        middle = np.cumsum(time) - time / 2
        parts = (middle / max(time.sum(), 1) * len(self._busy)).astype(np.int64).tolist()
        return self._placed({x: self._busy[part] for x, part in zip(order, parts, strict=True)})

    def back_and_forth(self) -> Placing:
        """Node groups of one depth on one core, the next depth on the next core, back and forth."""
        turns = [*self._busy, *self._busy[::-1]]
        found = sorted({self._depths[gene] for gene in self._space.free_groups})
        turn_of = {depth: turns[turn % len(turns)] for turn, depth in enumerate(found)}
        return self._placed({gene: turn_of[self._depths[gene]] for gene in self._space.free_groups})

    def single_core(self) -> Iterator[Placing]:
        """All node groups on one core if it can run them, the others on their fastest core."""
        for column in self._busy:
            yield self._placed(dict.fromkeys(self._space.free_groups, column))

    def round_robin(self) -> Placing:
        """Each node group on the next core that can run it, round robin."""
        columns = {gene: self._columns(gene) for gene in self._space.free_groups}
        turns = enumerate(columns.items())
        return self._placed({gene: int(can[turn % len(can)]) for turn, (gene, can) in turns})

    def _columns(self, gene: int) -> Ints:
        return np.flatnonzero(np.isfinite(self._runtime[gene]))

    def _placed(self, wanted: dict[int, int]) -> Placing:
        """Node groups in these columns if they can run there; the others on their fastest core."""
        placing: Placing = np.argmin(self._runtime, axis=1).tolist()
        for gene, column in wanted.items():
            if np.isfinite(self._runtime[gene, column]):
                placing[gene] = column
        return placing

    @cached_property
    def _busy(self) -> list[int]:
        """The columns of the cores that can run a free node group."""
        free = self._allowed[list(self._space.free_groups)]
        columns: list[int] = np.flatnonzero(free.any(axis=0)).tolist()
        return columns

    @cached_property
    def _allowed(self) -> NDArray[np.bool_]:
        """The allowed cores that can run each node group; if none can, all allowed ones."""
        may = np.array(
            [[core in gene.cores for core in self._cores] for gene in self._space.groups]
        )
        can = ~self._sums(self._problem.costs.runtime == INFEASIBLE).astype(np.bool_) & may
        return np.where(can.any(axis=1, keepdims=True), can, may)

    @cached_property
    def _runtime(self) -> Floats:
        """Runtimes in cycles; 0 for node groups that no core can run."""
        cycles = self._sums(self._problem.costs.runtime).clip(0)
        return np.where(self._allowed, cycles, np.inf)

    @cached_property
    def _energy(self) -> Floats:
        """Energies in pJ of computation and streams."""
        costs = self._problem.costs
        energy: Floats = costs.onchip + costs.offchip
        return np.where(self._allowed, self._sums(energy), np.inf)

    def _sums(self, table: NDArray[np.bool_] | Ints | Floats) -> Floats:
        """The sums over the nodes of each group."""
        sums = np.zeros((len(self._space.groups), len(self._cores)))
        np.add.at(sums, self._space.group_of, table[self._problem.costs.kind])
        return sums

    @cached_property
    def _shortest(self) -> Floats:
        """The runtime of each node group on its fastest core, in cycles."""
        shortest: Floats = self._runtime.min(axis=1)
        return shortest

    @cached_property
    def _reads(self) -> list[dict[int, float]]:
        """For each node group, the groups that it reads and the bits."""
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
        """The node groups in topological order."""
        return list(TopologicalSorter(dict(enumerate(self._reads))).static_order())

    @cached_property
    def _depths(self) -> list[int]:
        """The depth of each node group: the length of the longest chain of predecessors."""
        depths = [0] * len(self._reads)
        for gene in self._order:
            depths[gene] = max((depths[x] + 1 for x in self._reads[gene]), default=0)
        return depths

    @cached_property
    def _urgency(self) -> list[float]:
        """The upward rank of each node group in cycles, with mean runtimes and transfer times."""
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
        """Cycles per bit from one core to another, on the narrowest channel of the route."""
        ways = Interconnect(accelerator=self._problem.accelerator)
        return np.array([[_slowness(ways, a, b) for b in self._cores] for a in self._cores])


def _slowness(ways: Interconnect, sender: CoreId, receiver: CoreId) -> float:
    if sender == receiver:
        return 0.0
    widths = (ways.channels[wire].bandwidth for wire in ways.path(sender, receiver))
    return max((1 / width for width in widths if width is not None), default=0.0)
