"""Stages that choose spatial mappings."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import PositiveInt, ValidationError

from nestmap.model import Frozen, InputError, MappingProblem, SpatialMapping, SpatialProblem
from nestmap.pipeline.stage_graph import Stage
from nestmap.search import meets_constraints, spatial_mappings
from nestmap.search.spatial.dataflow import with_dataflow
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.spatial.weight_diagonal import weight_diagonal


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
