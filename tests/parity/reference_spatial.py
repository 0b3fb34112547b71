"""The spatial mapping generator of zigzag-dse 3.9.1 as typed functions on our models.

Its hints are Python sets, so that the order of equally good mappings changes from run to run; here
it gets them in a stand-in that keeps nestmap's order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import cast, final

from zigzag.datatypes import LayerDim, OADimension
from zigzag.mapping.spatial_mapping import MappingSingleOADim, SpatialMappingHint
from zigzag.mapping.spatial_mapping import SpatialMapping as UserSpatialMapping
from zigzag.stages.mapping.spatial_mapping_generation import SpatialMappingGeneratorStage  # pyright: ignore[reportMissingTypeStubs]

from nestmap.model import Loop, MappingProblem, SpatialMapping, Unrolling
from tests.parity.reference_objects import (
    array_dimension_names,
    never_called,
    reference_accelerator,
    reference_layer,
    user_spatial_mapping,
)

Limits = dict[str, dict[str, int]]
"""By array dimension and loop dimension."""


@final
class _Ordered(list[LayerDim]):
    """Takes the place of a set of layer dimensions and keeps their order."""

    def add(self, dim: LayerDim) -> None:
        if dim not in self:
            self.append(dim)

    def __or__(self, others: Iterable[LayerDim]) -> _Ordered:
        return _Ordered([*self, *(x for x in others if x not in self)])

    def __sub__(self, others: Iterable[LayerDim]) -> _Ordered:
        left_out = list(others)
        return _Ordered(x for x in self if x not in left_out)

    difference = __sub__


def generated(
    problem: MappingProblem, count: int, mixed: bool = False, weight_diagonal: bool = False
) -> list[SpatialMapping]:
    """The mappings that the package generates, in its order; duplicates and loops of 1 left out."""
    stage = _stage(problem, count, mixed, weight_diagonal)
    found = (_mapping(problem, mapping) for mapping in stage.generate_spatial_mappings())
    return list(dict.fromkeys(found))


def limits(problem: MappingProblem) -> Limits:
    """The largest unrollings of the package."""
    names = array_dimension_names(problem.accelerator)
    found = _stage(problem).get_max_unrolling()
    return {
        name: {x.name: int(n) for x, n in found[OADimension(theirs)].items()}
        for name, theirs in names.items()
    }


def within_capacity(problem: MappingProblem, mapping: SpatialMapping) -> SpatialMapping:
    """The mapping that is left where the innermost memories have no room for it."""
    given = _user_mapping(problem, mapping)
    return _mapping(problem, _stage(problem).limit_unrolling_to_mem_capacity(given))


def indicator(problem: MappingProblem, mapping: SpatialMapping) -> float:
    """What the package ranks mappings by."""
    return float(_user_mapping(problem, mapping).get_performance_indicator())


def _stage(
    problem: MappingProblem, count: int = 3, mixed: bool = False, weight_diagonal: bool = False
) -> SpatialMappingGeneratorStage:
    layer = copy.copy(reference_layer(problem))
    wanted = problem.constraints.spatial_mapping
    layer.spatial_mapping = UserSpatialMapping.empty()
    if wanted is not None:
        layer.spatial_mapping = user_spatial_mapping(problem.accelerator, wanted)
    layer.spatial_mapping_hint = SpatialMappingHint.empty()
    stage = SpatialMappingGeneratorStage(
        [never_called],
        accelerator=reference_accelerator(problem.accelerator),
        layer=layer,
        enable_mix_spatial_mapping_generation=mixed,
        enable_weight_diagonal_mapping=weight_diagonal,
        nb_mappings_generated=count,
    )
    stage.spatial_mapping_hint = _hints(problem)
    return stage


def _hints(problem: MappingProblem) -> SpatialMappingHint:
    hinted = {x.array_dimension: x.dimensions for x in problem.constraints.spatial_hints}
    hints: dict[OADimension, set[LayerDim]] = {}
    for name, theirs in array_dimension_names(problem.accelerator).items():
        dimensions = hinted.get(name, tuple(problem.layer.sizes))
        ordered = _Ordered(LayerDim(x) for x in dimensions)
        hints[OADimension(theirs)] = ordered  # type: ignore[assignment]
    return SpatialMappingHint(hints)


def _user_mapping(problem: MappingProblem, mapping: SpatialMapping) -> UserSpatialMapping:
    given = user_spatial_mapping(problem.accelerator, mapping)
    core = reference_accelerator(problem.accelerator)
    given.initialize_oa_dims(core.operational_array.dimension_sizes)
    return given


def _mapping(problem: MappingProblem, mapping: UserSpatialMapping) -> SpatialMapping:
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=name, loops=_loops(mapping[OADimension(theirs)]))
            for name, theirs in array_dimension_names(problem.accelerator).items()
        )
    )


def _loops(factors: MappingSingleOADim) -> tuple[Loop, ...]:
    found = cast("Mapping[LayerDim, float]", factors)  # its methods are not typed
    return tuple(Loop(dimension=d.name, size=int(n)) for d, n in found.items() if n > 1)
