"""Curves against lists that have every moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nestmap.search.multicore.schedule.occupancy import below_for, below_from, change_use, use_at
from nestmap.search.multicore.schedule.packed_tables import Job, Shape, pack_tables
from nestmap.search.multicore.schedule.table_layout import (
    COUNTERS,
    COUNTS,
    CURVE_STEPS,
    FAILURE,
    FULL,
    NONE,
    ROOM_STEPS,
    ROOMS,
    TABLES,
)

END = 30
LONG = 3 * END

spans = st.lists(st.tuples(st.integers(0, END), st.integers(0, END), st.integers(1, 5)), max_size=8)


def job(steps: int) -> Job:
    """A job with one curve that may have so many steps, and counters."""
    shapes: list[Shape] = [(0, 1)] * TABLES
    shapes[ROOMS], shapes[ROOM_STEPS] = (1, steps, 2), (1, 1)
    shapes[CURVE_STEPS], shapes[COUNTS] = (1, 1), (COUNTERS, 1)
    ints, floats, views, _ = pack_tables([*shapes], [])
    views[ROOM_STEPS][:] = 1
    views[CURVE_STEPS][:] = steps
    return Job(ints, floats.astype(np.float64), 0, False, 0)


def filled(uses: list[tuple[int, int, int]]) -> tuple[Job, list[int]]:
    """A curve, and what is used at each moment."""
    made, moments = job(4 * len(uses) + 2), [0] * LONG
    for first, last, amount in uses:
        change_use(made, ROOMS, 0, min(first, last), amount)
        change_use(made, ROOMS, 0, max(first, last), -amount)
        for moment in range(min(first, last), max(first, last)):
            moments[moment] += amount
    return made, moments


@given(spans, st.integers(0, END))
def test_levels(uses: list[tuple[int, int, int]], time: int) -> None:
    made, moments = filled(uses)
    assert use_at(made, ROOMS, 0, time) == moments[time]


@given(spans, st.integers(0, END), st.integers(0, 12))
def test_low_for_good(uses: list[tuple[int, int, int]], time: int, most: int) -> None:
    made, moments = filled(uses)
    found = next(t for t in range(time, LONG) if max(moments[t:]) <= most)
    assert below_from(made, ROOMS, 0, time, most) == found


@given(spans, st.integers(0, END), st.integers(0, 12), st.integers(1, END))
def test_low_for_a_while(
    uses: list[tuple[int, int, int]], time: int, most: int, duration: int
) -> None:
    made, moments = filled(uses)
    found = next(t for t in range(time, LONG) if max(moments[t : t + duration]) <= most)
    assert below_for(made, ROOMS, 0, time, most, duration) == found


def test_what_stays_high_is_never_low() -> None:
    made = job(4)
    change_use(made, ROOMS, 0, 5, 3)
    assert below_from(made, ROOMS, 0, 0, 2) == NONE
    assert below_for(made, ROOMS, 0, 0, 2, 6) == NONE
    assert below_for(made, ROOMS, 0, 0, 2, 5) == 0


def test_a_curve_without_room_for_a_step_says_so() -> None:
    made = job(2)
    change_use(made, ROOMS, 0, 5, 3)
    change_use(made, ROOMS, 0, 5, 1)
    assert use_at(made, ROOMS, 0, 7) == 4
    change_use(made, ROOMS, 0, 6, 1)
    assert made.ints[made.ints[4 * COUNTS] + FAILURE] == FULL
