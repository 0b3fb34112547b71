"""Selections under a limit: brute force over all of them has the same least cost."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.search import Points, Selection, select_within
from nestmap.search.select import within_limit
from tests.properties.variants import examples

amounts = st.integers(1, 60).map(float)
layers_of_points = st.lists(
    st.lists(st.tuples(amounts, amounts), min_size=1, max_size=6), min_size=1, max_size=5
)


def points(layers: list[list[tuple[float, float]]]) -> list[Points]:
    return [
        Points(np.array([x for x, _ in layer]), np.array([y for _, y in layer])) for layer in layers
    ]


def sums(layers: list[Points], places: tuple[int, ...]) -> tuple[float, float]:
    chosen = list(zip(layers, places, strict=True))
    return (sum(float(x.cost[n]) for x, n in chosen), sum(float(x.used[n]) for x, n in chosen))


def least(layers: list[Points], limit: float) -> float | None:
    """The least cost of all selections that meet the limit."""
    every = product(*(range(len(x.cost)) for x in layers))
    found = [sums(layers, places) for places in every]
    return min((cost for cost, used in found if used <= limit), default=None)


def checked(layers: list[Points], limit: float, found: Selection) -> float:
    cost, used = sums(layers, found.places)
    assert used <= limit
    assert found.bound <= cost
    return cost


@examples
@given(layers_of_points, st.floats(0, 1.2))
def test_no_selection_within_the_limit_costs_less(
    drawn: list[list[tuple[float, float]]], share: float
) -> None:
    layers = points(drawn)
    limit = round(share * sum(float(x.used.max()) for x in layers))
    optimum, found = least(layers, limit), select_within(layers, limit)
    assert (optimum is None) == (found is None)
    if found is not None:
        assert checked(layers, limit, found) == found.bound == optimum


def test_a_limit_of_states_keeps_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    layers = [Points(rng.random(6), rng.random(6)) for _ in range(6)]
    assert prod(len(x.cost) for x in layers) == 6**6
    off = 0
    for limit in (1.5, 2.0, 2.5):
        optimum = least(layers, limit)
        for states in (1, 2, 4):
            monkeypatch.setattr(within_limit, "MOST_STATES", states)
            found = select_within(layers, limit)
            assert optimum is not None
            assert found is not None
            assert found.bound <= optimum + 1e-12 <= checked(layers, limit, found) + 2e-12
            off += found.bound < checked(layers, limit, found)
    assert off


def test_hundreds_of_layers_are_selected_from_exactly() -> None:
    rng = np.random.default_rng(2)
    front = [np.sort(rng.random((40, 2)), axis=0) for _ in range(200)]
    layers = [Points(x[:, 0], x[::-1, 1].copy()) for x in front]
    limit = 1.1 * sum(float(x.used.min()) for x in layers)
    found = select_within(layers, limit)
    assert found is not None
    cost = checked(layers, limit, found)
    assert (cost - found.bound) / cost < 1e-6
