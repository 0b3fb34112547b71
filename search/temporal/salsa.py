"""SALSA: simulated annealing over the orders of all prime factors of the temporal loops.

Source: Jung et al., "SALSA: Simulated Annealing based Loop-Ordering Scheduler for DNN
Accelerators", AICAS 2023: exhaustive where it can be, annealing where it must.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

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
from nestmap.search.temporal.infeasibility import add_failures, infeasibility_statistics
from nestmap.search.temporal.loma import loma
from nestmap.search.temporal.loop_factors import prime_factors
from nestmap.search.temporal.memory_allocation import Failures
from nestmap.search.temporal.ordering import PinnedOrder, pinned_orders
from nestmap.search.temporal.permutations import count_permutations, encode

START_LIMIT = 6
"""Loop factors of the full search that annealing starts from: 720 orders at most, mostly."""


class Annealing(Frozen, frozen=True):
    """How long to anneal, and how hot.

    ``iterations`` are the orders that each of the ``chains`` looks at.
    """

    chains: PositiveCount = 8
    iterations: PositiveCount = 2000
    start_temperature: Temperature = 0.05
    cooling: Cooling = 0.995
    seed: Seed = 0

    @property
    def budget(self) -> int:
        """Orders that all chains together look at."""
        return self.chains * self.iterations


def salsa(
    spatial: SpatialProblem,
    objective: Objective,
    annealing: Annealing,
    mapping_type: MappingType,
    workers: int,
) -> Iterator[EvaluationBatch]:
    """Every order that the search looked at and that fits the memories, with its costs.

    First come the orders that LOMA tries with six loop factors, where there are more prime
    factors than that. Memory allocation is greedy: with finer factors it fills memories up to
    where they no longer double their buffers, and then no order of primes is as fast as one of
    larger loops. So what is found is never worse than LOMA's with six. Then come the orders of the
    prime factors: all of them, if they are not more than the budget, else one batch for each
    chain, its rows as they were visited. The first chain starts at LOMA's best order, its loops
    cut into primes; the others start anywhere.

    The user's temporal ordering holds: pinned loops are never swapped. There is at least one
    chain for each way to meet it. ``workers`` threads run the chains; results do not depend on
    their number. The last batch is empty and carries the counts of the orders that do not fit.

    Raises:
        InputError: where the temporal ordering cannot hold.
    """
    ways = tuple(pinned_orders(spatial, None))
    few_factors = _coarse_orders(spatial)
    coarse: tuple[EvaluationBatch, ...] = ()
    if few_factors not in ((), ways):
        coarse = tuple(map(evaluate_batch, loma(spatial, START_LIMIT, mapping_type)))
    yield from coarse
    orders = sum(count_permutations(way.free) for way in ways)
    if few_factors == ways or orders <= annealing.budget:
        yield from map(evaluate_batch, loma(spatial, None, mapping_type))
        return
    start = _best_loops(coarse, objective)
    search = _Search(spatial, objective, annealing, mapping_type, ways, start)
    failures = new_record(Failures)
    chains = range(max(annealing.chains, len(ways)))
    for batch, more in map_in_order(search.chain, chains, workers):
        add_failures(failures, more)
        yield batch
    yield evaluate_batch(MappingBatch.empty(spatial, infeasibility_statistics(spatial, failures)))


def _coarse_orders(spatial: SpatialProblem) -> tuple[PinnedOrder, ...]:
    """The ways to meet the ordering with few loop factors; none if it asks for more of them."""
    try:
        return tuple(pinned_orders(spatial, START_LIMIT))
    except InputError:
        return ()


def _best_loops(batches: tuple[EvaluationBatch, ...], objective: Objective) -> tuple[Loop, ...]:
    """The best order, its loops cut into primes that stay together; empty if there is none."""
    if not any(map(len, batches)):
        return ()
    order = best_of(batches, objective).mappings.row(0).order
    return tuple(Loop(dimension=x.dimension, size=n) for x in order for n in prime_factors(x.size))


@final
@dataclass(frozen=True, slots=True)
class _Search:
    """All that the chains of a search have in common."""

    spatial: SpatialProblem
    objective: Objective
    annealing: Annealing
    mapping_type: MappingType
    ways: tuple[PinnedOrder, ...]
    start: tuple[Loop, ...]  # of the first chain

    def chain(self, number: int) -> tuple[EvaluationBatch, Failures]:
        """What one chain visits, and what it finds not to fit: the same whenever it is asked."""
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
        steps = self.annealing.iterations if count_permutations(way.free) > 1 else 1
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
    """The loops in the order in which they are wanted, then those that are not."""
    left, arranged = Counter(loops), list[Loop]()
    for loop in wanted:
        if left[loop]:
            arranged.append(loop)
            left[loop] -= 1
    return (*arranged, *left.elements())
