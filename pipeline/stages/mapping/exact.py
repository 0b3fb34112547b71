"""Stages of the exact search: of one spatial mapping, and of all candidates of a layer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Final, Never, final

import numpy as np
from pydantic import Field

from nestmap.model import (
    CostBounds,
    EvaluationBatch,
    MappingBatch,
    MappingProblem,
    MappingType,
    Objective,
    SearchStatistics,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import gap_to
from nestmap.model.units import PositiveCount
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages.mapping.candidates import STARTS, RankedCandidates, UsualMappingsStage
from nestmap.pipeline.stages.mapping.loma import LomaStage
from nestmap.pipeline.stages.mapping.recall import UNCONNECTED, Batches, Ports
from nestmap.pipeline.stages.mapping.reduce import FlattenStage
from nestmap.pipeline.stages.mapping.temporal_search import Evaluated, Rank, TemporalSearch
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.temporal.exact.effort import LABELS_OF_A_SEARCH, Effort
from nestmap.search.temporal.exact.incumbents import Costs
from nestmap.search.temporal.exact.least_energy import ROUNDING
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.walk import STAGES, LeastEnergy, Walk, Watch, least_energy_of

LABELS = ExactOptions().labels

LAYER_LABELS = 1_000_000
"""Labels of all spatial mappings of a layer: five to twenty seconds on one core of 2026."""

LAST_PART = 4
"""The part of these that the most promising of those that are left then may take in addition."""

NO_TIME = 1e-9
"""Seconds (s) in which a search evaluates what it begins with, and nothing else."""

MOST_COMPARED = 32
"""Candidates that are compared with each other before the first one is searched."""


class ExactStage(TemporalSearch, Stage[SpatialProblem | SearchTask, Batches], frozen=True):
    """Finds the best of all orders and allocations of a spatial mapping, and proves it.

    Yields all mappings that it evaluates; the last batch has the lower bound. ``objective``:
    ``None`` searches for the Pareto front of energy and latency. ``labels`` limits the partial
    mappings that the search follows at a time, ``layer_labels`` those of all spatial mappings of a
    layer together; both are the same on any machine. ``time_limit`` (seconds) limits the search of
    a layer, and of each spatial mapping, in addition: when it ends, what is left is not searched,
    and what was found depends on the machine. Compiling does not count. ``gap``: by how many
    percent the optimum may be below the mapping found; the search ends when that is proven.
    ``workers`` is the number of threads; the result does not depend on it. What is known of other
    spatial mappings comes with the :class:`~nestmap.search.temporal.exact.search.SearchTask`.

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
    gap: float = Field(default=0.0, ge=0, le=99)
    workers: PositiveCount = 1

    def __call__(self, item: SpatialProblem | SearchTask, /) -> Batches:
        if isinstance(item, SpatialProblem):
            item = SearchTask(item, seconds=self.time_limit)
        return exact(item, self.objective, self.options)

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

    def walk(self, ports: Ports) -> ExactWalkStage:
        """The search of ranked spatial mappings.

        With a limit of time LOMA's orders under the usual spatial mappings come first, whatever
        time they take: so a short limit, or a busy machine, loses proofs rather than good mappings.
        """
        if self.time_limit is None:
            return ExactWalkStage(self, ports)
        loma = LomaStage(mapping_type=self.mapping_type, workers=self.workers).connected(ports)
        every = UsualMappingsStage() >> each(loma) >> FlattenStage[EvaluationBatch]()
        return ExactWalkStage(self, ports, every)

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
class ExactWalkStage(Stage[Iterable[RankedCandidates], Batches]):
    """Searches the spatial mappings of a layer in ascending order of their lower bounds.

    Each search starts with the best costs of those before, and those whose bound shows that they
    cannot improve on them are left out. So the best evaluation is the best of all candidates. For a
    front, the searches for each objective come first: it has at least their optima. The statistics
    of the last batch, which has no rows, count the spatial mappings left out, and say how far a
    front may be off. There may be several rankings, those of padded forms of the layer. What
    ``begin`` finds comes first: with a limit of time, results that do not depend on it. Searches
    are connected to the ``ports``, whose observers are told how far the walk is.
    """

    search: ExactStage
    ports: Ports = UNCONNECTED
    begin: Stage[MappingProblem, Batches] | None = None

    def __call__(self, forms: Iterable[RankedCandidates], /) -> Batches:
        walk, first = self._walk(self.search), None
        optima = {} if self.search.objective is not None else self._optima()
        for candidates in forms:
            first = first or candidates[0]
            if self.begin is not None:
                yield from walk.noted(self.begin(candidates[0].problem))
            for n, (objective, optimum) in enumerate(optima.items()):
                optimum.effort.clock = walk.effort.clock.part(len(optima) + 1 - n)
                found = optimum.batches(candidates.by(objective))
                yield from walk.noted(_without(found, _BOUNDS))
            found = walk.batches(candidates)
            yield from _without(found, _BOUNDS) if optima else found
        if optima and first is not None:
            yield _without_rows(first, walk.of_front({x.value: optima[x].bound for x in optima}))

    def _optima(self) -> dict[Objective, _LayerWalk]:
        """The searches for the ends of a front, and a point between them."""
        return {x: self._walk(self.search.minimizing(x)) for x in Objective}

    def _walk(self, search: ExactStage) -> _LayerWalk:
        return _LayerWalk(search, _connected(search, self.ports), self.ports.watch)

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """What comes first, and the search of each candidate."""
        first = () if self.begin is None else (self.begin,)
        return (*first, _connected(self.search, self.ports))


def _connected(search: ExactStage, ports: Ports) -> Stage[SearchTask, Batches]:
    """The search, observed, recorded and recalled with what is known of other searches."""
    return ports.connect(search, search.options_json)


@final
class _LayerWalk:
    """The search of a layer for an objective, or a front: what it knows, and what it may spend.

    ``bound``: no mapping of the candidates has a lower objective. ``left`` are bounds of the costs
    that spatial mappings may have which are not proven.
    """

    def __init__(
        self, search: ExactStage, run: Stage[SearchTask, Batches], watch: Watch | None
    ) -> None:
        self.search, self._run, self._watch = search, run, watch
        self.effort = Effort(search.layer_labels, search.time_limit)
        self.known = search.options.nothing_known(search.objective)
        self.bound, self.left = inf, list[Costs]()

    def noted(self, batches: Iterable[EvaluationBatch]) -> Batches:
        """The batches, of which the best costs are known afterwards."""
        for batch in batches:
            self.known = self.known.with_batch(batch)
            yield batch

    def batches(self, candidates: RankedCandidates) -> Batches:
        """All that the search of some candidates evaluates."""
        every = candidates.every
        found = self._list(candidates) if every is None else self._table(candidates, every)
        for batch in found:
            bounds, objective = batch.statistics.bounds, self.search.objective
            if bounds is not None and objective is not None:
                self.bound = min(self.bound, bounds.of(objective))
            if bounds is not None and batch.statistics.unproven and every is None:
                self.left.append((bounds.energy, bounds.latency))
            yield batch

    def of_front(self, optima: Mapping[str, float]) -> SearchStatistics:
        """How far points of the front may be off.

        ``optima`` bounds each objective alone; bounds of energy and latency together may be raised
        to them. They are infinite if no mapping fits.
        """
        gap = 1 - self.known.share
        if inf in optima.values():
            return SearchStatistics(front_gap=gap)
        bounds = CostBounds.model_validate(optima)
        for energy, latency in self.left:
            least = max(energy, bounds.energy), max(latency, bounds.latency)
            gap = max(gap, min((gap_of(least, x) for x in self.known.costs), default=1.0))
        return SearchStatistics(bounds=bounds, front_gap=gap)

    def _list(self, candidates: RankedCandidates) -> Batches:
        """The search of candidates one by one.

        After the first one that takes more work than a search may, the others come first with
        less: a few of them would take all work, and others would not be searched.
        """
        left_out, worse, first = list[int](), list[int](), self._compared(candidates)
        is_begun, proven = False, set[int]()
        for rank in range(len(candidates)):
            if rank in proven:
                continue
            if rank > len(left_out) + len(worse) and self.effort.is_spent:
                late = [x for x in range(rank, len(candidates)) if x not in proven]
                cut = len(late) if self.effort.clock.is_late else 0
                counted = SearchStatistics(unproven=len(late), cut=cut)
                yield _proven(candidates, late, None, inf, counted)
                break
            if not self.known.improved_by(*candidates.costs(rank, 1 - ROUNDING)).any():
                left_out.append(rank)
            elif first.is_worse(rank):
                worse.append(rank)
            else:
                is_late = yield from self._search(first.problem(rank), start=rank < STARTS)
                if is_late and not is_begun:
                    is_begun = True
                    proven = yield from self._begin(first, range(rank + 1, len(candidates)))
        if left_out:
            counted = SearchStatistics(pruned=len(left_out))
            yield _proven(candidates, left_out, None, inf, counted)
        if worse:
            counted = SearchStatistics(pruned=len(worse))
            least = min(self.known.limit, first.least.energy)
            yield _proven(candidates, worse, Objective.ENERGY, least, counted)

    def _begin(
        self, first: _First, ranks: Sequence[int]
    ) -> Generator[EvaluationBatch, None, set[int]]:
        """Searches candidates with few labels, then with more, as the walk of a table does.

        Returns those whose searches are complete. What others show is shown by later searches.
        """
        proven = set[int]()
        for share in STAGES[:-1]:
            labels = max(1, int(self.search.labels * share))
            for rank in ranks:
                improves = self.known.improved_by(*first.candidates.costs(rank, 1 - ROUNDING)).any()
                is_over = rank in proven or self.effort.is_spent or first.is_worse(rank)
                if not improves or is_over:
                    continue
                found = list(self._search(first.problem(rank), start=False, labels=labels))
                if any(batch.statistics.unproven for batch in found):
                    yield from _without(found, _PROOF)
                else:
                    proven.add(rank)
                    yield from found
        return proven

    def _table(self, candidates: RankedCandidates, every: SpatialCandidates) -> Batches:
        """The walk of a table: after the first few, kernels find those that may improve.

        What is proven of a spatial mapping is known at the end: its search may come in stages.
        """
        first, searched, proven = self._compared(candidates), 0, list[int]()
        for rank in range(candidates.starts):
            is_spent = searched > 0 and self.effort.is_spent
            improves = self.known.improved_by(*candidates.costs(rank, 1 - ROUNDING)).any()
            if improves and not (is_spent or first.is_worse(rank)):
                searched += 1
                is_late = False
                for batch in self._search(first.problem(rank), start=True):
                    is_late |= batch.statistics.unproven > 0
                    yield from _without([batch], _PROOF)
                if not is_late:
                    proven.append(int(candidates.rows[rank]))
        walk = Walk(every, self.known, self.search.options, self.effort, self._watch, proven)
        for spatial, labels in walk.improving():
            yield from _without(self._search(spatial, start=False, labels=labels), _PROOF)
        self.effort.labels = max(self.effort.labels, self.search.layer_labels // LAST_PART)
        last = walk.finish(lambda spatial: self._search(spatial, start=True))
        yield from _without(last, _PROOF)
        self.left += walk.left
        counted = SearchStatistics(
            pruned=max(0, walk.pruned - searched),
            unproven=walk.unproven,
            cut=walk.unproven if self.effort.clock.is_late else 0,
            labels=walk.labels,
        )
        least = min(self.known.limit, walk.bound)
        yield _proven(candidates, slice(None), self.search.objective, least, counted)

    def _compared(self, candidates: RankedCandidates) -> _First:
        """The first candidates, compared with each other if they are searched for energy."""
        if self.search.objective is not Objective.ENERGY:
            return _First(candidates, (), LeastEnergy())
        most = MOST_COMPARED if candidates.every is None else candidates.starts
        problems = [candidates[rank] for rank in range(min(most, len(candidates)))]
        return _First(candidates, problems, least_energy_of(problems, self.search.options))

    def _search(
        self, spatial: SpatialProblem, *, start: bool, labels: int | None = None
    ) -> Generator[EvaluationBatch, None, bool]:
        """The search of one spatial mapping, with at most so many ``labels`` at a time.

        Returns whether a limit ended it.
        """
        is_timed = self.search.time_limit is not None
        seconds = max(self.effort.clock.left, NO_TIME) if is_timed else None
        task = SearchTask(spatial, self.known.costs, start, labels, seconds)
        spent, is_late = LABELS_OF_A_SEARCH, False
        for batch in self.noted(self._run(task)):
            spent += batch.statistics.labels
            is_late |= batch.statistics.unproven > 0
            yield batch
        self.effort.spend(spent)
        return is_late


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


_BOUNDS: Final[Mapping[str, object]] = {"bounds": None}
_PROOF: Final[Mapping[str, object]] = {"bounds": None, "unproven": 0, "cut": 0}


def _without(batches: Iterable[EvaluationBatch], unsaid: Mapping[str, object]) -> Batches:
    """The batches, with other values of these statistics."""
    for batch in batches:
        yield batch.with_statistics(copy_with(batch.statistics, dict(unsaid)))


def gap_of(least: Costs, costs: Costs) -> float:
    """The share by which energy and latency may both be below these costs, at least 0."""
    return max(gap_to(least[0], costs[0]), gap_to(least[1], costs[1]))


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


def _without_rows(spatial: SpatialProblem, statistics: SearchStatistics) -> EvaluationBatch:
    none = np.empty(0)
    mappings = MappingBatch.empty(spatial, statistics)
    return EvaluationBatch(mappings, none, none, none, none, 0, statistics)
