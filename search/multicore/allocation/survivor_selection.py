"""Which allocations go on, and which no other one beats."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model.multicore.population import AllocationObjective, Individual

Objectives = tuple[AllocationObjective, ...]


def select_survivors(
    individuals: Sequence[Individual], objectives: Objectives, count: int
) -> tuple[Individual, ...]:
    """The best so many by NSGA-II; behind them those that cannot be scheduled, the last first.

    So a search that has found nothing yet moves on.
    """
    # DEAP takes long to import, and only its users should wait
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
    """The individuals that no other one is as good as in all objectives and better than in one.

    The one with the least of the first objective first. Of several with the same costs only the
    first; those that cannot be scheduled are not on it.
    """
    from nestmap.search.multicore.allocation.nsga2 import non_dominated  # noqa: PLC0415 (as above)

    known = [x for x in individuals if x.fitness is not None]
    by_costs = {costs_of(x, objectives): x for x in known[::-1]}
    costs = sorted(by_costs)
    return tuple(by_costs[costs[row]] for row in non_dominated(costs))


def costs_of(individual: Individual, objectives: Objectives) -> tuple[float, ...]:
    """What shall be small, in the order of the objectives; infinite without a schedule."""
    if individual.fitness is None:
        return (float("inf"),) * len(objectives)
    return tuple(individual.fitness.of(objective) for objective in objectives)
