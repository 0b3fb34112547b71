"""The best rows of a stream: one, k, or all with the best first.

What holds for every reducer stands in tests/contract.
"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import Objective
from nestmap.search import best_first, best_of, k_best
from tests.properties.variants import examples
from tests.search.costs import (
    Row,
    batch,
    number,
    numbers,
    objectives,
    ranked,
    rows_of_costs,
    streams,
    value,
)

some_rows = rows_of_costs.filter(bool)


@examples
@given(some_rows, objectives)
def test_the_first_of_the_smallest_wins(rows: list[Row], objective: Objective) -> None:
    # of equal values the least energy, of equal energies the least latency, then the first
    expected = min(range(len(rows)), key=lambda i: (value(rows[i], objective), *rows[i], i))
    assert number(best_of([batch(rows)], objective)) == expected


@examples
@given(rows_of_costs, objectives, st.integers(1, 15), st.data())
def test_the_k_best_are_the_first_of_all_sorted(
    rows: list[Row], objective: Objective, k: int, data: st.DataObject
) -> None:
    chosen = k_best(data.draw(streams(rows)), objective, k)
    assert numbers(chosen.rows) == ranked(rows, objective)[:k]


@examples
@given(some_rows, objectives, st.data())
def test_the_best_is_the_first_of_the_k_best(
    rows: list[Row], objective: Objective, data: st.DataObject
) -> None:
    batches = data.draw(streams(rows))
    best, (row,) = best_of(batches, objective), k_best(batches, objective, 1).rows
    assert number(best) == number(row)
    assert best.statistics == row.statistics


def test_the_row_comes_with_all_its_costs() -> None:
    best = best_of([batch([(4.0, 9), (2.0, 8), (3.0, 7)])], Objective.ENERGY)
    costs = (best.energy, best.latency0, best.latency1, best.latency2)
    assert [column.tolist() for column in costs] == [[2.0], [6.0], [7.0], [8.0]]


def test_without_rows_the_best_is_a_batch_without_rows() -> None:
    best = best_of([batch([], reasons={"too small": 3}), batch([])], Objective.ENERGY)
    assert len(best) == 0
    assert [reason.count for reason in best.statistics.infeasible] == [3]


@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one_are_none(k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}; expected at least 1"):
        k_best([batch([(1.0, 5)])], Objective.ENERGY, k)


@examples
@given(rows_of_costs, objectives, st.data())
def test_best_first_gives_every_row(
    rows: list[Row], objective: Objective, data: st.DataObject
) -> None:
    batches = data.draw(streams(rows))
    ordered = best_first(iter(batches), objective)
    assert sorted(numbers(ordered)) == list(range(len(rows)))
    assert numbers(ordered)[:1] == ranked(rows, objective)[:1]
    assert sum(x.statistics.evaluations for x in ordered) == len(rows)


@examples
@given(rows_of_costs, objectives, st.data())
def test_best_first_sorts_batches_and_their_rows(
    rows: list[Row], objective: Objective, data: st.DataObject
) -> None:
    def places(numbers: list[int]) -> list[int]:
        return [ranked(rows, objective).index(i) for i in numbers]

    ordered = [numbers([x]) for x in best_first(data.draw(streams(rows)), objective)]
    assert all(places(x) == sorted(places(x)) for x in ordered)
    for one, other in pairwise(ordered):
        assert not other or (one and places(one)[0] < places(other)[0])


def test_best_first_of_nothing_is_nothing() -> None:
    assert best_first([], Objective.EDP) == ()
