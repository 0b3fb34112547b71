"""What a search for allocations has found: the problem, and the last generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from nestmap.model.display import html
from nestmap.model.errors import InfeasibleError
from nestmap.model.multicore.population import AllocationObjective, Fitness, Generation, Individual
from nestmap.model.multicore.schedule import ScheduleProblem


@final
@dataclass(frozen=True, eq=False)
class AllocationSearch:
    """A problem and the last generation of a search; ``objectives`` is what it was looking for."""

    problem: ScheduleProblem
    objectives: tuple[AllocationObjective, ...]
    generation: Generation

    _repr_html_ = html

    @property
    def front(self) -> tuple[Individual, ...]:
        """The best found: no other one is as good in all objectives and better in one."""
        return self.generation.front

    @property
    def is_complete(self) -> bool:
        """Whether all allocations were looked at, so that none is better than those found."""
        found = self.generation
        return found.exhaustive and found.evaluations >= self.problem.space.size

    def best(self, objective: AllocationObjective) -> Individual:
        """The individual with the least of an objective; of equal ones with the least of others.

        Raises:
            InfeasibleError: if none of those that the search looked at can be scheduled.
        """
        found = (*self.front, *self.generation.population)
        known = [(x.fitness, x) for x in found if x.fitness is not None]
        if not known:
            raise InfeasibleError(
                f"none of {self.generation.evaluations} allocations of "
                f"{self.problem.nodes.name} to {self.problem.accelerator.name} can be scheduled"
            )
        return min(known, key=lambda pair: _rank(pair[0], objective))[1]


def _rank(fitness: Fitness, objective: AllocationObjective) -> tuple[float, ...]:
    return (fitness.of(objective), *(fitness.of(other) for other in AllocationObjective))
