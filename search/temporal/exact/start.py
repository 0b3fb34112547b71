"""With what an exact search begins: LOMA's orders, and the best of them with all cuts free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    EvaluationBatch,
    InputError,
    Loop,
    MappingType,
    Objective,
    SpatialProblem,
    front_rows,
)
from nestmap.search.parallel import map_in_order
from nestmap.search.temporal.loma import feasible_orders
from nestmap.search.temporal.loop_factors import prime_factors
from nestmap.search.temporal.ordering import PinnedOrder, pinned_orders
from nestmap.search.temporal.salsa import Annealing, salsa

START_LIMIT = 6
"""Loop factors of LOMA's orders."""

MORE_LIMITS = (7, 8)
"""Loop factors of LOMA's orders where these did not suffice."""

SEEDS = (0, 1, 2)
"""Seeds of SALSA where these did not suffice."""

FREED_ORDERS = 6
"""Orders whose cuts are freed."""


def loma_batches(
    spatial: SpatialProblem,
    mapping_type: MappingType,
    limit: int = START_LIMIT,
    workers: int = 1,
) -> Iterator[EvaluationBatch]:
    """LOMA's orders with few factors; none if the user's ordering pins more of them.

    The statistics of the last batch, which has no rows, count the infeasible orders. The batches do
    not depend on the number of ``workers``, which are threads.
    """
    try:
        tuple(pinned_orders(spatial, limit))
    except InputError:
        return
    orders = feasible_orders(spatial, limit, mapping_type, workers)
    yield from map_in_order(evaluate_batch, orders, workers)


def more_batches(
    spatial: SpatialProblem, objective: Objective | None, mapping_type: MappingType, workers: int
) -> Iterator[EvaluationBatch]:
    """LOMA's orders with more factors, and those of SALSA; without the statistics of a search."""
    wanted = objective or Objective.EDP
    for limit in MORE_LIMITS:
        yield from filter(len, loma_batches(spatial, mapping_type, limit, workers))
    for seed in SEEDS:
        found = salsa(spatial, wanted, Annealing(seed=seed), mapping_type, workers)
        yield from filter(len, found)


def best_orders(
    batches: Sequence[EvaluationBatch], objective: Objective | None
) -> tuple[tuple[Loop, ...], ...]:
    """The different best orders of some batches, for an objective or on the front."""
    rows = [(batch, row) for batch in batches for row in _best_rows(batch, objective)]
    if objective is None:
        ranked = rows
    else:
        ranked = sorted(rows, key=lambda place: float(place[0].values(objective)[place[1]]))
    orders = dict.fromkeys(batch.mappings.row(row).order for batch, row in ranked)
    return tuple(orders)[:FREED_ORDERS]


def _best_rows(batch: EvaluationBatch, objective: Objective | None) -> list[int]:
    chosen: list[int]
    if objective is None:
        chosen = front_rows(batch.energy, batch.latency2).tolist()
        return chosen
    chosen = np.argsort(batch.values(objective), kind="stable")[:FREED_ORDERS].tolist()
    return chosen


def in_primes(order: Sequence[Loop], pinned: Sequence[PinnedOrder]) -> PinnedOrder:
    """The order, pinned, with the loops that a user has not pinned split into adjacent primes."""
    way = next(x for x in pinned if _matches(order, x))
    low, high = len(way.inner), len(order) - len(way.outer)
    free = tuple(
        Loop(dimension=loop.dimension, size=size)
        for loop in order[low:high]
        for size in prime_factors(loop.size) or [loop.size]
    )
    return PinnedOrder((*order[:low], *free, *order[high:]), ())


def _matches(order: Sequence[Loop], way: PinnedOrder) -> bool:
    inner, outer = tuple(order[: len(way.inner)]), tuple(order[len(order) - len(way.outer) :])
    return (inner, outer) == (way.inner, way.outer)
