"""Stages that choose spatial mappings for a core: its dataflows, or the largest unrollings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

from nestmap.model import Frozen, MappingProblem, Objective, SpatialProblem
from nestmap.model.mapping.problem import CoreProblem
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.candidates import RankCandidatesStage, RankedCandidates
from nestmap.pipeline.stages.mapping.spatial import SpatialMappingGeneratorStage
from nestmap.search.multicore.core_costs.dataflows import dataflow_mappings, dividing_mappings


@final
@dataclass(frozen=True, slots=True)
class CustomSpatialMappingGeneratorStage(Stage[CoreProblem, Iterator[SpatialProblem]]):
    """The dataflows of a core, limited to the layer's sizes; those of ``usual`` if it has none.

    A loop dimension that the layer lacks leaves its share of the array idle; a smaller dimension
    is unrolled completely.
    """

    usual: Stage[MappingProblem, Iterator[SpatialProblem]] = field(
        default_factory=SpatialMappingGeneratorStage
    )

    def __call__(self, core: CoreProblem, /) -> Iterator[SpatialProblem]:
        if not core.dataflows:
            yield from self.usual(core.problem)
            return
        for mapping in dataflow_mappings(core):
            yield SpatialProblem(problem=core.problem, spatial_mapping=mapping)


@final
@dataclass(frozen=True, slots=True)
class RankedDataflowsStage(Stage[CoreProblem, Iterator[RankedCandidates]]):
    """The same in ascending order of their lower bounds; ``usual`` ranks its own.

    ``objective``: that of the bounds.
    """

    usual: Stage[MappingProblem, Iterable[RankedCandidates]]
    objective: Objective

    def __call__(self, core: CoreProblem, /) -> Iterator[RankedCandidates]:
        if not core.dataflows:
            yield from self.usual(core.problem)
            return
        flows = CustomSpatialMappingGeneratorStage()(core)
        yield RankCandidatesStage(objective=self.objective)(flows)


class DividingSpatialMappingStage(
    Frozen, Stage[MappingProblem, Iterator[SpatialProblem]], frozen=True
):
    """All combinations of the largest unrollings that divide a loop and that the memories can feed.

    As in Stream for a core without dataflows. There are many combinations: one for each choice of
    a loop dimension for each array dimension.
    """

    def __call__(self, problem: MappingProblem, /) -> Iterator[SpatialProblem]:
        for mapping in dividing_mappings(problem):
            yield SpatialProblem(problem=problem, spatial_mapping=mapping)
