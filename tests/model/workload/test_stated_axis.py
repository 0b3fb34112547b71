"""Stated lengths and paddings are compared with what loops reach, position by position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import AffineIndex, Term
from nestmap.model.workload.stated_axis import axis_contradiction, axis_doubt


def index_of(
    step: int, dilation: int, size: int | None = None, padding: tuple[int, int] = (0, 0)
) -> AffineIndex:
    terms = (Term(dimension="OX", coefficient=step), Term(dimension="FX", coefficient=dilation))
    return AffineIndex(terms=terms, name="IX", size=size, padding=padding)


small = st.integers(1, 5)


@given(small, small, small, small, st.integers(1, 30), st.tuples(small, small))
def test_loops_stay_on_the_padded_axis_and_touch_it(
    step: int, dilation: int, out: int, window: int, size: int, padding: tuple[int, int]
) -> None:
    before, after = padding
    touched = {step * i + dilation * j - before for i in range(out) for j in range(window)}
    index, sizes = index_of(step, dilation, size, padding), {"OX": out, "FX": window}
    accepted = axis_contradiction(index, sizes) is None
    if max(touched) >= size + after or max(touched) < 0:
        assert not accepted
    elif max(touched) >= size or max(touched) + max(step, dilation) >= size + after:
        assert accepted


@given(small, small, small, small, st.integers(0, 4))
def test_a_convolution_of_any_stride_is_accepted(
    step: int, window: int, out: int, before: int, skipped: int
) -> None:
    """The output of a convolution is as large as its padded input admits."""
    reached = step * (out - 1) + window
    size = reached + skipped % step - before
    if size < 1 or before >= window:
        return
    index, sizes = index_of(step, 1, size, (before, 0)), {"OX": out, "FX": window}
    assert axis_contradiction(index, sizes) is None
    doubtful = axis_doubt(index_of(1, 1, size, (before, 0)), {"OX": reached - window + 1, "FX": 1})
    assert (doubtful is not None) is (size + before - (reached - window + 1) >= 1)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (index_of(1, 1, 2), "the 10 elements that they reach, padding included"),
        (index_of(1, 1, None, (100, 100)), "less padding than the 10 elements that they reach"),
        (index_of(1, 1, 8, (100, 100)), "padding within the 10 elements that they reach"),
    ],
)
def test_a_contradiction_says_what_would_be_right(index: AffineIndex, expected: str) -> None:
    wrong = axis_contradiction(index, {"OX": 8, "FX": 3})
    assert wrong is not None
    assert wrong.expected == expected
    assert wrong.found.endswith("along IX = ox+fx of OX 8 and FX 3")


@pytest.mark.parametrize(
    ("index", "out", "window", "doubtful"),
    [
        (index_of(2, 1), 4, 1, False),  # a convolution of one by one with a stride
        (index_of(4, 1), 4, 4, False),  # patches
        (index_of(1, 8), 56, 3, False),  # dilated
        (index_of(1000, 1), 8, 3, True),
        (index_of(1, 1, 100), 8, 3, True),
    ],
)
def test_what_is_unusual(index: AffineIndex, out: int, window: int, doubtful: bool) -> None:
    assert (axis_doubt(index, {"OX": out, "FX": window}) is not None) is doubtful
