"""Stages that rank the spatial mappings of a layer by their lower bounds, all or a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from nestmap.model import CostBounds, Frozen, MappingProblem, Objective, SpatialProblem
from nestmap.model.arrays import Floats, Rows
from nestmap.model.units import PositiveCount
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.ordering import OrderedCandidatesStage
from nestmap.pipeline.stages.mapping.suggested import suggested_problem
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.temporal.exact.fitting_rows import first_different

STARTS = 3
"""Spatial mappings, those with the lowest bounds, of which LOMA's orders are evaluated first.

These say why nothing fits.
"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RankedCandidates:
    """Spatial mappings of a layer in ascending order of the lower bound of an objective.

    ``energy`` (pJ) and ``latency`` (cycles) are their lower bounds. A model is made of those only
    that are searched. The first ``starts`` come before the others: nearly always some temporal
    mapping fits them, and they differ in more than names. ``every``: the table that all are from,
    in any order.
    """

    energy: Floats
    latency: Floats
    make: Callable[[int], SpatialProblem]
    starts: int
    every: SpatialCandidates | None = None

    def __len__(self) -> int:
        return len(self.energy)

    def __getitem__(self, rank: int) -> SpatialProblem:
        return self.make(rank)

    def costs(self, rank: int, share: float) -> tuple[Floats, Floats]:
        """A share of the bounds of one candidate, as columns."""
        return self.energy[rank : rank + 1] * share, self.latency[rank : rank + 1] * share

    def first(self, most: int) -> RankedCandidates:
        """The candidates with the lowest bounds."""
        energy, latency = self.energy[:most], self.latency[:most]
        return RankedCandidates(energy, latency, self.make, len(energy))

    def by(self, objective: Objective) -> RankedCandidates:
        """The same candidates in the order of another objective."""
        if self.every is not None:
            return _ranked_rows(self.every, objective, self.starts)
        order = _order(self.energy, self.latency, objective)
        return RankedCandidates(
            self.energy[order],
            self.latency[order],
            lambda rank: self.make(int(order[rank])),
            self.starts,
        )

    def bounds_of(self, ranks: Sequence[int] | slice) -> CostBounds:
        """The bounds of some candidates together."""
        energy, latency = self.energy[ranks], self.latency[ranks]
        return CostBounds(
            energy=float(energy.min()),
            latency=float(latency.min()),
            edp=float((energy * latency).min()),
        )


class RankCandidatesStage(Frozen, Stage[Iterable[SpatialProblem], RankedCandidates], frozen=True):
    """Some spatial mappings, in ascending order of their lower bounds.

    Without an objective, for a Pareto front, the bound of the energy-delay product counts.
    """

    objective: Objective | None = None

    def __call__(self, candidates: Iterable[SpatialProblem], /) -> RankedCandidates:
        return _ranked_problems(list(candidates), self.objective)


class AllSpatialMappingsStage(Frozen, Stage[MappingProblem, RankedCandidates], frozen=True):
    """Every spatial mapping of a layer that can be generated, ranked by lower bound.

    The user's mapping and hints restrict them; with ``mixed``, several loop dimensions may share an
    array dimension. The mapping bundled with the accelerator is one of them. The first
    ``starts`` are those with the lowest bounds under which a temporal mapping may fit, and that do
    not cost the same; if none fits, a few stay that say why. Without an objective, the bound of the
    energy-delay product counts.

    Raises:
        InputError: where the user's mapping does not fit the array, or the ordering cannot be
            satisfied with any spatial mapping.
    """

    objective: Objective | None = None
    mixed: bool = True
    starts: PositiveCount = STARTS

    def __call__(self, problem: MappingProblem, /) -> RankedCandidates:
        every = self._every(problem)
        if problem.constraints.temporal_ordering or problem.constraints.outer_ordering:
            spatial = (every.spatial(row) for row in range(len(every)))
            return _ranked_problems(list(OrderedCandidatesStage()(spatial)), self.objective)
        return _ranked_rows(every, self.objective, self.starts)

    def _every(self, problem: MappingProblem) -> SpatialCandidates:
        every, suggested = all_spatial_mappings(problem, self.mixed), suggested_problem(problem)
        if suggested is None:
            return every
        return every.union(all_spatial_mappings(suggested, self.mixed))


def _ranked_rows(
    every: SpatialCandidates, objective: Objective | None, starts: int
) -> RankedCandidates:
    bounds = every.bounds
    order = _order(bounds.energy, bounds.latency, objective)
    first = first_different(every, order, starts)
    if len(first):
        order = np.concatenate([first, order[~np.isin(order, first)]])
    energy, latency = bounds.energy[order], bounds.latency[order]
    ranked = RankedCandidates(
        energy, latency, lambda rank: every.spatial(int(order[rank])), len(first), every
    )
    return ranked if len(first) else ranked.first(STARTS)


def _ranked_problems(
    problems: list[SpatialProblem], objective: Objective | None
) -> RankedCandidates:
    bounds = [lower_bounds(problem) for problem in problems]
    energy = np.array([x.energy for x in bounds], np.float64)
    latency = np.array([x.latency for x in bounds], np.float64)
    order = _order(energy, latency, objective)
    return RankedCandidates(
        energy[order], latency[order], lambda rank: problems[int(order[rank])], len(order)
    )


def _order(energy: Floats, latency: Floats, objective: Objective | None) -> Rows:
    match objective:
        case Objective.ENERGY:
            return np.argsort(energy, kind="stable")
        case Objective.LATENCY:
            return np.lexsort((energy, latency))
        case _:
            return np.argsort(energy * latency, kind="stable")
