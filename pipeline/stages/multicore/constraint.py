"""Stages that allocate nodes to cores by constraint programming, with a lower bound."""

from dataclasses import dataclass, field, replace
from typing import Protocol, final

from nestmap.model import Objective
from nestmap.model.multicore.allocation import Allocation, Generation, Individual, StreamBound
from nestmap.model.multicore.schedule import AllocationSearch, ScheduleProblem
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.multicore.inter_core import (
    Evaluation,
    InterCoreMappingStage,
    make_evaluator,
)
from nestmap.pipeline.util.extras import check_installed
from nestmap.search.multicore.allocation.cp_sat_search import ConstraintOptions, prove
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations


class BoundLedger(Protocol):
    """Records the result of constraint programming, and returns an earlier one."""

    def bound(self) -> StreamBound | None:
        """The recorded result, if there is one."""
        ...

    def record_bound(self, found: StreamBound) -> None:
        """Records the result."""


class ProofObserver(Protocol):
    """Receives the progress of constraint programming."""

    def prove(self, problem: ScheduleProblem) -> None:
        """The search begins."""


@final
@dataclass(frozen=True, eq=False)
class ConstraintSearch:
    """A problem, the best allocation found for it, and its lower bound."""

    problem: ScheduleProblem
    result: StreamBound

    @property
    def seeds(self) -> tuple[Allocation, ...]:
        """The best allocation, if there is one, as the start of another search."""
        return () if self.result.best is None else (self.result.best.allocation,)


@final
@dataclass(frozen=True)
class ConstraintAllocationStage(Stage[ScheduleProblem, ConstraintSearch]):
    """Finds the allocation with the lowest latency, and a lower bound, with CP-SAT of OR-Tools.

    It starts with ``seeds`` and the allocations of simple rules. ``workers`` allocations are
    scheduled at a time; results do not depend on their number. A result in the ``ledger`` is
    reused.

    Raises:
        InputError: where OR-Tools is not installed.
    """

    options: ConstraintOptions = field(default_factory=ConstraintOptions)
    workers: int = 1
    seeds: tuple[Allocation, ...] = ()
    evaluation: Evaluation = make_evaluator
    ledger: BoundLedger | None = None
    observer: ProofObserver | None = None

    def __call__(self, problem: ScheduleProblem, /) -> ConstraintSearch:
        known = None if self.ledger is None else self.ledger.bound()
        return ConstraintSearch(problem, self._prove(problem) if known is None else known)

    def _prove(self, problem: ScheduleProblem) -> StreamBound:
        check_installed("allocation by constraint programming", ("ortools",), "cp")
        if self.observer is not None:
            self.observer.prove(problem)
        evaluate = self.evaluation(problem, self.workers)
        seeds = (*self.seeds, *initial_allocations(problem))
        found = prove(problem, evaluate, self.options, seeds)
        if self.ledger is not None:
            self.ledger.record_bound(found)
        return found


@final
@dataclass(frozen=True)
class SeededInterCoreMappingStage(Stage[ConstraintSearch, AllocationSearch]):
    """A genetic search that also starts with the best allocation of constraint programming."""

    search: InterCoreMappingStage = field(default_factory=InterCoreMappingStage)

    def __call__(self, found: ConstraintSearch, /) -> AllocationSearch:
        seeds = (*found.seeds, *self.search.seeds)
        search = replace(self.search, seeds=seeds)(found.problem)
        return replace(search, bound=found.result)


@final
@dataclass(frozen=True)
class ConstraintFrontStage(Stage[ConstraintSearch, AllocationSearch]):
    """A search result whose front is the best allocation of constraint programming, if any."""

    def __call__(self, found: ConstraintSearch, /) -> AllocationSearch:
        result, problem = found.result, found.problem
        front = () if result.best is None else (result.best,)
        unscheduled = Individual(allocation=initial_allocations(problem)[0], fitness=None)
        only = Generation(
            number=0,
            population=front or (unscheduled,),
            front=front,
            evaluations=result.evaluations,
        )
        return AllocationSearch(problem, (Objective.LATENCY,), only, result)
