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
from nestmap.costmodel.evaluate_rows import Columns, evaluate_row, load_order, write_costs
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import check_loops, new_record
from nestmap.costmodel.kernel.work import Work
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
from nestmap.model.arrays import Codes, Floats, Ints
from nestmap.model.units import Cooling, PositiveCount, Seed, Temperature
from nestmap.search.parallel import map_in_order
from nestmap.search.select.best import best_of
from nestmap.search.temporal.loma import feasible_orders, loma, loma_order_count
from nestmap.search.temporal.loop_factors import prime_factors
from nestmap.search.temporal.memory_allocation import (
    Failures,
    Scratch,
    allocate,
    new_scratch,
    write_cuts,
)
from nestmap.search.temporal.ordering import PinnedOrder, pinned_orders
from nestmap.search.temporal.permutations import count_permutations, encode
from nestmap.search.temporal.statistics import add_failures, infeasibility_statistics, with_bounds

# --- one chain of simulated annealing over loop orders, compiled: swap, allocate, cost, accept ---


@final
class Rules:
    """Which loops a chain may swap, its objective, and its cooling schedule."""

    first: int  # range of positions whose loops may be swapped
    end: int
    counts_energy: int  # the objective is the product of the selected figures
    counts_latency: int
    even: int
    temperature: float  # initial temperature, relative to the objective, so without unit
    cooling: float  # factor on the temperature after each step


class VisitedOrders(NamedTuple):
    """The feasible orders that a chain visited, one row each, in the order of visits."""

    orders: Codes
    cuts: Codes
    columns: Columns

    @classmethod
    def allocate(cls, problem: FlatProblem, rows: int, loops: int) -> VisitedOrders:
        """Arrays for so many rows."""
        return cls(
            np.empty((rows, loops), np.uint8),
            np.empty((rows, problem.operands, max(problem.levels)), np.uint8),
            Columns(np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)),
        )

    def head(self, rows: int) -> VisitedOrders:
        """The first rows."""
        columns = Columns(*(column[:rows] for column in self.columns))
        return VisitedOrders(self.orders[:rows], self.cuts[:rows], columns)


class Chain(NamedTuple):
    """The start of a chain and all of its random numbers.

    ``order`` is the first order and serves as scratch; ``draws`` (steps x 3) has the random numbers
    of each step: two from [0, 1) that select the swap, an exponential one that decides acceptance.
    """

    rules: Rules
    order: Codes
    draws: Floats


def anneal(problem: FlatProblem, factors: Ints, walk: Chain, failures: Failures) -> VisitedOrders:
    """Evaluates one order per step; ``failures`` counts the infeasible ones."""
    visited = VisitedOrders.allocate(problem, len(walk.draws), len(walk.order))
    return visited.head(_anneal(problem, new_scratch(failures), factors, walk, visited))


@kernel
def _anneal(
    problem: FlatProblem, scratch: Scratch, factors: Ints, walk: Chain, visited: VisitedOrders
) -> int:
    """Fills ``visited``; returns the number of rows.

    Acceptance follows Metropolis: an order that is worse by the share ``r`` is accepted with
    probability ``exp(-r / temperature)``, the probability that an exponential draw is at least that
    large. An infeasible order has infinite cost: until one fits, every swap is accepted.
    """
    rules, order, draws = walk.rules, walk.order, walk.draws
    work = scratch.work
    rows, current, temperature, a, b = 0, np.inf, rules.temperature, 0, 0
    for step in range(len(draws)):
        if step > 0:
            a, b = _choose_swap(rules, order, draws[step, 0], draws[step, 1])
        order[a], order[b] = order[b], order[a]
        load_order(work, factors, order)
        value = np.inf
        if allocate(problem, scratch, rules.even == 1):
            value = _visit(problem, work, rules, visited, rows)
            for n in range(len(order)):
                visited.orders[rows, n] = order[n]
            rows += 1
        if value <= current * (1 + temperature * draws[step, 2]):
            current = value
        else:
            order[a], order[b] = order[b], order[a]
        temperature *= rules.cooling
    return rows


@kernel
def _choose_swap(rules: Rules, order: Codes, one: float, other: float) -> tuple[int, int]:
    """Two positions with different loops, if there are any; both draws are from [0, 1)."""
    a = rules.first + int(one * (rules.end - rules.first))
    different = 0
    for b in range(rules.first, rules.end):
        different += int(order[b] != order[a])
    skip = int(other * different)
    for b in range(rules.first, rules.end):
        if order[b] != order[a]:
            if skip == 0:
                return a, b
            skip -= 1
    return a, a


@kernel
def _visit(
    problem: FlatProblem, work: Work, rules: Rules, visited: VisitedOrders, row: int
) -> float:
    """Records cuts and costs of the mapping in the work arrays; returns its objective."""
    write_cuts(problem, work, visited.cuts, row)
    write_costs(problem, evaluate_row(problem, work), visited.columns, row)
    value = 1.0
    if rules.counts_energy == 1:
        value *= visited.columns.energy[row]
    if rules.counts_latency == 1:
        value *= visited.columns.latency2[row]
    return value


# --- SALSA ---

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
