"""Stages of the exact search: of one spatial mapping, and of all candidates of a layer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Never, final

import numpy as np
from pydantic import Field

from nestmap.model import (
    EvaluationBatch,
    MappingBatch,
    MappingProblem,
    MappingType,
    Objective,
    SearchStatistics,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.model.units import PositiveCount
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages.mapping.candidates import STARTS, RankedCandidates
from nestmap.pipeline.stages.mapping.loma import LomaStage
from nestmap.pipeline.stages.mapping.promising import UsualMappingsStage
from nestmap.pipeline.stages.mapping.reduce import FlattenStage
from nestmap.pipeline.stages.mapping.temporal_search import Evaluated, Rank, TemporalSearch
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.temporal.exact.effort import LABELS_OF_A_SEARCH, Effort
from nestmap.search.temporal.exact.incumbents import Costs, Incumbents
from nestmap.search.temporal.exact.rows import ROUNDING
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.walk import LeastEnergy, Walk, least_energy_of

LABELS = ExactOptions().labels

LAYER_LABELS = 1_000_000
"""Labels of all spatial mappings of a layer: five to twenty seconds on one core of 2026."""

NO_TIME = 1e-9
"""Seconds (s) in which a search evaluates what it begins with, and nothing else."""

MOST_COMPARED = 32
"""Candidates that are compared with each other before the first one is searched."""


class ExactStage(TemporalSearch, Stage[SpatialProblem, Iterator[EvaluationBatch]], frozen=True):
    """Finds the best of all orders and allocations of a spatial mapping, and proves it.

    Yields all mappings that it evaluates; the last batch has the lower bound. ``objective``:
    ``None`` searches for the Pareto front of energy and latency. ``labels`` limits the partial
    mappings that the search follows at a time, ``layer_labels`` those of all spatial mappings of a
    layer together; both are the same on any machine. ``time_limit`` (seconds) limits the search of
    a layer, and of each spatial mapping, in addition: when it ends, what is left is not searched,
    and what was found depends on the machine. Compiling does not count. ``gap``: the share by which
    the optimum may be below the mapping found; the search ends when that is proven. Only mappings
    that improve on the ``incumbents`` (energy in pJ, latency in cycles) are of interest; with
    ``start``, LOMA's orders come first. ``workers`` is the number of threads; the result does not
    depend on it.

    See :mod:`nestmap.search.temporal.exact.search`.

    Raises:
        InputError: where the user's temporal ordering cannot be satisfied.
    """

    name: ClassVar[str] = "exact"
    default_rank: ClassVar[Rank] = Rank.BOUND
    is_greedy: ClassVar[bool] = False
    is_exhaustive: ClassVar[bool] = True

    objective: Objective | None = Objective.LATENCY
    mapping_type: MappingType = MappingType.UNEVEN
    labels: PositiveCount = LABELS
    layer_labels: PositiveCount = LAYER_LABELS
    time_limit: float | None = Field(default=None, gt=0)
    gap: float = Field(default=0.0, ge=0, lt=1)
    incumbents: tuple[Costs, ...] = ()
    start: bool = True
    workers: PositiveCount = 1

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[EvaluationBatch]:
        task = SearchTask(spatial, self.incumbents, self.start, self.time_limit)
        return exact(task, self.objective, self.options)

    def evaluated(self) -> Evaluated:
        """The search itself, which evaluates what it finds."""
        return self

    def minimizing(self, objective: Objective) -> ExactStage:
        """The search for the optimum by an objective."""
        return copy_with(self, {"objective": objective})

    def for_fronts(self, objective: Objective) -> ExactStage:
        """The search for the whole front, whatever the objective."""
        del objective
        return copy_with(self, {"objective": None})

    def walk(self, run: Callable[[TemporalSearch], Evaluated]) -> ExactWalkStage:
        """The search of ranked spatial mappings.

        With a limit of time LOMA's orders under the usual spatial mappings come first, whatever
        time they take: so a short limit, or a busy machine, loses proofs rather than good mappings.
        """
        if self.time_limit is None:
            return ExactWalkStage(self, run)
        loma = LomaStage(mapping_type=self.mapping_type, workers=self.workers)
        every = UsualMappingsStage() >> each(run(loma)) >> FlattenStage[EvaluationBatch]()
        return ExactWalkStage(self, run, every)

    @property
    def is_timed(self) -> bool:
        """Whether there is a limit of time."""
        return self.time_limit is not None

    @property
    def options(self) -> ExactOptions:
        """What the search may do."""
        return ExactOptions(
            mapping_type=self.mapping_type, labels=self.labels, gap=self.gap, workers=self.workers
        )


@final
@dataclass(frozen=True, slots=True)
class ExactWalkStage(Stage[Iterable[RankedCandidates], Iterator[EvaluationBatch]]):
    """Searches the spatial mappings of a layer in ascending order of their lower bounds.

    Each search starts with the best costs of those before, and those whose bound shows that they
    cannot improve on them are left out. So the best evaluation is the best of all candidates. The
    statistics of the last batch, which has no rows, count the spatial mappings left out. There may
    be several rankings, those of padded forms of the layer. What ``begin`` finds comes first: with
    a limit of time, results that do not depend on it. ``run`` makes the stage that runs a search:
    records and recalls it, shows its progress.
    """

    search: ExactStage
    run: Callable[[ExactStage], Evaluated]
    begin: Stage[MappingProblem, Iterator[EvaluationBatch]] | None = None

    def __call__(self, forms: Iterable[RankedCandidates], /) -> Iterator[EvaluationBatch]:
        known = self.search.options.nothing_known(self.search.objective)
        effort = Effort(self.search.layer_labels, self.search.time_limit)
        for candidates in forms:
            if self.begin is not None:
                for batch in self.begin(candidates[0].problem):
                    known = known.with_batch(batch)
                    yield batch
            known = yield from self._walk(candidates, known, effort)

    def _walk(self, candidates: RankedCandidates, known: Incumbents, effort: Effort) -> _Known:
        if candidates.every is not None:
            return (yield from self._walk_rows(candidates, candidates.every, known, effort))
        left_out, worse, first = list[int](), list[int](), self._first(candidates)
        for rank in range(len(candidates)):
            if rank > len(left_out) + len(worse) and effort.is_spent:
                late = len(candidates) - rank
                counted = SearchStatistics(unproven=late, cut=late if effort.clock.is_late else 0)
                yield _proven(candidates, slice(rank, None), None, inf, counted)
                break
            if not known.improved_by(*candidates.costs(rank, 1 - ROUNDING)).any():
                left_out.append(rank)
            elif first.is_worse(rank):
                worse.append(rank)
            else:
                start = rank < STARTS
                known = yield from self._search(
                    self.search, first.problem(rank), known, effort, start
                )
        if left_out:
            yield _left_out(candidates, left_out, SearchStatistics(pruned=len(left_out)))
        if worse:
            counted = SearchStatistics(pruned=len(worse))
            least = min(known.limit, first.least.energy)
            yield _proven(candidates, worse, Objective.ENERGY, least, counted)
        return known

    def _walk_rows(
        self,
        candidates: RankedCandidates,
        every: SpatialCandidates,
        known: Incumbents,
        effort: Effort,
    ) -> _Known:
        """The walk of a table: after the first few, kernels find those that may improve.

        What is proven of a spatial mapping is known at the end: its search may come in stages.
        """
        first, searched = self._first(candidates), 0
        for rank in range(candidates.starts):
            is_spent = searched > 0 and effort.is_spent
            improves = known.improved_by(*candidates.costs(rank, 1 - ROUNDING)).any()
            if improves and not (is_spent or first.is_worse(rank)):
                searched += 1
                spatial = first.problem(rank)
                found = self._search(self.search, spatial, known, effort, start=True)
                known = yield from _without_bounds(found)
        walk = Walk(every, known, self.search.options, effort)
        for spatial, labels in walk.improving():
            search = copy_with(self.search, {"labels": labels})
            found = self._search(search, spatial, known, effort, start=False)
            known = yield from _without_bounds(found)
        counted = SearchStatistics(
            pruned=max(0, walk.pruned - searched),
            unproven=walk.unproven,
            cut=walk.unproven if effort.clock.is_late else 0,
            labels=walk.labels,
        )
        least = min(known.limit, walk.bound)
        yield _proven(candidates, slice(None), self.search.objective, least, counted)
        return known

    def _first(self, candidates: RankedCandidates) -> _First:
        """The first candidates, compared with each other if they are searched for energy."""
        if not self._is_for_energy:
            return _First(candidates, (), LeastEnergy())
        most = MOST_COMPARED if candidates.every is None else candidates.starts
        problems = [candidates[rank] for rank in range(min(most, len(candidates)))]
        return _First(candidates, problems, least_energy_of(problems, self.search.options))

    @property
    def _is_for_energy(self) -> bool:
        return self.search.objective is Objective.ENERGY

    def _search(
        self,
        search: ExactStage,
        spatial: SpatialProblem,
        known: Incumbents,
        effort: Effort,
        start: bool,
    ) -> _Known:
        """The search of one spatial mapping; returns the best costs after it."""
        changes: dict[str, object] = {"incumbents": known.costs, "start": start}
        if search.time_limit is not None:
            changes["time_limit"] = max(effort.clock.left, NO_TIME)
        labels = LABELS_OF_A_SEARCH
        for batch in self.run(copy_with(search, changes))(spatial):
            known = known.with_batch(batch)
            labels += batch.statistics.labels
            yield batch
        effort.spend(labels)
        return known

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """What comes first, and the search of each candidate."""
        first = () if self.begin is None else (self.begin,)
        return (*first, self.run(self.search))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """The candidates of a walk, the first of them compared with each other."""

    candidates: RankedCandidates
    compared: Sequence[SpatialProblem]
    least: LeastEnergy

    def problem(self, rank: int) -> SpatialProblem:
        """A candidate."""
        return self.compared[rank] if rank < len(self.compared) else self.candidates[rank]

    def is_worse(self, rank: int) -> bool:
        """Whether another candidate is known to have less energy."""
        return rank < len(self.least.may_have_it) and not self.least.may_have_it[rank]


_Known = Generator[EvaluationBatch, None, Incumbents]


def _without_bounds(found: _Known) -> _Known:
    """A search of which nothing is said but what it finds."""
    while True:
        try:
            batch = next(found)
        except StopIteration as end:
            known: Incumbents = end.value
            return known
        unsaid: dict[str, object] = {"bounds": None, "unproven": 0, "cut": 0}
        yield batch.with_statistics(copy_with(batch.statistics, unsaid))


def _proven(
    candidates: RankedCandidates,
    ranks: Sequence[int] | slice,
    objective: Objective | None,
    least: float,
    counted: SearchStatistics,
) -> EvaluationBatch:
    """A batch without rows for spatial mappings whose objective is at least this."""
    bounds = candidates.bounds_of(ranks)
    if objective is not None and least < inf:  # without any mapping there is none to prove
        bounds = copy_with(bounds, {objective.value: max(bounds.of(objective), least)})
    return _without_rows(candidates[0], counted + SearchStatistics(bounds=bounds))


def _left_out(
    candidates: RankedCandidates, ranks: Sequence[int], counted: SearchStatistics
) -> EvaluationBatch:
    """A batch without rows for candidates that are not searched; their bounds still count."""
    bounds = SearchStatistics(bounds=candidates.bounds_of(ranks))
    return _without_rows(candidates[ranks[0]], counted + bounds)


def _without_rows(spatial: SpatialProblem, statistics: SearchStatistics) -> EvaluationBatch:
    none = np.empty(0)
    mappings = MappingBatch.empty(spatial, statistics)
    return EvaluationBatch(mappings, none, none, none, none, 0, statistics)
