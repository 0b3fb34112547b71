"""Numbers for people say what the numbers are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.pipeline.format.numbers import capacity, cycles, energy, engineering, rounded, share

PREFIXES = {"f": -15, "p": -12, "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9,
            "T": 12, "P": 15}  # fmt: skip


@settings(deadline=None)
@given(st.floats(1e-15, 9e17))
def test_engineering_keeps_four_digits(value: float) -> None:
    number, _, unit = engineering(value, "J").partition(" ")
    read = float(number.replace(",", "")) * 10.0 ** PREFIXES[unit.removesuffix("J")]
    assert read == pytest.approx(value, rel=5.001e-4)
    assert len(number) <= 5


@settings(deadline=None)
@given(st.integers(0, 9_999))
def test_small_whole_numbers_are_exact(value: int) -> None:
    assert engineering(value) == f"{value:,}"


@pytest.mark.parametrize(
    ("value", "text"),
    [(999.96, "1.000 k"), (0.99996, "1.000"), (99_995_000, "100.0 M"), (9.9994e-13, "999.9 fJ")],
)
def test_rounding_up_moves_the_prefix(value: float, text: str) -> None:
    assert engineering(value, "J" * text.endswith("J")) == text


def test_other_figures() -> None:
    assert energy(345.96) == "346.0 pJ"
    assert cycles(1234.6) == "1,235"
    assert share(1.0) == "100.0%"
    assert capacity(10**10) == "1.164 GiB"
    assert capacity(2**13 - 1) == "8191 bit"
    assert capacity(2**33 + 1) == "1 GiB"


@settings(deadline=None)
@given(st.floats(-1e300, 1e300))
def test_rounded_has_five_digits_and_powers_of_a_thousand(value: float) -> None:
    text = rounded(value)
    digits, _, exponent = text.partition("e")
    if abs(value) >= 1e-300:  # below, floats have fewer digits
        assert float(text) == pytest.approx(value, rel=5.1e-5)
    assert int(exponent or 0) % 3 == 0
    assert exponent == "" or 1 <= abs(float(digits)) <= 1000
