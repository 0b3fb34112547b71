"""The closed form of the window union against counting cycle by cycle."""

from itertools import accumulate
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.stall import covered_cycles, window_union
from tests.properties.variants import examples

LONGEST = 5000

Windows = list[tuple[int, int]]
"""Period and window of each, periods ascending."""


@st.composite
def windows(draw: st.DrawFn) -> Windows:
    """Periods that each divide the next, with windows between none and all of a period."""
    steps = draw(st.lists(st.integers(1, 7), min_size=1, max_size=7))
    periods = [period for period in accumulate(steps, mul) if period <= LONGEST]
    return [(period, draw(st.integers(0, period))) for period in periods]


def union(given: Windows) -> float:
    """The closed form."""
    periods, lengths = (np.array(column, np.float64) for column in zip(*given, strict=True))
    scratch = np.full((2, len(given)), np.nan)
    return window_union(len(given), periods, lengths, scratch[0], scratch[1])


def counted(given: Windows, cycles: int) -> int:
    """The cycles in a window, found one by one."""
    clock = np.arange(cycles)
    inside = [clock % period < window for period, window in given]
    return int(np.any(inside, axis=0).sum())


@examples
@given(windows())
def test_the_union_is_that_of_all_cycles(given: Windows) -> None:
    assert union(given) == counted(given, given[-1][0])


@examples
@given(windows(), st.data())
def test_what_is_covered_so_far(given: Windows, data: st.DataObject) -> None:
    cycles = data.draw(st.integers(0, given[-1][0]))
    n = len(given)
    periods, lengths = (np.array(column, np.float64) for column in zip(*given, strict=True))
    gain, rest = np.zeros(n), np.zeros(n)
    window_union(n, periods, lengths, gain, rest)
    assert covered_cycles(float(cycles), n, periods, gain, rest, lengths) == counted(given, cycles)


@examples
@given(windows())
def test_the_union_lies_between_the_longest_and_the_sum(given: Windows) -> None:
    longest = given[-1][0]
    shares = [window * (longest // period) for period, window in given]
    assert max(shares) <= union(given) <= min(longest, sum(shares))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([(5, 0)], 0),
        ([(5, 3)], 3),
        ([(5, 5)], 5),
        ([(2, 1), (6, 2)], 4),  # x.x.x. and xx....
        ([(2, 1), (6, 3)], 4),  # x.x.x. and xxx...
        ([(1, 1), (1000, 1)], 1000),
        ([(3, 2), (3, 1), (12, 1)], 8),  # equal periods
        ([(10**6, 1), (10**12, 10**6)], 10**6 + 10**6 - 1),  # far too long to count
    ],
)
def test_unions_by_hand(given: Windows, expected: int) -> None:
    assert union(given) == expected
