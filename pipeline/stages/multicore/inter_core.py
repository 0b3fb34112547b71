"""The stages that allocate nodes to cores by a genetic algorithm, and schedule what was found."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol, final

from nestmap.model import InfeasibleError
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.population import AllocationObjective, Generation, Individual
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.model.multicore.search_result import AllocationSearch
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.multicore.allocation.genetic import Evaluate, GeneticOptions, evolve
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations


class GenerationKeeper(Protocol):
    """Who wants every generation as soon as it is there: the store, a progress bar."""

    def __call__(self, generation: Generation, /) -> None:
        """The next generation."""


class Evaluation(Protocol):
    """Who makes what schedules allocations of a problem, with so many workers."""

    def __call__(self, problem: ScheduleProblem, workers: int, /) -> Evaluate: ...


def evaluator(problem: ScheduleProblem, workers: int) -> Evaluate:
    """The scheduler."""
    # its kernels take long to import, and only those who schedule shall wait
    from nestmap.search.multicore.schedule.evaluator import Evaluator  # noqa: PLC0415

    return Evaluator(problem, workers)


@final
@dataclass(frozen=True)
class InterCoreMappingStage(Stage[ScheduleProblem, AllocationSearch]):
    """Which core runs which nodes, by a genetic algorithm (NSGA-II).

    It begins with ``seeds``, what simple rules make of the problem, and random allocations; or it
    goes on from the generation ``start`` of an interrupted search, of which all that was scheduled
    is ``known``. ``keepers`` get each generation in turn. So many ``workers`` schedule allocations
    at a time; results do not depend on their number.

    Raises:
        InputError: where a seed or the start is not of this problem.
    """

    options: GeneticOptions = field(default_factory=GeneticOptions)
    workers: int = 1
    seeds: tuple[Allocation, ...] = ()
    start: Generation | None = None
    known: tuple[Individual, ...] = ()
    keepers: tuple[GenerationKeeper, ...] = ()
    evaluation: Evaluation = evaluator

    def __call__(self, problem: ScheduleProblem, /) -> AllocationSearch:
        begun = () if self.start is None else (self.start,)
        last = deque(chain(begun, self._kept(problem)), maxlen=1).pop()
        return AllocationSearch(problem, self.options.objectives, last)

    def _kept(self, problem: ScheduleProblem) -> Iterator[Generation]:
        """The generations, each when all keepers have it."""
        evaluate = self.evaluation(problem, self.workers)
        seeds = self.seeds if self.start else (*self.seeds, *initial_allocations(problem))
        generations = evolve(problem.space, self.options, evaluate, seeds, self.start, self.known)
        for generation in generations:
            for keep in self.keepers:
                keep(generation)
            yield generation


Scheduling = Callable[[ScheduleProblem, Allocation], Schedule]
"""What schedules an allocation in full."""


def scheduler(problem: ScheduleProblem, allocation: Allocation) -> Schedule:
    """The schedule of an allocation.

    Raises:
        InfeasibleError: where there is none.
    """
    from nestmap.search.multicore.schedule.schedule_one import schedule  # noqa: PLC0415 (as above)

    return schedule(problem, allocation)


@final
@dataclass(frozen=True)
class BestAllocationStage(Stage[AllocationSearch, Schedule]):
    """The schedule of the best allocation that was found.

    Raises:
        InfeasibleError: if none of them can be scheduled: the reason of one.
    """

    objective: AllocationObjective = AllocationObjective.LATENCY
    scheduling: Scheduling = scheduler

    def __call__(self, search: AllocationSearch, /) -> Schedule:
        try:
            best = search.best(self.objective)
        except InfeasibleError:
            # scheduled again it says why
            best = search.generation.population[0]
        return self.scheduling(search.problem, best.allocation)


@final
@dataclass(frozen=True)
class FrontSchedulesStage(Stage[AllocationSearch, Iterator[Schedule]]):
    """The schedules of all allocations of the front, by the first objective of the search."""

    scheduling: Scheduling = scheduler

    def __call__(self, search: AllocationSearch, /) -> Iterator[Schedule]:
        return (self.scheduling(search.problem, x.allocation) for x in search.front)
