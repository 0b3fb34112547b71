"""Spatial mappings of dataflows: what the array has to unroll."""

from collections.abc import Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestmap.model import (
    Dataflow,
    InputError,
    LayerConstraints,
    Loop,
    MappingProblem,
    SpatialMapping,
    Unrolling,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.stages.mapping.candidates import SpatialMappingConversionStage
from nestmap.search import spatial_mappings
from nestmap.search.spatial.all_mappings import all_spatial_mappings
from tests.costmodel.machines import machine, memory
from tests.properties.variants import examples

EQUATION = "O[k][oy][ox]+=W[k][c][fy][fx]*I[c][iy][ix]"
RELATIONS = ("iy=1*oy+1*fy", "ix=1*ox+1*fx")
EVERY = 10**6
"""More than there are."""


def problem(
    sizes: Mapping[str, int], sides: Mapping[str, int], dataflow: Dataflow | None
) -> MappingProblem:
    """A convolution with an array of these sides."""
    return MappingProblem(
        layer=layer_from_equation(EQUATION, sizes, name="layer", relations=RELATIONS),
        accelerator=machine(memory("top", served=" ".join(sides), width=2**10), sides=sides),
        constraints=LayerConstraints(dataflow=dataflow),
    )


def unrolls_rows(mapping: SpatialMapping, sizes: Mapping[str, int]) -> bool:
    """All rows of the weights, and some of the output."""
    return mapping.factor_of("FY") == sizes["FY"] and mapping.factor_of("OY") >= min(2, sizes["OY"])


SIZES = st.fixed_dictionaries(
    {d: st.integers(1, 6) for d in ("K", "C", "OY", "OX")}
    | {d: st.integers(1, 3) for d in ("FY", "FX")}
)
SIDES = st.fixed_dictionaries({"D1": st.integers(3, 8), "D2": st.integers(2, 8)})


@examples
@given(SIZES, SIDES, st.booleans(), st.integers(1, 5))
def test_those_of_row_stationary_are_among_all(
    sizes: Mapping[str, int], sides: Mapping[str, int], mixed: bool, count: int
) -> None:
    free = spatial_mappings(problem(sizes, sides, None), EVERY, mixed)
    expected = [x for x in free if unrolls_rows(x, sizes)]
    rows = problem(sizes, sides, Dataflow.ROW_STATIONARY)
    assume(expected)
    assert list(spatial_mappings(rows, count, mixed)) == expected[:count]
    every = all_spatial_mappings(rows, mixed)
    assert {every.mapping(row) for row in range(len(every))} == set(expected)


@pytest.mark.parametrize(
    "dataflow", [x for x in Dataflow if x is not Dataflow.ROW_STATIONARY], ids=str
)
def test_others_leave_all_spatial_mappings(dataflow: Dataflow) -> None:
    sizes, sides = {"K": 4, "C": 2, "OY": 3, "OX": 3, "FY": 3, "FX": 3}, {"D1": 4, "D2": 3}
    free, other = (problem(sizes, sides, x) for x in (None, dataflow))
    assert spatial_mappings(other, EVERY, True) == spatial_mappings(free, EVERY, True)


SIZE_3 = {"K": 4, "C": 2, "OY": 3, "OX": 3, "FY": 3, "FX": 3}
TOO_FEW = (
    "dataflow row_stationary for layer layer: found no spatial mapping that unrolls FY 3 times and "
    "OY 2 times; expected room for them on the array, within the spatial_mapping and the hints"
)


def test_an_array_without_room_is_wrong_input() -> None:
    rows = problem(SIZE_3, {"D1": 2, "D2": 2}, Dataflow.ROW_STATIONARY)
    for find in (lambda: spatial_mappings(rows, 3), lambda: all_spatial_mappings(rows)):
        with pytest.raises(InputError) as caught:
            find()
        assert str(caught.value) == TOO_FEW


@pytest.mark.parametrize("fits", [True, False])
def test_so_is_a_mapping_that_does_something_else(fits: bool) -> None:
    rows = problem(SIZE_3, {"D1": 4, "D2": 3}, Dataflow.ROW_STATIONARY)
    wanted = SpatialMapping(
        unrollings=(
            Unrolling(array_dimension="D1", loops=(Loop(dimension="OY" if fits else "K", size=3),)),
            Unrolling(array_dimension="D2", loops=(Loop(dimension="FY", size=3),)),
        )
    )
    constraints = copy_with(rows.constraints, {"spatial_mapping": wanted})
    rows = copy_with(rows, {"constraints": constraints})
    if fits:
        assert SpatialMappingConversionStage()(rows).spatial_mapping == wanted
        return
    with pytest.raises(InputError, match="dataflow row_stationary"):
        SpatialMappingConversionStage()(rows)
