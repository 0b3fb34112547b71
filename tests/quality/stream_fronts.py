"""Fronts of allocations: what Stream found, what nestmap finds, and how much each covers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nestmap.model.multicore.allocation import Allocation, Fitness
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.search.multicore.allocation.genetic import GeneticOptions, evolve
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations
from tests.golden.stream_runs import RecordedRun, allocation_of

SEEDS = 25
"""How many runs of ours are looked at: a run is one sample, and single ones differ by a quarter."""

Judge = Callable[[Sequence[Allocation]], Sequence[Fitness | None]]
"""What allocations cost."""


class Cost(NamedTuple):
    """What a front is looked at by: pJ and cycles."""

    energy: float
    latency: float


def hypervolume(front: Iterable[Cost], worst: Cost) -> float:
    """The part of the rectangle up to ``worst`` where some cost is as good."""
    covered, lowest = 0.0, worst.latency
    for cost in sorted(x for x in front if x.energy < worst.energy):
        if cost.latency < lowest:
            covered += (worst.energy - cost.energy) * (lowest - cost.latency)
            lowest = cost.latency
    return covered / (worst.energy * worst.latency)


@dataclass(frozen=True)
class Arena:
    """A problem of Stream, and the worst that any of its first allocations costs, by one judge."""

    run: RecordedRun
    problem: ScheduleProblem
    judge: Judge

    @cached_property
    def worst(self) -> Cost:
        """The most energy and the most cycles of all that Stream's own search has tried."""
        tried = dict.fromkeys(x.cores for x in self.run.evaluated)
        known = self.costs(allocation_of(self.problem, self.run, x) for x in tried)
        return Cost(max(x.energy for x in known), max(x.latency for x in known))

    def costs(self, allocations: Iterable[Allocation]) -> tuple[Cost, ...]:
        """Of those that can be scheduled."""
        found = self.judge(tuple(allocations))
        return tuple(Cost(x.energy, x.latency) for x in found if x is not None)

    def covered(self, allocations: Iterable[Allocation]) -> float:
        """The part of the rectangle up to the worst where one of them is as good."""
        return hypervolume(self.costs(allocations), self.worst)

    def theirs(self) -> tuple[float, ...]:
        """What the fronts of Stream's genetic algorithm cover, one for each seed."""
        return tuple(
            self.covered(allocation_of(self.problem, self.run, cores) for cores in front)
            for front in self.run.searched.fronts
        )

    def ours(self) -> tuple[float, ...]:
        """What ours cover with no more evaluations, one for each seed."""
        return tuple(self.covered(self.front(seed)) for seed in range(SEEDS))

    def front(self, seed: int) -> tuple[Allocation, ...]:
        """The front of our genetic algorithm."""
        searched = self.run.searched
        options = GeneticOptions(
            individuals=searched.individuals, generations=searched.generations, seed=seed
        )
        seeds = initial_allocations(self.problem)
        *_, last = evolve(self.problem.space, options, self.judge, seeds)
        assert last.evaluations <= searched.evaluations
        return tuple(x.allocation for x in last.front)
