"""The schedule of one allocation."""

from __future__ import annotations

from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.search.multicore.schedule.read_schedule import schedule_of
from nestmap.search.multicore.schedule.scheduler import Scheduler


def schedule(problem: ScheduleProblem, allocation: Allocation) -> Schedule:
    """When each node runs, what is sent when, what each memory holds, and what that costs.

    Event by event as in Stream (Symons et al., IEEE TC 2024): of the nodes whose predecessors are
    scheduled the candidate rule takes one; its inputs are sent to its core as early as wires and
    room allow, for which others may have to leave; then it runs. The same for the same input.

    Raises:
        InputError: where the allocation has a core for a gene that it cannot run on.
        InfeasibleError: where something finds no room, which the text names.
    """
    scheduler = Scheduler(problem)
    return schedule_of(problem, allocation, scheduler.needs, scheduler.run(allocation))
