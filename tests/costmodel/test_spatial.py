"""Unrollings by hand: fractions, instances in use, different data at once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given

from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.spatial import (
    Factors,
    LevelUnrollings,
    fractional_factors,
    integer_factors,
    level_unrollings,
)
from nestmap.model import Layer, SpatialProblem
from tests.costmodel.machines import convolution, machine, mapped, matmul, memory
from tests.properties.variants import examples
from tests.strategies import spatial_problems

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
        (
            {"D1": "K 2 C 3"},
            {"D1": {"K": 7 / 4, "C": 6 / 2}},
            {"D1": {"K": 1.0, "C": 3.0}},
        ),
    ],
)
def test_factors(unrolled: Mapping[str, str], fractional: Factors, integer: Factors) -> None:
    spatial = on_two_sides(matmul(k=7, c=6), unrolled)
    assert {d: f for d, f in fractional_factors(spatial).items() if f} == fractional
    assert {d: f for d, f in integer_factors(spatial).items() if f} == integer


def unrollings(spatial: SpatialProblem) -> LevelUnrollings:
    return level_unrollings(spatial, fractional_factors(spatial))


def test_units_count_the_instances_in_use() -> None:
    form = unrollings(on_two_sides(matmul(k=8, c=6), {"D1": "K 8", "D2": "C 6"}))
    for x in (OUT, W, IN):
        # units of the array, registers, row buffers, the memory
        assert form.units[x].tolist() == [48, 48, 6, 1]


def test_units_are_rounded_to_the_nearest() -> None:
    form = unrollings(on_two_sides(matmul(k=7, c=6), {"D1": "K 2", "D2": "C 6"}))
    # 7/4 x 6 = 10.5 and 6
    assert form.units[W].tolist() == [10, 10, 6, 1]


def test_boost_counts_different_data_only() -> None:
    form = unrollings(on_two_sides(matmul(k=8, c=6), {"D1": "K 8", "D2": "C 6"}))
    # above registers stands D1 with K, above row buffers D2 with C
    assert form.boost[W].tolist() == [1, 8, 6, 1]
    assert form.boost[IN].tolist() == [1, 1, 6, 1]
    assert form.boost[OUT].tolist() == [1, 8, 1, 1]


def test_sliding_windows_share_data() -> None:
    layer = convolution({"K": 2, "C": 2, "OX": 4, "FX": 3})
    form = unrollings(on_two_sides(layer, {"D1": "OX 4 FX 3"}))
    assert form.boost[IN].tolist() == [1, 6, 1, 1]  # 4 + 3 - 1 positions
    assert form.boost[W].tolist() == [1, 3, 1, 1]
    assert form.boost[OUT].tolist() == [1, 4, 1, 1]


def test_sliding_windows_share_data_between_sides() -> None:
    layer = convolution({"K": 2, "C": 2, "OX": 4, "FX": 3}, "ix=2*ox+1*fx")
    form = unrollings(on_two_sides(layer, {"D1": "OX 4", "D2": "FX 3"}))
    # 4 positions, two apart, and 2 * 3 + 2 + 1 = 9 of them with the filter: 9/4 rounds to 2
    assert form.boost[IN].tolist() == [1, 4, 2, 1]


def test_reduction_over_units_makes_partial_sums_up_to_where_it_ends() -> None:
    form = unrollings(on_two_sides(matmul(k=8, c=6), {"D1": "K 8", "D2": "C 6"}))
    assert form.reduced_from.tolist() == [True, True, True, False, False]


def test_without_reduction_over_units_nothing_is_partial() -> None:
    form = unrollings(on_two_sides(matmul(k=8, c=6), {"D1": "K 8"}))
    assert not form.reduced_from.any()


def test_what_no_memory_serves_stands_above_the_top() -> None:
    spatial = mapped(matmul(k=8, c=6), machine(memory("each"), sides=SIDES), {"D1": "K 8"})
    form = unrollings(spatial)
    assert form.units[W].tolist() == [8, 8]
    assert form.boost[W].tolist() == [1, 8]


@examples
@given(spatial_problems())
def test_no_more_units_than_there_are(spatial: SpatialProblem) -> None:
    form = unrollings(spatial)
    assert (form.units >= 1).all()
    assert (form.units <= spatial.accelerator.array.units).all()
    assert (form.boost >= 1).all()
    for x, operand in enumerate(spatial.layer.operands):
        for level, memory_level in enumerate(spatial.problem.levels(operand.name), start=1):
            assert form.units[x, level] <= spatial.accelerator.instances_of(memory_level)


@examples
@given(spatial_problems())
def test_one_view_serves_both_where_unrollings_divide(spatial: SpatialProblem) -> None:
    whole = all(
        factor == int(factor)
        for loops in fractional_factors(spatial).values()
        for factor in loops.values()
    )
    assert flatten(spatial).views == (1 if whole else 2)
