"""SALSA: simulated annealing over the orders of all prime factors of the temporal loops.

Source: Jung et al., "SALSA: Simulated Annealing based Loop-Ordering Scheduler for DNN
Accelerators", AICAS 2023: exhaustive where it can be, annealing where it must.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from nestmap.costmodel.evaluate import evaluate_batch, factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import check_loops, new_record
from nestmap.model import (
    EvaluationBatch,
    Frozen,
    InputError,
    Loop,
    MappingBatch,
    MappingType,
    Objective,
    SearchStatistics,
    SpatialProblem,
)
from nestmap.model.arrays import Floats
from nestmap.model.units import Cooling, PositiveCount, Seed, Temperature
from nestmap.search.parallel import map_in_order
from nestmap.search.select.best import best_of
from nestmap.search.temporal.annealing import Chain, Rules, VisitedOrders, anneal
from nestmap.search.temporal.bounds import with_bounds
from nestmap.search.temporal.infeasibility import add_failures, infeasibility_statistics
from nestmap.search.temporal.loma import feasible_orders, loma, loma_order_count
from nestmap.search.temporal.loop_factors import prime_factors
from nestmap.search.temporal.memory_allocation import Failures
from nestmap.search.temporal.ordering import PinnedOrder, pinned_orders
from nestmap.search.temporal.permutations import count_permutations, encode

START_LIMIT = 6
"""Loop factors of the full search that precedes annealing: usually at most 720 orders."""


class Annealing(Frozen, frozen=True):
    """The length of annealing and its temperatures.

    ``iterations`` is the number of orders that each of the ``chains`` visits.
    """

    chains: PositiveCount = 8
    iterations: PositiveCount = 2000
    start_temperature: Temperature = 0.05
    cooling: Cooling = 0.995
    seed: Seed = 0

    @property
    def budget(self) -> int:
        """The number of orders that all chains visit together."""
        return self.chains * self.iterations


def salsa(
    spatial: SpatialProblem,
    objective: Objective,
    annealing: Annealing,
    mapping_type: MappingType,
    workers: int,
) -> Iterator[EvaluationBatch]:
    """All feasible orders that the search visits, with their costs.

    If there are more than six prime factors, the orders of LOMA with six loop factors come first.
    Memory allocation is greedy: with finer factors it fills memories until they can no longer
    double-buffer, and then no order of primes is as fast as one of larger loops. The result is
    thus never worse than LOMA's with six. The orders of the prime factors follow: all of them if
    they do not exceed the budget, else one batch for each chain, its rows in the order of visits.
    The first chain starts at LOMA's best order, with its loops split into primes; the others start
    at random orders.

    Pinned loops of the user's temporal ordering are never swapped. There is at least one chain for
    each choice of pinned loops. ``workers`` threads run the chains; results do not depend on
    their number. The last batch is empty and carries the counts of infeasible orders and the
    lower bounds.

    Raises:
        InputError: if the temporal ordering is unsatisfiable.
    """
    extent = _extent(spatial, annealing)
    coarse: tuple[EvaluationBatch, ...] = ()
    if extent.coarse:
        coarse = tuple(map(evaluate_batch, feasible_orders(spatial, START_LIMIT, mapping_type)))
    yield from coarse
    if not extent.chains:
        yield from map(evaluate_batch, loma(spatial, None, mapping_type))
        return
    start = _best_loops(coarse, objective)
    search = _Search(spatial, objective, annealing, mapping_type, extent.ways, start)
    failures = new_record(Failures)
    for batch, more in map_in_order(search.chain, range(extent.chains), workers):
        add_failures(failures, more)
        yield batch
    last = MappingBatch.empty(spatial, infeasibility_statistics(spatial, failures))
    yield evaluate_batch(with_bounds(last))


def salsa_order_count(spatial: SpatialProblem, annealing: Annealing) -> int:
    """The number of orders that :func:`salsa` visits, feasible or not.

    Raises:
        InputError: if the temporal ordering is unsatisfiable.
    """
    extent = _extent(spatial, annealing)
    coarse = sum(count_permutations(way.free) for way in extent.coarse)
    if not extent.chains:
        return coarse + loma_order_count(spatial, None)
    chains = (extent.ways[number % len(extent.ways)] for number in range(extent.chains))
    return coarse + sum(_steps(way, annealing) for way in chains)


class _Extent(NamedTuple):
    """What a search visits: orders of few factors, then chains in the ways to order the primes.

    Without chains it visits all orders of the primes.
    """

    coarse: tuple[PinnedOrder, ...]
    ways: tuple[PinnedOrder, ...]
    chains: int


def _extent(spatial: SpatialProblem, annealing: Annealing) -> _Extent:
    ways = tuple(pinned_orders(spatial, None))
    few_factors = _coarse_orders(spatial)
    coarse = () if few_factors == ways else few_factors
    orders = sum(count_permutations(way.free) for way in ways)
    visits_all = few_factors == ways or orders <= annealing.budget
    return _Extent(coarse, ways, 0 if visits_all else max(annealing.chains, len(ways)))


def _steps(way: PinnedOrder, annealing: Annealing) -> int:
    """The number of orders that a chain visits."""
    return annealing.iterations if count_permutations(way.free) > 1 else 1


def _coarse_orders(spatial: SpatialProblem) -> tuple[PinnedOrder, ...]:
    """The pinned orders with few loop factors; none if the ordering pins more of them."""
    try:
        return tuple(pinned_orders(spatial, START_LIMIT))
    except InputError:
        return ()


def _best_loops(batches: tuple[EvaluationBatch, ...], objective: Objective) -> tuple[Loop, ...]:
    """The best order, each loop split into adjacent primes; empty if there is none."""
    if not any(map(len, batches)):
        return ()
    order = best_of(batches, objective).mappings.row(0).order
    return tuple(Loop(dimension=x.dimension, size=n) for x in order for n in prime_factors(x.size))


@final
@dataclass(frozen=True, slots=True)
class _Search:
    """The data that all chains of a search share."""

    spatial: SpatialProblem
    objective: Objective
    annealing: Annealing
    mapping_type: MappingType
    ways: tuple[PinnedOrder, ...]
    start: tuple[Loop, ...]  # of the first chain

    def chain(self, number: int) -> tuple[EvaluationBatch, Failures]:
        """The visits of one chain and its infeasible orders; deterministic."""
        way = self.ways[number % len(self.ways)]
        seed = np.random.SeedSequence(self.annealing.seed, spawn_key=(number,))
        random = np.random.Generator(np.random.PCG64(seed))
        free = self._first_order(way, number, random)
        factors, codes = encode((*way.inner, *free, *way.outer))
        check_loops(len(codes))
        walk = Chain(self._rules(way), codes, self._draws(way, random))
        problem, failures = flatten(self.spatial), new_record(Failures)
        visited = anneal(problem, factor_table(self.spatial, factors), walk, failures)
        return self._batch(factors, visited), failures

    def _first_order(
        self, way: PinnedOrder, number: int, random: np.random.Generator
    ) -> tuple[Loop, ...]:
        if number == 0:
            return _arrange(way.free, self.start)
        positions: list[int] = random.permutation(len(way.free)).tolist()
        return tuple(way.free[position] for position in positions)

    def _rules(self, way: PinnedOrder) -> Rules:
        rules = new_record(Rules)
        rules.first, rules.end = len(way.inner), len(way.inner) + len(way.free)
        rules.counts_energy = int(self.objective is not Objective.LATENCY)
        rules.counts_latency = int(self.objective is not Objective.ENERGY)
        rules.even = int(self.mapping_type is MappingType.EVEN)
        rules.temperature = self.annealing.start_temperature
        rules.cooling = self.annealing.cooling
        return rules

    def _draws(self, way: PinnedOrder, random: np.random.Generator) -> Floats:
        steps = _steps(way, self.annealing)
        return np.column_stack([random.random((steps, 2)), random.standard_exponential(steps)])

    def _batch(self, factors: tuple[Loop, ...], visited: VisitedOrders) -> EvaluationBatch:
        columns = visited.columns
        return EvaluationBatch(
            mappings=MappingBatch(self.spatial, factors, visited.orders, visited.cuts),
            energy=columns.energy,
            latency0=columns.latency0,
            latency1=columns.latency1,
            latency2=columns.latency2,
            ideal_cycles=int(flatten(self.spatial).ideal_cycles),
            statistics=SearchStatistics(evaluations=len(visited.orders)),
        )


def _arrange(loops: tuple[Loop, ...], wanted: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops in the wanted order, followed by the others."""
    left, arranged = Counter(loops), list[Loop]()
    for loop in wanted:
        if left[loop]:
            arranged.append(loop)
            left[loop] -= 1
    return (*arranged, *left.elements())
