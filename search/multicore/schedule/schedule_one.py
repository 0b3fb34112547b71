"""Schedules one allocation."""

from __future__ import annotations

from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.search.multicore.schedule.read_schedule import schedule_of
from nestmap.search.multicore.schedule.scheduler import Scheduler


def schedule(problem: ScheduleProblem, allocation: Allocation) -> Schedule:
    """The schedule of an allocation: times of nodes and transfers, memory contents, costs.

    Proceeds event by event as in Stream (Symons et al., IEEE TC 2024): the candidate rule selects
    one of the nodes whose predecessors are scheduled; its inputs are sent to its core as early as
    channels and memory capacities allow, evicting other tensors if necessary; then it runs.
    Deterministic.

    Raises:
        InputError: if the allocation assigns a node group to a core that is not allowed.
        InfeasibleError: if a tensor exceeds the capacity of a memory; the message names both.
    """
    scheduler = Scheduler(problem)
    return schedule_of(problem, allocation, scheduler.needs, scheduler.run(allocation))
