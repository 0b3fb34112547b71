"""The stages that choose spatial mappings."""

import pytest

from nestmap.model import InputError, LayerConstraints, MappingProblem, SpatialMapping
from nestmap.model.base import copy_with
from nestmap.pipeline.stages.mapping.candidates import (
    SpatialMappingConversionStage,
    SpatialMappingGeneratorStage,
)
from nestmap.search import spatial_mappings
from nestmap.search.spatial.weight_diagonal import weight_diagonal
from tests.costmodel.machines import convolution, machine, mapped, matmul, memory
from tests.search.cells import array_of_cells

TOP = memory("top", served="D1 D2", width=2**16)
PROBLEM = MappingProblem(
    layer=matmul(k=12, c=5, b=4), accelerator=machine(TOP, sides={"D1": 8, "D2": 4})
)


def given_by_user(**unrolled: str) -> MappingProblem:
    wanted = mapped(PROBLEM.layer, machine(TOP, sides={"D1": 99, "D2": 99}), unrolled)
    return copy_with(
        PROBLEM, {"constraints": LayerConstraints(spatial_mapping=wanted.spatial_mapping)}
    )


def generated(stage: SpatialMappingGeneratorStage, problem: MappingProblem) -> list[SpatialMapping]:
    return [x.spatial_mapping for x in stage(problem)]


def test_without_a_user_mapping_the_most_promising_is_taken() -> None:
    spatial = SpatialMappingConversionStage()(PROBLEM)
    assert spatial.problem == PROBLEM
    assert spatial.spatial_mapping == spatial_mappings(PROBLEM, 1)[0]


@pytest.mark.parametrize("mixed", [False, True])
def test_so_many_mappings_are_generated(mixed: bool) -> None:
    stage = SpatialMappingGeneratorStage(max_mappings=4, mixed=mixed)
    assert generated(stage, PROBLEM) == list(spatial_mappings(PROBLEM, 4, mixed))
    assert len(generated(stage, PROBLEM)) == 4
    assert len(generated(SpatialMappingGeneratorStage(), PROBLEM)) == 3


def test_a_user_mapping_too_large_for_the_array_is_an_error() -> None:
    asked = given_by_user(D1="K 6 C 2")
    with pytest.raises(InputError, match="at most the 8 units of D1"):
        SpatialMappingConversionStage()(asked)
    with pytest.raises(InputError, match="at most the 8 units of D1"):
        list(SpatialMappingGeneratorStage()(asked))


def test_pixels_go_next_to_channels_where_inputs_are_multicast() -> None:
    layer = convolution({"K": 16, "C": 4, "OX": 24, "FX": 3})
    problem = MappingProblem(layer=layer, accelerator=array_of_cells(64, 32))
    plain = list(SpatialMappingGeneratorStage(max_mappings=9, mixed=True)(problem))
    diagonal = SpatialMappingGeneratorStage(max_mappings=9, mixed=True, weight_diagonal=True)
    assert {x.accelerator for x in plain} == {problem.accelerator}
    assert list(diagonal(problem)) == [weight_diagonal(x) for x in plain]
    assert str(next(diagonal(problem)).spatial_mapping) == "D1: K 16 x OX 4, D2: C 4 x FX 3"
