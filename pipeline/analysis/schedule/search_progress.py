"""Lists the allocations that a search found, and the Pareto front of each generation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nestmap.model import front_rows
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.population import Fitness, Generation
from nestmap.pipeline.analysis.schedule.tables import Floats, FrontView, Ints


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


def best_by_generation(view: FrontView) -> tuple[Floats, Floats]:
    """The least latency (cycles) and the least energy (pJ) up to each generation."""
    latency = [float(view.latency[front].min()) for front in view.fronts if len(front)]
    energy = [float(view.energy[front].min()) for front in view.fronts if len(front)]
    return np.array(latency), np.array(energy)


def staircase(view: FrontView, generation: int) -> tuple[Floats, Floats]:
    """Latency and energy along the front at that position, by rising latency.

    Fronts with further objectives have more individuals; only these two objectives are drawn.
    """
    front = view.fronts[generation]
    rows = front[front_rows(view.energy[front], view.latency[front].astype(np.float64))[::-1]]
    return view.latency[rows].astype(np.float64), view.energy[rows]
