"""Stages that allocate nodes to cores by a genetic algorithm, and schedule the allocations."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol, final

from nestmap.model import InfeasibleError, Objective
from nestmap.model.evaluation.objective import AllocationObjective
from nestmap.model.multicore.allocation import Allocation, Generation, Individual
from nestmap.model.multicore.schedule import AllocationSearch, Schedule, ScheduleProblem
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.multicore.allocation.genetic import Evaluate, GeneticOptions, evolve
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations


class GenerationLedger(Protocol):
    """Records the generations of a search, and returns those of an interrupted one."""

    def newest_generation(self) -> Generation | None:
        """The last recorded generation, if there is one."""
        ...

    def scheduled_individuals(self) -> tuple[Individual, ...]:
        """All allocations of the recorded generations that were scheduled."""
        ...

    def record_generation(self, generation: Generation) -> None:
        """Records the next generation."""


class SearchObserver(Protocol):
    """Receives the progress of a genetic search."""

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        """The search begins; this many generations follow the first one."""

    def observe(self, generation: Generation) -> None:
        """A generation is complete."""


class Evaluation(Protocol):
    """Makes a function that schedules allocations of a problem with this many workers."""

    def __call__(self, problem: ScheduleProblem, workers: int, /) -> Evaluate: ...


def make_evaluator(problem: ScheduleProblem, workers: int) -> Evaluate:
    """The scheduler."""
    # imported only for scheduling: its kernels take long to import
    from nestmap.search.multicore.schedule.evaluator import Evaluator  # noqa: PLC0415

    return Evaluator(problem, workers)


@final
@dataclass(frozen=True)
class InterCoreMappingStage(Stage[ScheduleProblem, AllocationSearch]):
    """Searches for allocations of nodes to cores with a genetic algorithm (NSGA-II).

    It starts with ``seeds``, the allocations of simple rules, and random ones; or it continues from
    the newest generation in the ``ledger``, whose allocations are not scheduled again. Each
    generation goes to the ledger, then to the ``observer``. ``workers`` allocations are scheduled
    at a time; results do not depend on their number.

    Raises:
        InputError: where a seed or a recorded generation does not belong to this problem.
    """

    options: GeneticOptions = field(default_factory=GeneticOptions)
    workers: int = 1
    seeds: tuple[Allocation, ...] = ()
    evaluation: Evaluation = make_evaluator
    ledger: GenerationLedger | None = None
    observer: SearchObserver | None = None

    def __call__(self, problem: ScheduleProblem, /) -> AllocationSearch:
        if self.observer is not None:
            self.observer.search(problem, self.options.generations)
        newest = None if self.ledger is None else self.ledger.newest_generation()
        recorded = () if newest is None else (newest,)
        last = deque(chain(recorded, self._recorded(problem, newest)), maxlen=1).pop()
        return AllocationSearch(problem, self.options.objectives, last)

    def _recorded(
        self, problem: ScheduleProblem, newest: Generation | None
    ) -> Iterator[Generation]:
        """Computes the generations after ``newest``, and records and reports each of them."""
        evaluate = self.evaluation(problem, self.workers)
        seeds = self.seeds if newest else (*self.seeds, *initial_allocations(problem))
        known = () if self.ledger is None else self.ledger.scheduled_individuals()
        for generation in evolve(problem.space, self.options, evaluate, seeds, newest, known):
            if self.ledger is not None:
                self.ledger.record_generation(generation)
            if self.observer is not None:
                self.observer.observe(generation)
            yield generation


Scheduling = Callable[[ScheduleProblem, Allocation], Schedule]
"""A function that computes the full schedule of an allocation."""


def schedule_allocation(problem: ScheduleProblem, allocation: Allocation) -> Schedule:
    """Schedules an allocation.

    Raises:
        InfeasibleError: where the allocation cannot be scheduled.
    """
    from nestmap.search.multicore.schedule.evaluator import schedule  # noqa: PLC0415 (as above)

    return schedule(problem, allocation)


@final
@dataclass(frozen=True)
class BestAllocationStage(Stage[AllocationSearch, Schedule]):
    """Schedules the best allocation of a search.

    Raises:
        InfeasibleError: if no allocation can be scheduled; it gives the reason for one.
    """

    objective: AllocationObjective = Objective.LATENCY
    scheduling: Scheduling = schedule_allocation

    def __call__(self, search: AllocationSearch, /) -> Schedule:
        try:
            best = search.best(self.objective)
        except InfeasibleError:
            # scheduling it again raises the reason
            best = search.generation.population[0]
        return self.scheduling(search.problem, best.allocation)


@final
@dataclass(frozen=True, eq=False)
class ScheduledSearch:
    """A search for allocations, and its reported schedule."""

    search: AllocationSearch
    schedule: Schedule


@final
@dataclass(frozen=True)
class ScheduledSearchStage(Stage[AllocationSearch, ScheduledSearch]):
    """Adds the schedule that ``best`` computes to a search."""

    best: Stage[AllocationSearch, Schedule] = field(default_factory=BestAllocationStage)

    def __call__(self, search: AllocationSearch, /) -> ScheduledSearch:
        return ScheduledSearch(search, self.best(search))


@final
@dataclass(frozen=True)
class FrontSchedulesStage(Stage[AllocationSearch, Iterator[Schedule]]):
    """The schedules of all allocations on the front, sorted by the search's first objective."""

    scheduling: Scheduling = schedule_allocation

    def __call__(self, search: AllocationSearch, /) -> Iterator[Schedule]:
        return (self.scheduling(search.problem, x.allocation) for x in search.front)
