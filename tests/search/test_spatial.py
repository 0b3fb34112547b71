"""Spatial mappings: the user's cut down to a layer, and the one that fills the array."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import ceil, prod

import pytest
from hypothesis import given

from nestmap.model import (
    Layer,
    Loop,
    MappingProblem,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
)
from nestmap.search import conform, fullest
from tests.costmodel.machines import loops, machine, matmul, memory
from tests.properties.variants import examples
from tests.strategies import mapping_problems, spatial_problems


def problem(layer: Layer, sides: Mapping[str, int]) -> MappingProblem:
    return MappingProblem(layer=layer, accelerator=machine(memory("top"), sides=sides))


def mapping(unrolled: Mapping[str, str]) -> SpatialMapping:
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=name, loops=loops(text)) for name, text in unrolled.items()
        )
    )


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"D1": "K 8", "D2": "C 4"}, {"D1": "K 8", "D2": "C 4"}),
        ({"D1": "K 16", "D2": "C 8"}, {"D1": "K 12", "D2": "C 5"}),  # no more than there is
        ({"D1": "G 4", "D2": "C 4"}, {"D1": "", "D2": "C 4"}),  # no such dimension
        ({"D2": "C 4", "D1": "K 8"}, {"D1": "K 8", "D2": "C 4"}),  # the array's order
        ({"D1": "K 8"}, {"D1": "K 8", "D2": ""}),  # all sides are said
        ({"D1": "K 8", "D2": "K 8"}, {"D1": "K 8", "D2": "K 1"}),  # 12 // 8 is left
        ({"D1": "K 4", "D2": "K 4"}, {"D1": "K 4", "D2": "K 3"}),
        ({"D1": "K 4 C 2 K 4"}, {"D1": "K 4 C 2 K 3", "D2": ""}),
        ({"D1": "B 4"}, {"D1": "B 1", "D2": ""}),
        ({}, {"D1": "", "D2": ""}),
    ],
)
def test_conform(wanted: Mapping[str, str], expected: Mapping[str, str]) -> None:
    given = problem(matmul(k=12, c=5), {"D1": 32, "D2": 8})
    assert conform(given, mapping(wanted)) == mapping(expected)


@examples
@given(mapping_problems(), spatial_problems())
def test_what_conforms_is_valid(given: MappingProblem, other: SpatialProblem) -> None:
    wanted = other.spatial_mapping
    sizes = given.accelerator.array.sizes
    fitting = SpatialMapping(
        unrollings=tuple(
            x for x in wanted.unrollings if x.factor <= sizes.get(x.array_dimension, 0)
        )
    )
    conformed = conform(given, fitting)
    SpatialProblem(problem=given, spatial_mapping=conformed)  # raises where it is not valid
    assert conform(given, conformed) == conformed


@examples
@given(spatial_problems())
def test_a_mapping_that_fits_stays_as_it_is(spatial: SpatialProblem) -> None:
    conformed = conform(spatial.problem, spatial.spatial_mapping)
    for side in spatial.accelerator.array.sides:
        assert conformed.on(side.name) == spatial.spatial_mapping.on(side.name)


def utilization(given: MappingProblem, chosen: SpatialMapping) -> float:
    """The share of the array that works, on average."""
    layer = given.layer
    rounds = prod(ceil(size / chosen.factor_of(d)) for d, size in layer.sizes.items())
    return layer.macs / (rounds * given.accelerator.array.units)


@examples
@given(mapping_problems(2**10))
def test_no_other_choice_of_dimensions_fills_the_array_better(given: MappingProblem) -> None:
    chosen = fullest(given)
    SpatialProblem(problem=given, spatial_mapping=chosen)  # raises where it is not valid
    sides, sizes = given.accelerator.array.sides, given.layer.sizes
    for dimensions in product([None, *sizes], repeat=len(sides)):
        used = [d for d in dimensions if d is not None]
        if len(set(used)) < len(used):
            continue
        other = SpatialMapping(
            unrollings=tuple(
                Unrolling(
                    array_dimension=side.name,
                    loops=(Loop(dimension=d, size=min(side.size, sizes[d])),),
                )
                for side, d in zip(sides, dimensions, strict=True)
                if d is not None
            )
        )
        assert utilization(given, other) <= utilization(given, chosen) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        ({"D1": 12, "D2": 5}, {"D1": "K 12", "D2": "C 5"}),
        ({"D1": 5, "D2": 12}, {"D1": "C 5", "D2": "K 12"}),
        ({"D1": 5}, {"D1": "C 5"}),  # K would take 3 rounds of 5 for 12
        ({"D1": 4}, {"D1": "K 4"}),  # C would take 2 rounds of 4 for 5
        ({"D1": 1}, {"D1": "K 1"}),  # equal: the first one that iterates
        ({"D1": 2, "D2": 2, "D3": 2}, {"D1": "K 2", "D2": "C 2", "D3": ""}),  # one is left over
    ],
)
def test_fullest(sides: Mapping[str, int], expected: Mapping[str, str]) -> None:
    assert fullest(problem(matmul(k=12, c=5), sides)) == mapping(expected)


def test_a_layer_that_does_not_iterate_maps_nothing() -> None:
    assert fullest(problem(matmul(k=1, c=1), {"D1": 4})) == mapping({"D1": ""})
