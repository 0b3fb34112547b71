"""Selects the survivors of a generation and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model.multicore.population import AllocationObjective, Individual

Objectives = tuple[AllocationObjective, ...]


def select_survivors(
    individuals: Sequence[Individual], objectives: Objectives, count: int
) -> tuple[Individual, ...]:
    """The best individuals by NSGA-II, followed by infeasible ones, the most recent first.

    A search without a feasible individual thus still changes its population.
    """
    # DEAP takes long to import, so only its users should pay for that
    from nestmap.search.multicore.allocation.nsga2 import select  # noqa: PLC0415

    known = [x for x in individuals if x.fitness is not None]
    if len(known) > count:
        rows = select([costs_of(x, objectives) for x in known], count)
        return tuple(known[row] for row in rows)
    others = [x for x in individuals if x.fitness is None]
    return (*known, *others[::-1])[:count]


def pareto_front(
    individuals: Sequence[Individual], objectives: Objectives
) -> tuple[Individual, ...]:
    """The non-dominated individuals, sorted by the first objective.

    Among individuals with equal costs only the first is included; infeasible ones are excluded.
    """
    from nestmap.search.multicore.allocation.nsga2 import non_dominated  # noqa: PLC0415 (as above)

    known = [x for x in individuals if x.fitness is not None]
    by_costs = {costs_of(x, objectives): x for x in known[::-1]}
    costs = sorted(by_costs)
    return tuple(by_costs[costs[row]] for row in non_dominated(costs))


def costs_of(individual: Individual, objectives: Objectives) -> tuple[float, ...]:
    """The objectives of an individual, in order; infinite if it is infeasible."""
    if individual.fitness is None:
        return (float("inf"),) * len(objectives)
    return tuple(individual.fitness.of(objective) for objective in objectives)
