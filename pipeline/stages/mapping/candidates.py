"""Stages that generate, choose and rank the spatial mappings of a layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Never, final

import numpy as np
from pydantic import PositiveInt, ValidationError

from nestmap.model import (
    CostBounds,
    Frozen,
    InputError,
    MappingConstraints,
    MappingProblem,
    Objective,
    SpatialMapping,
    SpatialProblem,
)
from nestmap.model.arrays import Floats, Rows
from nestmap.model.base import copy_with
from nestmap.model.units import PositiveCount
from nestmap.pipeline.frontend.bundled import default_mapping_for
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.ordering import OrderedCandidatesStage, make_ordering_explicit
from nestmap.search import meets_constraints, spatial_mappings
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.spatial.dataflow import unrolls_enough, with_dataflow
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.spatial.weight_diagonal import weight_diagonal
from nestmap.search.temporal.exact.fitting_rows import first_different

# --- stages that choose spatial mappings ---


class SpatialMappingConversionStage(Frozen, Stage[MappingProblem, SpatialProblem], frozen=True):
    """The user's spatial mapping, limited to the layer's sizes; by default the most promising.

    Raises:
        InputError: where it does not fit the array, or not the dataflow.
    """

    def __call__(self, problem: MappingProblem, /) -> SpatialProblem:
        wanted = problem.constraints.spatial_mapping
        if wanted is None:
            return _spatial_problem(problem, spatial_mappings(problem, 1)[0])
        fitted = meets_constraints(problem, wanted)
        with_dataflow(problem, UnrollingTable.of(problem, [fitted]))
        return _spatial_problem(problem, fitted)


class SpatialMappingGeneratorStage(
    Frozen, Stage[MappingProblem, Iterator[SpatialProblem]], frozen=True
):
    """The most promising spatial mappings of a layer, at most ``max_mappings``, best first.

    Array dimensions in the user's mapping are fixed; the others are filled with the loop
    dimensions of the user's hints, or with any. With ``mixed``, several loop dimensions may share
    an array dimension. With ``weight_diagonal``, output pixels are unrolled together with output
    channels where inputs are multicast (see :mod:`nestmap.search.spatial.weight_diagonal`); the
    accelerator of such a mapping has wider input registers.

    Raises:
        InputError: where the user's mapping does not fit the array.
    """

    max_mappings: PositiveInt = 3
    mixed: bool = False
    weight_diagonal: bool = False

    def __call__(self, problem: MappingProblem, /) -> Iterator[SpatialProblem]:
        for mapping in spatial_mappings(problem, self.max_mappings, self.mixed):
            spatial = _spatial_problem(problem, mapping)
            yield weight_diagonal(spatial) if self.weight_diagonal else spatial


def _spatial_problem(problem: MappingProblem, mapping: SpatialMapping) -> SpatialProblem:
    try:
        return SpatialProblem(problem=problem, spatial_mapping=mapping)
    except ValidationError as error:
        where = problem.constraints.place_for("spatial_mapping", problem.layer.name)
        raise InputError.of(where, error) from None


# --- the mapping bundled with an accelerator, as a candidate where the user fixes nothing ---


def suggested_problem(problem: MappingProblem) -> MappingProblem | None:
    """The layer under the spatial mapping bundled with its accelerator.

    ``None`` where the user restricts spatial mappings, where nothing is bundled under the name of
    the accelerator, or where it does not suit the layer, the array or the dataflow. Bundled
    mappings may have factors that are not generated, so a search without constraints tries them in
    addition.
    """
    own = problem.constraints
    if own.spatial_mapping is not None or own.spatial_hints:
        return None
    mapping = _bundled(problem.accelerator.name).of(problem.layer).spatial_mapping
    if mapping is None:
        return None
    sizes, dimensions = problem.accelerator.array.sizes, problem.layer.sizes
    fits = all(x.factor <= sizes.get(x.array_dimension, 0) for x in mapping.unrollings)
    known = all(x.dimension in dimensions for u in mapping.unrollings for x in u.loops)
    if not (fits and known):
        return None
    table = UnrollingTable.of(problem, [meets_constraints(problem, mapping)])
    if not unrolls_enough(problem, table).all():
        return None
    constraints = copy_with(own, {"spatial_mapping": mapping})
    return copy_with(problem, {"constraints": constraints})


@lru_cache
def _bundled(accelerator: str) -> MappingConstraints:
    if default_mapping_for(accelerator) is None:
        return MappingConstraints()
    return read_mapping(None, for_accelerator=accelerator)


STARTS = 3
"""Spatial mappings, those with the lowest bounds, of which LOMA's orders are evaluated first.

These say why nothing fits.
"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RankedCandidates:
    """Spatial mappings of a layer in ascending order of the lower bound of an objective.

    ``energy`` (pJ) and ``latency`` (cycles) are their lower bounds. A model is made of those only
    that are searched: ``make`` makes it of one of the ``rows`` [rank]. The first ``starts`` come
    before the others: nearly always some temporal mapping fits them, and they differ in more than
    names. ``every``: the table of these rows, and of no others.
    """

    energy: Floats
    latency: Floats
    rows: Rows
    make: Callable[[int], SpatialProblem]
    starts: int
    every: SpatialCandidates | None = None

    def __len__(self) -> int:
        return len(self.energy)

    def __getitem__(self, rank: int) -> SpatialProblem:
        return self.make(int(self.rows[rank]))

    def costs(self, rank: int, share: float) -> tuple[Floats, Floats]:
        """A share of the bounds of one candidate, as columns."""
        return self.energy[rank : rank + 1] * share, self.latency[rank : rank + 1] * share

    def first(self, most: int) -> RankedCandidates:
        """The candidates with the lowest bounds."""
        rows = self.rows[:most]
        energy, latency = self.energy[:most], self.latency[:most]
        return RankedCandidates(energy, latency, rows, self.make, len(rows))

    def by(self, objective: Objective) -> RankedCandidates:
        """The same candidates in the order of another objective."""
        if self.every is not None:
            return _ranked_rows(self.every, objective, self.starts)
        order = _order(self.energy, self.latency, objective)
        energy, latency = self.energy[order], self.latency[order]
        return RankedCandidates(energy, latency, self.rows[order], self.make, self.starts)

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
        every = every_spatial_mapping(problem, mixed=self.mixed)
        if problem.constraints.temporal_ordering or problem.constraints.outer_ordering:
            spatial = (every.spatial(row) for row in range(len(every)))
            return _ranked_problems(list(OrderedCandidatesStage()(spatial)), self.objective)
        return _ranked_rows(every, self.objective, self.starts)


def every_spatial_mapping(problem: MappingProblem, *, mixed: bool = True) -> SpatialCandidates:
    """Every spatial mapping of a layer that can be generated, and those of the bundled mapping.

    Raises:
        InputError: where the user's mapping does not fit the array.
    """
    every, suggested = all_spatial_mappings(problem, mixed), suggested_problem(problem)
    return every if suggested is None else every.union(all_spatial_mappings(suggested, mixed))


def _ranked_rows(
    every: SpatialCandidates, objective: Objective | None, starts: int
) -> RankedCandidates:
    bounds = every.bounds
    order = _order(bounds.energy, bounds.latency, objective)
    first = first_different(every, order, starts)
    if len(first):
        order = np.concatenate([first, order[~np.isin(order, first)]])
    energy, latency = bounds.energy[order], bounds.latency[order]
    ranked = RankedCandidates(energy, latency, order, every.spatial, len(first), every)
    return ranked if len(first) else ranked.first(STARTS)


def _ranked_problems(
    problems: list[SpatialProblem], objective: Objective | None
) -> RankedCandidates:
    bounds = [lower_bounds(problem) for problem in problems]
    energy = np.array([x.energy for x in bounds], np.float64)
    latency = np.array([x.latency for x in bounds], np.float64)
    order = _order(energy, latency, objective)
    return RankedCandidates(energy[order], latency[order], order, problems.__getitem__, len(order))


def _order(energy: Floats, latency: Floats, objective: Objective | None) -> Rows:
    match objective:
        case Objective.ENERGY:
            return np.argsort(energy, kind="stable")
        case Objective.LATENCY:
            return np.lexsort((energy, latency))
        case _:
            return np.argsort(energy * latency, kind="stable")


# --- the stage that chooses the spatial mappings of a layer with the lowest lower bounds ---


class PromisingMappingsStage(Frozen, Stage[MappingProblem, Iterator[SpatialProblem]], frozen=True):
    """The most promising spatial mappings of a layer, those with the lowest bounds first.

    ``generator`` says which: the ``max_mappings`` with the lowest bound of the objective, of all
    with one loop dimension on each array dimension, and of all ``mixed`` ones where it makes such.
    Those with the highest utilization that the generator makes by default, and those of the mapping
    bundled with the accelerator, are always among them. So more or mixed spatial mappings add to
    those of less effort, and a search over more is never worse.
    """

    generator: SpatialMappingGeneratorStage
    objective: Objective | None = None

    def __call__(self, problem: MappingProblem, /) -> Iterator[SpatialProblem]:
        found = {x.spatial_mapping: x for x in self._chosen(problem)}
        ranked = sorted(found.values(), key=self._bound)
        return map(weight_diagonal, ranked) if self.generator.weight_diagonal else iter(ranked)

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """The stages that make the candidates."""
        return (SpatialMappingGeneratorStage(), AllSpatialMappingsStage(objective=self.objective))

    def _chosen(self, problem: MappingProblem) -> Iterator[SpatialProblem]:
        yield from usual_candidates(problem)
        for mixed in (False, True)[: 1 + self.generator.mixed]:
            most = self.generator.max_mappings
            every = AllSpatialMappingsStage(objective=self.objective, mixed=mixed, starts=most)
            ranked = every(problem)
            yield from (ranked[rank] for rank in range(ranked.starts))

    def _bound(self, spatial: SpatialProblem) -> float:
        bounds = lower_bounds(spatial)
        return bounds.edp if self.objective is None else bounds.of(self.objective)


class UsualMappingsStage(Frozen, Stage[MappingProblem, Iterator[SpatialProblem]], frozen=True):
    """The spatial mappings that :func:`usual_candidates` gives."""

    def __call__(self, problem: MappingProblem, /) -> Iterator[SpatialProblem]:
        return usual_candidates(problem)


def usual_candidates(problem: MappingProblem) -> Iterator[SpatialProblem]:
    """The simple spatial mappings of a layer, and the bundled ones.

    The simple ones are those with the highest utilization that the generator makes by default.
    """
    for usual in (problem, suggested_problem(problem)):
        if usual is not None:
            yield from _ordered(problem, usual)


def _ordered(problem: MappingProblem, usual: MappingProblem) -> Iterator[SpatialProblem]:
    """The default candidates of a problem ``usual``, where they meet the user's ordering."""
    for spatial in SpatialMappingGeneratorStage()(usual):
        with suppress(InputError):  # the ordering may hold with others
            yield make_ordering_explicit(copy_with(spatial, {"problem": problem}))
