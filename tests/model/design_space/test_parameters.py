"""Ranges have exactly the numbers that their decimals say."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.parameters import (
    MOST_VALUES,
    LinearRange,
    Parameter,
    PowerRange,
    ValueList,
)

decimals = st.decimals(min_value=-1000, max_value=1000, places=3).map(float)
steps = st.decimals(min_value="0.5", max_value=100, places=3).map(float)


@given(decimals, decimals, steps)
def test_linear_ranges_are_exact_and_include_their_end(
    first: float, last: float, step: float
) -> None:
    if first > last:
        return
    values = LinearRange(first=first, last=last, step=step).values
    exact = [Fraction(str(first)) + n * Fraction(str(step)) for n in range(len(values) + 1)]
    assert [float(x) for x in exact[:-1]] == list(values)
    assert exact[-2] <= Fraction(str(last)) < exact[-1]


@given(st.integers(1, 1000), st.integers(1, 10**6), st.integers(2, 10))
def test_powers_of_whole_numbers_are_whole(first: int, last: int, factor: int) -> None:
    if first > last:
        return
    values = PowerRange(first=first, last=last, factor=factor).values
    assert values == tuple(first * factor**n for n in range(len(values)))
    assert all(isinstance(x, int) for x in values)
    assert values[-1] <= last < values[-1] * factor


def test_decimal_powers_include_their_end() -> None:
    assert PowerRange(first=0.1, last=0.9, factor=3).values == (0.1, 0.3, 0.9)
    assert LinearRange(first=0.1, last=0.3, step=0.1).values == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    ("first", "last", "step"), [(2, 1, 1), (0, MOST_VALUES, 1), (0, 1e18, 1e-9)]
)
def test_empty_and_huge_linear_ranges_are_errors(first: float, last: float, step: float) -> None:
    with pytest.raises(ValidationError, match=r"empty range|more than 10,000 values"):
        LinearRange(first=first, last=last, step=step)


@pytest.mark.parametrize(
    ("first", "last", "factor"), [(2, 1, 2), (1, 2**62, 1.0001), (1, 2, 1 + 2e-16)]
)
def test_empty_and_huge_powers_are_errors(first: float, last: float, factor: float) -> None:
    with pytest.raises(ValidationError, match=r"empty range|more than 10,000 values"):
        PowerRange(first=first, last=last, factor=factor)


@pytest.mark.parametrize("factor", [1, 0, -2, float("nan"), float("inf")])
def test_factors_grow(factor: float) -> None:
    with pytest.raises(ValidationError):
        PowerRange(first=1, last=2, factor=factor)


@pytest.mark.parametrize(
    "values", [(), (1, 1), (1, 1.0), (1, "a"), (True, 1), (float("nan"),), (2**63,)]
)
def test_lists_have_different_values_of_one_kind(values: tuple[bool | int | float | str]) -> None:
    with pytest.raises(ValidationError):
        ValueList(values=values)


@pytest.mark.parametrize("name", ["", "1a", "a b", "min", "area", "energy", "if", "x" * 33, "é"])
def test_names_that_would_mean_something_else_are_errors(name: str) -> None:
    with pytest.raises(ValidationError, match="the name"):
        Parameter(name=name, choices=Expression(text="1"))
