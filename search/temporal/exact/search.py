"""Exact search: the best of all orders and allocations of one spatial mapping, with a bound.

LOMA's orders come first, then the lattice of all prime factors. For energy, a pass over the paths
with the lowest bounds, with dominance between them, finds the optimum. For other objectives such
passes and descents, which go depth first through what may be better than the best mapping, take
turns, at first with a tenth of the work: on some layers the ones are a hundred times faster, on
some the others. Those of LOMA's orders that are best, with all of their cuts free, come in between.

A limit on the number of labels, or of seconds if there is one, ends a search early. What it returns
then are the best mapping found and a true bound.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from math import inf, nextafter
from typing import NamedTuple, final

import numpy as np
from pydantic import Field

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.costmodel.evaluate_rows import Columns
from nestmap.model import (
    CostBounds,
    EvaluationBatch,
    Frozen,
    InputError,
    Loop,
    MappingBatch,
    MappingType,
    Objective,
    SearchStatistics,
    SpatialProblem,
    front_rows,
)
from nestmap.model.arrays import Floats
from nestmap.model.base import copy_with
from nestmap.model.units import PositiveCount
from nestmap.search.parallel import map_in_order
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.temporal.exact.descent import Descent, Status, descend, new_descent
from nestmap.search.temporal.exact.effort import SearchClock
from nestmap.search.temporal.exact.incumbents import Costs, Incumbents
from nestmap.search.temporal.exact.labels import find_paths, limits_between, new_pool, paths_left
from nestmap.search.temporal.exact.objective_bound import goal_of
from nestmap.search.temporal.exact.space import Prepared, Space, is_too_large, origin_bound, prepare
from nestmap.search.temporal.loma import feasible_orders
from nestmap.search.temporal.loop_factors import prime_factors
from nestmap.search.temporal.ordering import PinnedOrder, pinned_orders
from nestmap.search.temporal.pinned import pinned_batch
from nestmap.search.temporal.salsa import Annealing, salsa

# --- passes over paths, with dominance or depth first ---


class Passed(NamedTuple):
    """The paths left over: their mappings, and the bounds of their costs.

    ``energies`` and ``latencies`` bound all mappings that the pass did not find too costly. They
    mean nothing unless the pass is complete.
    """

    evaluations: EvaluationBatch
    energies: Floats
    latencies: Floats
    is_complete: bool
    labels: int


class Descended(NamedTuple):
    """The end of a depth-first pass."""

    is_complete: bool
    steps: int


def pass_with_dominance(prepared: Prepared, limit: float, known: Incumbents, labels: int) -> Passed:
    """The paths with the lowest bounds below a limit, and for a front below the incumbents.

    The pass is not complete if there are more than ``labels`` partial paths.
    """
    space, flat = _improving_on(known, prepared.space), prepared.flat
    pool = new_pool(flat, space, labels)
    outcome = find_paths(flat, space, pool, limit)
    if not outcome.is_complete:
        empty = MappingBatch.empty(prepared.spatial, SearchStatistics())
        return Passed(evaluate_batch(empty), np.empty(0), np.empty(0), False, outcome.labels)
    orders, cuts, energies, latencies = paths_left(flat, space, pool)
    mappings = MappingBatch(prepared.spatial, prepared.factors, orders, cuts)
    return Passed(evaluate_batch(mappings), energies, latencies, True, outcome.labels)


def pass_depth_first(
    prepared: Prepared, limit: float, known: Incumbents, steps: int
) -> Generator[EvaluationBatch, None, Descended]:
    """All mappings that may be better than those before; returns whether these are all.

    It ends early after so many ``steps``, each of which makes a partial path longer.
    """
    space, flat = _improving_on(known, prepared.space, MOST_POINTS), prepared.flat
    descent, status = new_descent(flat, space), Status(0, 0, steps, limit)
    while status.depth >= 0 and status.steps > 0:
        status = descend(flat, space, descent, status)
        if status.rows:
            yield _evaluated(prepared, descent, status.rows)
    return Descended(status.depth < 0, steps - status.steps)


MOST_POINTS = 1000
"""Points of a front that a depth-first pass remembers; it drops fewer paths if there are more."""


def _improving_on(known: Incumbents, space: Space, room: int = 0) -> Space:
    """The space with these incumbents, and room for more."""
    is_even = space.rule.goal.is_even
    goal = goal_of(known, MappingType.EVEN if is_even else MappingType.UNEVEN, room)
    return space._replace(rule=space.rule._replace(goal=goal))


def _evaluated(prepared: Prepared, descent: Descent, rows: int) -> EvaluationBatch:
    """The rows of a descent, in arrays of their own."""
    orders, cuts = descent.orders[:rows].copy(), descent.cuts[:rows].copy()
    columns = Columns(*(column[:rows].copy() for column in descent.columns))
    return EvaluationBatch(
        mappings=MappingBatch(prepared.spatial, prepared.factors, orders, cuts),
        energy=columns.energy,
        latency0=columns.latency0,
        latency1=columns.latency1,
        latency2=columns.latency2,
        ideal_cycles=int(prepared.flat.ideal_cycles),
        statistics=SearchStatistics(evaluations=rows),
    )


# --- with what an exact search begins: LOMA's orders, and the best of them with all cuts free ---

START_LIMIT = 6
"""Loop factors of LOMA's orders."""

MORE_LIMITS = (7, 8)
"""Loop factors of LOMA's orders where these did not suffice."""

SEEDS = (0, 1, 2)
"""Seeds of SALSA where these did not suffice."""

FREED_ORDERS = 6
"""Orders whose cuts are freed."""


def loma_batches(
    spatial: SpatialProblem, mapping_type: MappingType, limit: int = START_LIMIT, workers: int = 1
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


# --- exact search ---

LABELS_OF_A_SUM = 10
"""Labels with one resource, for energy alone, that take as long as one with all."""

STEPS_PER_LABEL = 4
"""Steps of a depth-first pass, which stores nothing, for each label of the others."""

TURNS = (10, 1)
"""Descents and passes take turns, each time with one of so many of the labels."""

BRIEF = 10
"""Before the last one, a descent makes one of so many of the steps, and takes as long as a pass."""

AS_FAST = 5
"""A pass over the mappings that are as fast as the best one makes one of so many of the labels."""

FREED_LABELS = 1_000
"""Labels for the cuts of one order."""


class ExactOptions(Frozen, frozen=True):
    """What an exact search may do.

    ``labels`` limits the partial mappings that each pass of the search follows. ``gap`` is by
    how many percent the optimum may be below the mapping found. ``workers`` is the number of
    threads; the result does not depend on it.
    """

    mapping_type: MappingType = MappingType.UNEVEN
    labels: PositiveCount = 50_000
    gap: float = Field(default=0.0, ge=0, le=99)
    workers: PositiveCount = 1

    def nothing_known(self, objective: Objective | None) -> Incumbents:
        """The incumbents before a search."""
        return Incumbents(objective, share=1 - self.gap / 100)


@final
@dataclass(frozen=True, slots=True)
class SearchTask:
    """One spatial mapping to search, what is known of others, and what its search may take.

    Only mappings that improve on the ``incumbents`` are of interest. With ``start``, LOMA's orders
    come first, and say why if nothing fits. ``labels`` replaces the limit of the options, if given.
    After so many ``seconds`` no pass begins, but LOMA's orders are evaluated in any case.
    """

    spatial: SpatialProblem
    incumbents: tuple[Costs, ...] = ()
    start: bool = True
    labels: int | None = None
    seconds: float | None = None


def exact(
    task: SearchTask, objective: Objective | None, options: ExactOptions
) -> Iterator[EvaluationBatch]:
    """The mappings that the search evaluates; one of them is optimal unless a limit ends it.

    The statistics of the last batch, which has no rows, give the bound: no mapping of this spatial
    mapping has a lower objective, or none improves on the incumbents. ``unproven`` is 1 there if a
    limit ended the search. Without an objective, those points of the front of energy and latency
    are among them that no incumbent equals or beats.

    Raises:
        InputError: if the user's temporal ordering is unsatisfiable.
    """
    return _Run(task, objective, options).search()


@final
class _Run:
    """One search: the best costs known, and what has been shown."""

    def __init__(
        self, task: SearchTask, objective: Objective | None, options: ExactOptions
    ) -> None:
        if task.labels is not None:
            options = copy_with(options, {"labels": task.labels})
        self._task, self._objective, self._options = task, objective, options
        self._spatial = task.spatial
        self._ways = tuple(pinned_orders(task.spatial, None))
        self._known = options.nothing_known(objective).with_costs(task.incumbents)
        self._goal = goal_of(self._known, options.mapping_type)
        self._found = 0
        self._bound = inf
        self._unproven = 0
        self._labels = 0
        self._clock, self._is_cut = SearchClock(task.seconds), False
        self._has_started = bool(task.incumbents) or not task.start
        self._has_more = False
        self._begun = list[EvaluationBatch]()

    def search(self) -> Iterator[EvaluationBatch]:
        """All evaluations, and the bound in a last batch without rows."""
        pinned = pinned_batch(self._spatial)
        if pinned is not None:
            yield self._noted(evaluate_batch(pinned))
        else:
            prepared = [self._prepared(way) for way in self._ways]
            yield from self._start(prepared)
            for one in prepared:
                yield from self._prove(one)
            if not self._found and not self._has_started:
                yield from self._loma()
        statistics = SearchStatistics(
            bounds=self._bounds(),
            unproven=self._unproven,
            cut=int(self._is_cut),
            labels=self._labels,
        )
        yield evaluate_batch(MappingBatch.empty(self._spatial, statistics))

    def _loma(self) -> Iterator[EvaluationBatch]:
        """LOMA's orders; the statistics of the last batch say why orders are infeasible."""
        self._has_started, kind = True, self._options.mapping_type
        for batch in loma_batches(self._spatial, kind, workers=self._options.workers):
            yield self._noted(batch)

    def _noted(self, batch: EvaluationBatch) -> EvaluationBatch:
        self._known = self._known.with_batch(batch)
        self._found += len(batch)
        return batch

    def _prepared(self, way: PinnedOrder) -> Prepared | None:
        """The space of one way to meet the ordering; none if it is too large."""
        if is_too_large(self._spatial, way, self._goal):
            return None
        return prepare(self._spatial, way, self._goal)

    def _start(self, prepared: Sequence[Prepared | None]) -> Iterator[EvaluationBatch]:
        """LOMA's orders."""
        if self._task.start and any(x is None or x.is_feasible for x in prepared):
            self._begun = list(self._loma())
            yield from self._begun

    def _free_cuts(self) -> Iterator[EvaluationBatch]:
        """The best of the orders with which the search has begun, with all of their cuts free."""
        begun, self._begun = self._begun, []
        for order in best_orders(begun, self._objective):
            chain = None if self._is_late() else self._prepared(in_primes(order, self._ways))
            if chain is not None:
                passed = self._pass(chain, self._known.limit, FREED_LABELS)
                yield self._noted(passed.evaluations)

    def _try_more(self) -> Iterator[EvaluationBatch]:
        """More orders of LOMA and SALSA, for a better incumbent than that of the passes."""
        if self._task.start and not self._has_more and not self._is_late():
            self._has_more = True
            kind, workers = self._options.mapping_type, self._options.workers
            self._begun = list(more_batches(self._spatial, self._objective, kind, workers))
            for batch in self._begun:
                yield self._noted(batch)
            yield from self._free_cuts()

    def _prove(self, prepared: Prepared | None) -> Iterator[EvaluationBatch]:
        """Searches one space to its end, or to a limit; lowers the bound to what has been shown."""
        if prepared is None:
            yield from self._free_cuts()
            yield from self._try_more()
            self._show(-inf, 1)
        elif not prepared.is_feasible:
            return
        elif self._objective is None:
            yield from self._prove_front(prepared)
        elif prepared.is_sum:
            yield from self._prove_sum(prepared)
        else:
            yield from self._prove_in_turns(prepared)

    def _prove_sum(self, prepared: Prepared) -> Iterator[EvaluationBatch]:
        """Until a pass is complete: the paths that it leaves have the least sum."""
        shown, unproven = yield from self._pass_with_dominance(prepared, -inf, 1)
        if unproven and shown < self._known.limit:
            limit = self._known.limit
            yield from self._try_more()
            if self._known.limit < limit:
                shown, unproven = yield from self._pass_with_dominance(prepared, shown, 1)
        self._show(shown, unproven)

    def _prove_in_turns(self, prepared: Prepared) -> Iterator[EvaluationBatch]:
        """Until no path may lead to a better mapping."""
        shown = -inf
        for part in TURNS:
            shown = yield from self._descend_briefly(prepared, shown, part)
            shown, _ = yield from self._pass_with_dominance(prepared, shown, part)
            if shown >= self._known.limit:
                break
            yield from self._free_cuts()
        if shown < self._known.limit:
            limit = self._known.limit
            yield from self._try_more()
            if self._known.limit < limit:
                shown, _ = yield from self._pass_with_dominance(prepared, shown, 1)
        limit = self._known.limit
        if shown < limit and (yield from self._descend(prepared, limit, self._steps)):
            shown = limit
        self._show(shown, int(shown < self._known.limit))
        is_wanted = self._objective is Objective.LATENCY and self._options.gap == 0
        if is_wanted and not self._is_late():
            yield from self._save_energy(prepared)

    def _save_energy(self, prepared: Prepared) -> Iterator[EvaluationBatch]:
        """A short search for a mapping that is as fast as the best one found and takes less energy.

        It looks for points of a front that neither a faster nor a cheaper one would beat.
        """
        labels = max(1, self._options.labels // AS_FAST)
        for energy, latency in set(self._known.costs).difference(self._task.incumbents):
            known = Incumbents(None, ((-inf, nextafter(latency, inf)), (energy, -inf)))
            passed = self._pass(prepared, inf, labels, known)
            yield self._noted(passed.evaluations)
            yield from self._descend(prepared, inf, labels // BRIEF, known)

    def _limits(self, prepared: Prepared, shown: float) -> list[float]:
        """Ever higher limits; none if nothing may be better than what is known."""
        least = max(shown, origin_bound(prepared.space))
        if least >= self._known.limit:
            return []
        limits: list[float] = limits_between(least, self._known.limit).tolist()
        return limits

    def _descend_briefly(
        self, prepared: Prepared, shown: float, part: int
    ) -> Generator[EvaluationBatch, None, float]:
        """Short descents below ever higher limits; returns a bound.

        Where the optimum is close to its bound, which is usual for latency, a low limit leads
        straight to it.
        """
        steps = max(1, self._steps // (BRIEF * part))
        for each in self._limits(prepared, shown):
            limit = min(each, self._known.limit)
            if not (yield from self._descend(prepared, limit, steps)):
                break
            shown = min(limit, self._known.limit)
            if shown >= self._known.limit:
                break
        return shown

    def _pass_with_dominance(
        self, prepared: Prepared, shown: float, part: int
    ) -> Generator[EvaluationBatch, None, tuple[float, int]]:
        """Passes with ever higher limits; returns a bound, and 1 if the pool was too small."""
        shown = max(shown, min(origin_bound(prepared.space), self._known.limit))
        for limit in self._limits(prepared, shown):
            labels = max(1, self._options.labels // part)
            passed = None if self._is_late() else self._pass(prepared, limit, labels)
            if passed is None or not passed.is_complete:
                return shown, 1
            shown = max(shown, self._least(passed, limit))
            yield self._noted(passed.evaluations)
            if len(passed.energies) or limit >= self._known.limit:
                break
        return shown, 0

    def _prove_front(self, prepared: Prepared) -> Iterator[EvaluationBatch]:
        """The same for a front: until no path may lead to a point that is not dominated."""
        if self._is_late():
            self._show(-inf, 1)
            return
        yield from self._free_cuts()
        passed = self._pass(prepared, inf, self._options.labels)
        yield self._noted(passed.evaluations)
        better = self._known.improved_by(passed.energies, passed.latencies)
        if passed.is_complete and not better.any():
            return
        yield from self._try_more()
        is_complete = yield from self._descend(prepared, inf, self._steps)
        self._unproven |= int(not is_complete)

    def _least(self, passed: Passed, limit: float) -> float:
        """The bound that a complete pass has shown: that of its best path, or its limit."""
        if self._objective is None:
            return -inf
        values = self._objective.value_of(passed.energies, passed.latencies)
        return float(np.min(values, initial=limit))

    def _pass(
        self, prepared: Prepared, limit: float, labels: int, known: Incumbents | None = None
    ) -> Passed:
        share = LABELS_OF_A_SUM if prepared.is_sum else 1
        passed = pass_with_dominance(prepared, limit, known or self._known, labels * share)
        self._labels += passed.labels // share
        return passed

    @property
    def _steps(self) -> int:
        return STEPS_PER_LABEL * self._options.labels

    def _descend(
        self, prepared: Prepared, limit: float, steps: int, known: Incumbents | None = None
    ) -> Generator[EvaluationBatch, None, bool]:
        """Goes through what may be below the limit; returns whether that is all."""
        batches = pass_depth_first(prepared, limit, known or self._known, steps)
        while not self._is_late():
            try:
                yield self._noted(next(batches))
            except StopIteration as end:
                descended: Descended = end.value
                self._labels += descended.steps // STEPS_PER_LABEL
                return descended.is_complete
        return False

    def _is_late(self) -> bool:
        """Whether the time is up; what is left out from then on is unproven."""
        if self._clock.is_late:
            self._is_cut, self._unproven = True, 1
        return self._is_cut

    def _show(self, bound: float, unproven: int) -> None:
        self._bound = min(self._bound, bound)
        self._unproven |= unproven

    def _bounds(self) -> CostBounds | None:
        """The bounds of the last batch: that of the objective is what has been shown.

        There are none if no mapping fits: bounds of nothing would lower those of other candidates.
        """
        bounds = lower_bounds(self._spatial)
        if self._objective is None:
            return bounds
        least = min(self._bound, self._known.limit)
        proven = max(least, bounds.of(self._objective))
        if proven == inf:
            return None
        return bounds.model_copy(update={self._objective.value: proven})
