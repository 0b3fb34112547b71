"""Lists the allocations that a search found, and the Pareto front of each generation."""

from collections.abc import Iterable

import numpy as np

from nestmap.model.multicore.allocation import Allocation, Fitness, Generation
from nestmap.pipeline.analysis.schedule.tables import FrontView, Ints


def front_view(generations: Iterable[Generation]) -> FrontView:
    """The distinct feasible individuals of all generations, and the front of each generation."""
    found: dict[Allocation, tuple[Fitness, int]] = {}
    numbers: list[int] = []
    fronts: list[Ints] = []
    for generation in generations:
        for individual in (*generation.population, *generation.front):
            if individual.fitness is not None:
                found.setdefault(individual.allocation, (individual.fitness, generation.number))
        place = {allocation: i for i, allocation in enumerate(found)}
        best = [x for x in generation.front if x.fitness is not None]
        best.sort(key=lambda x: x.fitness.latency if x.fitness else 0)
        fronts.append(np.array([place[x.allocation] for x in best], dtype=np.int64))
        numbers.append(generation.number)
    fitness = [x for x, _ in found.values()]
    return FrontView(
        allocations=tuple(found),
        latency=np.array([x.latency for x in fitness], dtype=np.int64),
        energy=np.array([x.energy for x in fitness], dtype=np.float64),
        memory=np.array([x.memory for x in fitness], dtype=np.int64),
        generation=np.array([number for _, number in found.values()], dtype=np.int64),
        numbers=tuple(numbers),
        fronts=tuple(fronts),
    )
