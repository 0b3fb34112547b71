"""The stages that allocate nodes to cores by constraint programming, which bounds the best."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

from nestmap.model import InfeasibleError
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.bound import StreamBound
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.model.multicore.search_result import AllocationSearch
from nestmap.pipeline.stage import Stage
from nestmap.pipeline.stages.multicore.inter_core import (
    Evaluation,
    InterCoreMappingStage,
    Scheduling,
    evaluator,
    scheduler,
)
from nestmap.pipeline.util.extras import check_installed
from nestmap.search.multicore.allocation.cp_sat_search import ConstraintOptions, prove
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations


@final
@dataclass(frozen=True, eq=False)
class ConstraintSearch:
    """A problem, the best allocation for it that was found, and what is proven about that."""

    problem: ScheduleProblem
    result: StreamBound

    @property
    def seeds(self) -> tuple[Allocation, ...]:
        """What another search may begin with: the best allocation, if there is one."""
        return () if self.result.best is None else (self.result.best.allocation,)


@final
@dataclass(frozen=True)
class ConstraintAllocationStage(Stage[ScheduleProblem, ConstraintSearch]):
    """Which core runs which nodes for the least latency, by CP-SAT of OR-Tools, with a bound.

    It begins with ``seeds`` and with what simple rules make of the problem. So many ``workers``
    schedule allocations at a time; results do not depend on their number.

    Raises:
        InputError: where OR-Tools is not installed.
    """

    options: ConstraintOptions = field(default_factory=ConstraintOptions)
    workers: int = 1
    seeds: tuple[Allocation, ...] = ()
    evaluation: Evaluation = evaluator

    def __call__(self, problem: ScheduleProblem, /) -> ConstraintSearch:
        check_installed("allocation by constraint programming", ("ortools",), "cp")
        evaluate = self.evaluation(problem, self.workers)
        seeds = (*self.seeds, *initial_allocations(problem))
        return ConstraintSearch(problem, prove(problem, evaluate, self.options, seeds))


@final
@dataclass(frozen=True)
class SeededInterCoreMappingStage(Stage[ConstraintSearch, AllocationSearch]):
    """A genetic search that begins with what constraint programming has found, too."""

    search: InterCoreMappingStage = field(default_factory=InterCoreMappingStage)

    def __call__(self, found: ConstraintSearch, /) -> AllocationSearch:
        seeds = (*found.seeds, *self.search.seeds)
        return replace(self.search, seeds=seeds)(found.problem)


@final
@dataclass(frozen=True)
class ConstraintScheduleStage(Stage[ConstraintSearch, Schedule]):
    """The schedule of the best allocation that was found.

    Raises:
        InfeasibleError: if none can be scheduled, as far as they were tried.
    """

    scheduling: Scheduling = scheduler

    def __call__(self, found: ConstraintSearch, /) -> Schedule:
        if not found.seeds:
            raise InfeasibleError(
                f"none of {found.result.evaluations} allocations of {found.problem.nodes.name} to "
                f"{found.problem.accelerator.name} can be scheduled"
            )
        return self.scheduling(found.problem, found.seeds[0])
