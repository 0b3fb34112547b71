"""Spatial mappings: the user's cut down to a layer, and those that use the array well."""

from collections.abc import Mapping
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    Layer,
    LayerConstraints,
    Loop,
    MappingProblem,
    SpatialMapping,
    SpatialProblem,
    Unrolling,
    UnrollingHint,
)
from nestmap.model.base import copy_with
from nestmap.search import meets_constraints, spatial_mappings
from nestmap.search.spatial.all_mappings import all_spatial_mappings
from nestmap.search.spatial.unrolling import unrolling_limits
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
        ({"D1": "K 8", "D2": "K 8"}, {"D1": "K 8", "D2": "K 2"}),  # 12 / 8 is left, rounded up
        ({"D1": "K 4", "D2": "K 4"}, {"D1": "K 4", "D2": "K 3"}),
        ({"D1": "K 4 C 2 K 4"}, {"D1": "K 4 C 2 K 3", "D2": ""}),
        ({"D1": "B 4"}, {"D1": "B 1", "D2": ""}),
        ({}, {"D1": "", "D2": ""}),
    ],
)
def test_conform(wanted: Mapping[str, str], expected: Mapping[str, str]) -> None:
    given = problem(matmul(k=12, c=5), {"D1": 32, "D2": 8})
    assert meets_constraints(given, mapping(wanted)) == mapping(expected)


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
    conformed = meets_constraints(given, fitting)
    SpatialProblem(problem=given, spatial_mapping=conformed)  # raises where it is not valid
    assert meets_constraints(given, conformed) == conformed


@examples
@given(spatial_problems())
def test_a_mapping_that_fits_stays_as_it_is(spatial: SpatialProblem) -> None:
    conformed = meets_constraints(spatial.problem, spatial.spatial_mapping)
    for side in spatial.accelerator.array.sides:
        assert conformed.on(side.name) == spatial.spatial_mapping.on(side.name)


def worth(given: MappingProblem, chosen: SpatialMapping) -> float:
    """Units that work, and those over the largest unrolling."""
    factors = [chosen.factor_of(d) for d in given.layer.sizes]
    return prod(factors) + prod(factors) / max(factors) - 1.0


def with_room(given: MappingProblem) -> MappingProblem:
    """The problem with memories that hold anything."""
    memories = tuple(
        copy_with(x, {"instance": copy_with(x.instance, {"size": 2**60})})
        for x in given.accelerator.memories
    )
    return copy_with(given, {"accelerator": copy_with(given.accelerator, {"memories": memories})})


@examples
@given(mapping_problems(2**10), st.booleans())
def test_generated_mappings_are_valid_and_different(given: MappingProblem, mixed: bool) -> None:
    found = spatial_mappings(given, 8, mixed)
    assert 1 <= len(found) == len(set(found)) <= 8
    names = [side.name for side in given.accelerator.array.sides]
    for chosen in found:
        SpatialProblem(problem=given, spatial_mapping=chosen)  # raises where it is not valid
        assert [x.array_dimension for x in chosen.unrollings] == names
        assert all(loop.size > 1 for x in chosen.unrollings for loop in x.loops)
        assert mixed or all(len(x.loops) <= 1 for x in chosen.unrollings)


@examples
@given(mapping_problems(2**10), st.booleans(), st.integers(1, 5), st.integers(1, 5))
def test_more_mappings_begin_with_the_same(
    given: MappingProblem, mixed: bool, few: int, further: int
) -> None:
    found = spatial_mappings(given, few, mixed)
    assert spatial_mappings(given, few + further, mixed)[: len(found)] == found


@examples
@given(mapping_problems(2**10), st.booleans())
def test_the_best_come_first_and_mixing_does_not_worsen_them(
    given: MappingProblem, mixed: bool
) -> None:
    roomy = with_room(given)
    worths = [worth(roomy, x) for x in spatial_mappings(roomy, 8, mixed)]
    assert worths == sorted(worths, reverse=True)
    assert worth(roomy, spatial_mappings(roomy, 1, mixed=True)[0]) >= worths[0]


@examples
@given(mapping_problems(2**10))
def test_no_single_dimensions_are_worth_more(given: MappingProblem) -> None:
    roomy = with_room(given)
    best = worth(roomy, spatial_mappings(roomy, 1)[0])
    limits, sizes = unrolling_limits(roomy), roomy.layer.sizes
    sides = roomy.accelerator.array.sides
    for dimensions in product(sizes, repeat=len(sides)):
        other = SpatialMapping(
            unrollings=tuple(
                Unrolling(
                    array_dimension=side.name, loops=(Loop(dimension=d, size=limits[side.name][d]),)
                )
                for side, d in zip(sides, dimensions, strict=True)
            )
        )
        if all(other.factor_of(d) <= n for d, n in sizes.items()):
            assert worth(roomy, other) <= best


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        ({"D1": 12, "D2": 5}, {"D1": "K 12", "D2": "C 5"}),
        ({"D1": 5, "D2": 12}, {"D1": "C 5", "D2": "K 12"}),
        ({"D1": 4, "D2": 3}, {"D1": "K 4", "D2": "C 3"}),
        ({"D1": 5}, {"D1": "K 5"}),  # equal: the first in the layer
        ({"D1": 2, "D2": 2, "D3": 2}, {"D1": "K 2", "D2": "K 2", "D3": "C 2"}),
    ],
)
def test_the_most_units_then_the_most_dimensions(
    sides: Mapping[str, int], expected: Mapping[str, str]
) -> None:
    assert spatial_mappings(fed(matmul(k=12, c=5), sides), 1) == (mapping(expected),)


def test_a_layer_that_does_not_iterate_maps_nothing() -> None:
    assert spatial_mappings(fed(matmul(k=1, c=1), {"D1": 4}), 9, mixed=True) == (
        mapping({"D1": ""}),
    )


def fed(layer: Layer, sides: Mapping[str, int]) -> MappingProblem:
    """The layer on an array with one memory, wide enough for all units."""
    top = memory("top", served=" ".join(sides), width=2**16)
    return MappingProblem(layer=layer, accelerator=machine(top, sides=sides))


def asked(hints: Mapping[str, str], wanted: SpatialMapping | None = None) -> MappingProblem:
    """A matrix product of K 12, C 5 and B 4 on 8 x 4 units with a user's wishes."""
    constraints = LayerConstraints(
        spatial_mapping=wanted,
        spatial_hints=tuple(
            UnrollingHint(array_dimension=name, dimensions=tuple(text.split()))
            for name, text in hints.items()
        ),
    )
    given = fed(matmul(k=12, c=5, b=4), {"D1": 8, "D2": 4})
    return copy_with(given, {"constraints": constraints})


def test_mixed_dimensions_share_an_array_dimension() -> None:
    found = spatial_mappings(asked({"D1": "K B", "D2": "C"}), 3, mixed=True)
    assert found == tuple(
        mapping({"D1": one, "D2": "C 4"}) for one in ("K 2 B 4", "K 4 B 2", "K 8")
    )


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"D1": "B"}, {"D1": "B 4", "D2": "K 4"}),  # D2: any dimension
        ({"D1": "B", "D2": "C"}, {"D1": "B 4", "D2": "C 4"}),
        ({"D1": "C B"}, {"D1": "C 5", "D2": "B 4"}),
        ({"D1": "G B", "D2": "C"}, {"D1": "B 4", "D2": "C 4"}),  # there is no G
        ({"D1": "G", "D2": "C"}, {"D1": "K 8", "D2": "C 4"}),  # as if nothing was hinted
    ],
)
def test_hints_say_which_dimensions(hints: Mapping[str, str], expected: Mapping[str, str]) -> None:
    assert spatial_mappings(asked(hints), 1) == (mapping(expected),)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"D1": "K 3"}, {"D1": "K 3", "D2": "B 4"}),
        ({"D1": "K 3", "D2": "C 2"}, {"D1": "K 3", "D2": "C 2"}),
        ({"D2": "C 40"}, {"D1": "K 8", "D2": "C 4"}),
        ({"D1": ""}, {"D1": "", "D2": "B 4"}),
        ({"D1": "B 3"}, {"D1": "B 3", "D2": "K 4"}),  # B has one iteration left
    ],
)
def test_what_the_user_maps_stays(wanted: Mapping[str, str], expected: Mapping[str, str]) -> None:
    assert spatial_mappings(asked({}, mapping(wanted)), 1) == (mapping(expected),)


def test_mappings_that_become_equal_count_once() -> None:
    layer, sides = matmul(k=8, c=1), {"D1": 8}
    inner = memory("inner", 16, "O", "D1", width=2**10)
    rest = memory("rest", 2**20, "I1 I2", "D1", width=2**10)
    given = MappingProblem(
        layer=layer, accelerator=machine(inner, rest, memory("top", served="D1"), sides=sides)
    )
    assert spatial_mappings(given, 4) == (mapping({"D1": ""}),)  # K 8, K 4, K 2 and nothing


def test_unrollings_of_the_user_that_round_up_are_kept() -> None:
    free = problem(matmul(k=27, c=5), {"D1": 2, "D2": 14})
    wanted = mapping({"D1": "K 2", "D2": "K 14"})
    asked = copy_with(free, {"constraints": LayerConstraints(spatial_mapping=wanted)})
    assert spatial_mappings(asked, 1) == (wanted,)
    every = all_spatial_mappings(asked, mixed=True)
    assert [every.mapping(row) for row in range(len(every))] == [wanted]
    assert SpatialProblem(problem=asked, spatial_mapping=wanted).temporal_sizes["K"] == 1
    for generated in spatial_mappings(free, 100):
        assert generated.factor_of("K") <= 27
