"""The stage that chooses the spatial mappings of a layer with the lowest lower bounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Never

from nestmap.model import Frozen, InputError, MappingProblem, Objective, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.candidates import AllSpatialMappingsStage
from nestmap.pipeline.stages.mapping.ordering import make_ordering_explicit
from nestmap.pipeline.stages.mapping.spatial import SpatialMappingGeneratorStage
from nestmap.pipeline.stages.mapping.suggested import suggested_problem
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.spatial.weight_diagonal import weight_diagonal


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
