"""A network on a single core: what a schedule on several cores is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.population import AllocationObjective, Fitness
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.stages.multicore.inter_core import make_evaluator
from nestmap.search.multicore.allocation.initial_allocations import single_core_allocations


@final
@dataclass(frozen=True, slots=True)
class SingleCoreSchedule:
    """The allocation of all node groups that a core can run to that core, and its costs.

    The other node groups, such as those of vector operators, are on their fastest core.
    """

    core: CoreId
    allocation: Allocation
    fitness: Fitness


def best_on_single_core(
    problem: ScheduleProblem, objective: AllocationObjective
) -> SingleCoreSchedule | None:
    """The best of these over all cores; ``None`` if none of them can be scheduled."""
    allocations = single_core_allocations(problem)
    costs = make_evaluator(problem, 1)(tuple(allocations.values()))
    known = [
        SingleCoreSchedule(core, allocation, fitness)
        for (core, allocation), fitness in zip(allocations.items(), costs, strict=True)
        if fitness is not None
    ]
    return min(known, key=lambda one: one.fitness.of(objective), default=None)
