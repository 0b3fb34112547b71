"""The result of a search over allocations: the problem and the last generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from nestmap.model.display import html
from nestmap.model.errors import InfeasibleError
from nestmap.model.multicore.bound import StreamBound
from nestmap.model.multicore.population import AllocationObjective, Fitness, Generation, Individual
from nestmap.model.multicore.schedule import ScheduleProblem


@final
@dataclass(frozen=True, eq=False)
class AllocationSearch:
    """A problem and the last generation of a search that minimized ``objectives``.

    ``bound`` is the result of a search by constraints, if there was one.
    """

    problem: ScheduleProblem
    objectives: tuple[AllocationObjective, ...]
    generation: Generation
    bound: StreamBound | None = None

    _repr_html_ = html

    @property
    def front(self) -> tuple[Individual, ...]:
        """The Pareto-optimal individuals found."""
        return self.generation.front

    @property
    def is_complete(self) -> bool:
        """Whether all allocations were evaluated, so that no better one exists."""
        found = self.generation
        return found.exhaustive and found.evaluations >= self.problem.space.size

    def best(self, objective: AllocationObjective) -> Individual:
        """The individual with the lowest objective; ties are broken by the other objectives.

        Raises:
            InfeasibleError: if none of the evaluated allocations can be scheduled.
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
