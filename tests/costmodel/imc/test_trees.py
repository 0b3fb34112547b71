"""Adder trees against trees that are built adder by adder."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.imc.array import (
    AdderTree,
    PlaceValueTree,
    Toggling,
    accumulator,
    adder_tree,
    place_value_tree,
)
from nestmap.costmodel.imc.blocks import circuits_of
from nestmap.model import InMemoryCompute
from tests.costmodel.imc.machines import analog, arithmetic, digital


class Wire(NamedTuple):
    """A number in a tree: bits, and whether any of them toggles."""

    width: int
    is_used: bool


def built(inputs: int, width: int, used: int) -> Toggling:
    """Adds neighbours until one number is left; counts the 1-bit adders that toggle."""
    wires = [Wire(width, i < used) for i in range(inputs)]
    full = half = 0
    while len(wires) > 1:
        pairs = list(zip(wires[::2], wires[1::2], strict=True))
        for a, b in pairs:
            bits = max(a.width, b.width)
            full += bits if a.is_used and b.is_used else 0
            half += bits if a.is_used != b.is_used else 0
        wires = [Wire(max(a.width, b.width) + 1, a.is_used or b.is_used) for a, b in pairs]
    return Toggling(full, half)


@given(depth=st.integers(0, 8), width=st.sampled_from((1, 2, 4, 8, 16)), data=st.data())
def test_adders_that_toggle_are_those_of_a_built_tree(
    depth: int, width: int, data: st.DataObject
) -> None:
    inputs = 2**depth
    used = data.draw(st.integers(0, inputs))
    assert AdderTree(inputs, width).toggling(used) == built(inputs, width, used)


@given(depth=st.integers(0, 10), width=st.integers(1, 16))
def test_a_tree_has_the_adders_that_toggle_when_all_is_used(depth: int, width: int) -> None:
    tree = AdderTree(2**depth, width)
    assert Toggling(tree.adders, 0) == built(2**depth, width, 2**depth)
    assert tree.toggling(2**depth + 1) == Toggling(tree.adders, 0)
    assert tree.output_width == width + depth


def place_value_adders(inputs: int, width: int) -> tuple[int, int]:
    """Adders and output width of a tree that is built on the largest number of each wire.

    An adder takes the bits from the lowest of the first number to the highest of the second.
    """
    values: list[int] = [(1 << width) - 1] * inputs
    shift, adders = 1, 0
    while len(values) > 1:
        adders += sum(value.bit_length() + shift for value in values[1::2])
        values = [a + (b << shift) for a, b in zip(values[::2], values[1::2], strict=True)]
        shift *= 2
    return adders, values[0].bit_length()


@given(inputs=st.sampled_from((1, 2, 4, 8, 16)), width=st.integers(2, 16))
def test_place_values_are_added_as_in_a_built_tree(inputs: int, width: int) -> None:
    tree = PlaceValueTree(inputs, width)
    assert (tree.adders, tree.output_width) == place_value_adders(inputs, width)


def test_converters_of_a_weight_are_added_up_in_an_analog_array() -> None:
    assert place_value_tree(analog(serial=2, resolution=6), rows=100) == PlaceValueTree(8, 6)


def test_trees_of_an_activation_are_added_up_in_a_digital_array() -> None:
    assert place_value_tree(digital(serial=2), rows=64) == PlaceValueTree(2, 8 + 6)


def test_accumulators_hold_activation_weight_and_what_rows_add() -> None:
    assert accumulator(analog(resolution=6), rows=100).width == 8 + 8 + 6
    assert accumulator(digital(), rows=64).width == 8 + 8 + 6


def test_an_operation_of_one_cycle_needs_no_accumulator() -> None:
    circuits, none = circuits_of(digital()), accumulator(digital(serial=8), rows=64)
    assert (none.energy(circuits), none.area(circuits), none.delay(circuits)) == (0, 0, 0)


@given(imc=arithmetic(), depth=st.integers(0, 10))
def test_no_delay_is_negative(imc: InMemoryCompute, depth: int) -> None:
    circuits, rows = circuits_of(imc), 2**depth
    assert adder_tree(imc, rows).delay(circuits) >= 0
    assert place_value_tree(imc, rows).delay(circuits) >= 0
    assert accumulator(imc, rows).delay(circuits) >= 0


def test_a_deeper_tree_takes_a_sum_and_a_carry_longer() -> None:
    circuits = circuits_of(digital())
    longer = AdderTree(64, 8).delay(circuits) - AdderTree(32, 8).delay(circuits)
    assert longer == pytest.approx(circuits.sum_delay + circuits.carry_delay)
