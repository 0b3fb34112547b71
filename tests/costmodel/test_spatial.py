"""Unrollings by hand: fractions, instances in use, different data at once."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given

from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import FRACTIONAL, INTEGER, UNROLLINGS
from nestmap.model import InputError, Layer, SpatialProblem
from nestmap.model.arrays import Floats
from tests.costmodel.machines import convolution, machine, mapped, matmul, memory
from tests.counting import by_reference
from tests.properties.variants import examples
from tests.strategies import spatial_problems

Factors = dict[str, dict[str, float]]
"""Unrollings by array dimension and loop dimension."""

SIDES = {"D1": 16, "D2": 16}
OUT, W, IN = range(3)


def on_two_sides(layer: Layer, unrolled: Mapping[str, str]) -> SpatialProblem:
    """A register in every unit, a row buffer for each D2, and a memory for all."""
    return mapped(
        layer,
        machine(
            memory("register"),
            memory("row", served="D1"),
            memory("all", served="D1 D2"),
            sides=SIDES,
        ),
        unrolled,
    )


@pytest.mark.parametrize(
    ("unrolled", "fractional", "integer"),
    [
        # 7 divides by 7 only
        ({"D1": "K 7"}, {"D1": {"K": 7.0}}, {"D1": {"K": 7.0}}),
        # 4 rounds of 2 units: 7/4 at work on average
        ({"D1": "K 2"}, {"D1": {"K": 7 / 4}}, {"D1": {"K": 1.0}}),
        # 2 rounds of 4
        ({"D1": "K 4"}, {"D1": {"K": 3.5}}, {"D1": {"K": 3.0}}),
        # the larger factor is lowered: 2 rounds of 2 x 3
        (
            {"D1": "K 2", "D2": "K 3"},
            {"D1": {"K": 2.0}, "D2": {"K": 7 / 2 / 2}},
            {"D1": {"K": 2.0}, "D2": {"K": 1.0}},
        ),
        # of equal factors the first one is, by itself alone: 4 rounds of 2
        (
            {"D1": "K 2", "D2": "K 2"},
            {"D1": {"K": 7 / 4}, "D2": {"K": 2.0}},
            {"D1": {"K": 1.0}, "D2": {"K": 2.0}},
        ),
        # the same dimension twice on one side is one factor
        ({"D1": "K 2 K 2"}, {"D1": {"K": 3.5}}, {"D1": {"K": 3.0}}),
        # each loop dimension by itself
        ({"D1": "K 2 C 3"}, {"D1": {"K": 7 / 4, "C": 6 / 2}}, {"D1": {"K": 1.0, "C": 3.0}}),
    ],
)
def test_factors(unrolled: Mapping[str, str], fractional: Factors, integer: Factors) -> None:
    drawn = on_two_sides(matmul(k=7, c=6), unrolled)
    spatial = by_reference(drawn)
    assert (factors(spatial, FRACTIONAL), factors(spatial, INTEGER)) == (fractional, integer)
    assert factors(drawn, FRACTIONAL) == factors(drawn, INTEGER)  # exact: whole factors


def factors(spatial: SpatialProblem, view: int) -> Factors:
    """The unrollings of the weights: D1 stands above the registers, D2 above row buffers."""
    flat, names = flatten(spatial), list(spatial.layer.sizes)
    found: Factors = {}
    for level, side in enumerate(SIDES, start=1):
        for i in range(flat.first_unrolled[W, level], flat.first_unrolled[W, level + 1]):
            dimension = names[int(flat.unrolled_dimension[W, i])]
            found.setdefault(side, {})[dimension] = float(flat.unrolled_factor[view, W, i])
    return found


def units(spatial: SpatialProblem, x: int) -> list[float]:
    """Of the array and each level of an operand."""
    return _levels(spatial, flatten(spatial).units, x)


def boost(spatial: SpatialProblem, x: int) -> list[float]:
    """Of the array and each level of an operand."""
    return _levels(spatial, flatten(spatial).boost, x)


def _levels(spatial: SpatialProblem, values: Floats, x: int) -> list[float]:
    found: list[float] = values[FRACTIONAL, x, : flatten(spatial).levels[x] + 1].tolist()
    return found


def test_units_count_the_instances_in_use() -> None:
    spatial = on_two_sides(matmul(k=8, c=6), {"D1": "K 8", "D2": "C 6"})
    for x in (OUT, W, IN):
        # units of the array, registers, row buffers, the memory
        assert units(spatial, x) == [48, 48, 6, 1]


def test_units_are_rounded_to_the_nearest() -> None:
    spatial = by_reference(on_two_sides(matmul(k=7, c=6), {"D1": "K 2", "D2": "C 6"}))
    # 7/4 x 6 = 10.5 and 6
    assert units(spatial, W) == [10, 10, 6, 1]


def test_boost_counts_different_data_only() -> None:
    spatial = on_two_sides(matmul(k=8, c=6), {"D1": "K 8", "D2": "C 6"})
    # above registers stands D1 with K, above row buffers D2 with C
    assert boost(spatial, W) == [1, 8, 6, 1]
    assert boost(spatial, IN) == [1, 1, 6, 1]
    assert boost(spatial, OUT) == [1, 8, 1, 1]


def test_sliding_windows_share_data() -> None:
    layer = convolution({"K": 2, "C": 2, "OX": 4, "FX": 3})
    spatial = on_two_sides(layer, {"D1": "OX 4 FX 3"})
    assert boost(spatial, IN) == [1, 6, 1, 1]  # 4 + 3 - 1 positions
    assert boost(spatial, W) == [1, 3, 1, 1]
    assert boost(spatial, OUT) == [1, 4, 1, 1]


def test_sliding_windows_share_data_between_sides() -> None:
    layer = convolution({"K": 2, "C": 2, "OX": 4, "FX": 3}, "ix=2*ox+1*fx")
    spatial = on_two_sides(layer, {"D1": "OX 4", "D2": "FX 3"})
    # 4 positions, two apart, and 2 * 3 + 2 + 1 = 9 of them with the filter: 9/4 rounds to 2
    assert boost(spatial, IN) == [1, 4, 2, 1]


def test_reduction_over_units_makes_partial_sums_up_to_where_it_ends() -> None:
    spatial = on_two_sides(matmul(k=8, c=6), {"D1": "K 8", "D2": "C 6"})
    assert flatten(spatial).reduced_from[FRACTIONAL, :5].tolist() == [1, 1, 1, 0, 0]


def test_without_reduction_over_units_nothing_is_partial() -> None:
    spatial = on_two_sides(matmul(k=8, c=6), {"D1": "K 8"})
    assert not flatten(spatial).reduced_from.any()


def test_what_no_memory_serves_stands_above_the_top() -> None:
    spatial = mapped(matmul(k=8, c=6), machine(memory("each"), sides=SIDES), {"D1": "K 8"})
    assert units(spatial, W) == [8, 8]
    assert boost(spatial, W) == [1, 8]


@examples
@given(spatial_problems())
def test_no_more_units_than_there_are(spatial: SpatialProblem) -> None:
    for x, operand in enumerate(spatial.layer.operands):
        of_array, *of_levels = units(spatial, x)
        assert 1 <= of_array <= spatial.accelerator.array.units
        assert min(boost(spatial, x)) >= 1
        for used, level in zip(of_levels, spatial.problem.levels(operand.name), strict=True):
            assert 1 <= used <= spatial.accelerator.instances_of(level)


@examples
@given(spatial_problems())
def test_one_view_serves_both_where_unrollings_divide(spatial: SpatialProblem) -> None:
    flat = flatten(spatial)
    mean, whole = flat.unrolled_factor[[FRACTIONAL, INTEGER], OUT]
    assert flat.views == (1 if np.array_equal(mean, whole) else 2)


def test_more_unrollings_than_a_record_holds_are_an_error() -> None:
    spatial = on_two_sides(matmul(k=7, c=6), {"D1": " ".join(["K 1"] * (UNROLLINGS + 1))})
    with pytest.raises(InputError, match=f"{UNROLLINGS + 1} of them"):
        flatten(spatial)
