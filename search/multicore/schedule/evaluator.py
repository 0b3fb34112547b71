"""Schedules many allocations in parallel threads and returns their costs."""

from collections.abc import Sequence
from queue import SimpleQueue
from typing import final

from nestmap.model.multicore.allocation import Allocation, Fitness
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.search.multicore.schedule.read_schedule import schedule_of
from nestmap.search.multicore.schedule.scheduler import Scheduler
from nestmap.search.parallel import map_in_order

# --- schedules one allocation ---


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


@final
class Evaluator:
    """Schedules allocations on several threads.

    The results do not depend on the number of threads.
    """

    def __init__(self, problem: ScheduleProblem, workers: int = 1) -> None:
        self._workers = max(1, workers)
        self._idle = SimpleQueue[Scheduler]()
        first = Scheduler(problem)
        for scheduler in (first, *(first.copy_for_thread() for _ in range(self._workers - 1))):
            self._idle.put(scheduler)

    def __call__(self, allocations: Sequence[Allocation], /) -> tuple[Fitness | None, ...]:
        """The costs of each allocation's schedule; ``None`` for an infeasible one.

        Raises:
            InputError: if an allocation assigns a node group to a core that is not allowed.
        """
        return tuple(map_in_order(self._fitness, allocations, self._workers))

    def _fitness(self, allocation: Allocation) -> Fitness | None:
        scheduler = self._idle.get()
        try:
            return scheduler.fitness(allocation)
        finally:
            self._idle.put(scheduler)
