"""The Pareto front: just the rows that no other beats in one cost without losing in the other.

What holds for every reducer stands in tests/contract.
"""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import MappingType, Objective
from nestmap.search import best_of, loma, pareto_front
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.properties.variants import examples
from tests.search.costs import Row, batch, front, numbers, objectives, rows_of_costs, streams


@examples
@given(rows_of_costs, st.data())
def test_the_front_is_what_no_row_dominates(rows: list[Row], data: st.DataObject) -> None:
    assert numbers(pareto_front(data.draw(streams(rows))).rows) == front(rows)


@examples
@given(rows_of_costs)
def test_energy_rises_and_latency_falls(rows: list[Row]) -> None:
    chosen = pareto_front([batch(rows)])
    assert all(a < b for a, b in pairwise(chosen.energies))
    assert all(a > b for a, b in pairwise(chosen.latencies))


@examples
@given(rows_of_costs.filter(bool), objectives, st.data())
def test_the_best_is_on_the_front(
    rows: list[Row], objective: Objective, data: st.DataObject
) -> None:
    batches = data.draw(streams(rows))
    best = best_of(batches, objective)
    found = best_of(pareto_front(batches).rows, objective)
    assert numbers([found]) == numbers([best])


@examples
@given(rows_of_costs, rows_of_costs)
def test_more_rows_take_none_off_the_front_but_those_they_dominate(
    rows: list[Row], more: list[Row]
) -> None:
    before = pareto_front([batch(rows)])
    after = pareto_front([batch(rows), batch(more, len(rows))])
    left = set(zip(after.energies, after.latencies, strict=True))
    for point in zip(before.energies, before.latencies, strict=True):
        assert point in left or any(x <= point[0] and y <= point[1] for x, y in left)


def test_of_equal_rows_the_first_stays() -> None:
    rows = [(2.0, 5), (1.0, 9), (2.0, 5), (1.0, 9), (2.0, 4)]
    assert numbers(pareto_front([batch(rows)]).rows) == [1, 4]
    assert numbers(pareto_front([batch(rows[:4]), batch(rows[2:4], 4)]).rows) == [1, 0]


def test_rows_of_several_spatial_mappings() -> None:
    register, top = memory("register", size=64, operands="I2"), memory("top", served="D1")
    layer, array = matmul(k=8, c=6), machine(register, top, sides={"D1": 4})
    problems = [mapped(layer, array, unrolled) for unrolled in ({"D1": "K 4"}, {"D1": "C 3"}, {})]
    batches = [evaluate_batch(x) for p in problems for x in loma(p, 6, MappingType.UNEVEN)]
    chosen = pareto_front(batches)
    costs = [
        (float(e), float(t)) for x in batches for e, t in zip(x.energy, x.latency2, strict=True)
    ]
    dominated = [any(y[0] <= x[0] and y[1] <= x[1] and y != x for y in costs) for x in costs]
    expected = {x for x, worse in zip(costs, dominated, strict=True) if not worse}
    assert set(zip(chosen.energies, chosen.latencies, strict=True)) == expected
    assert {x.mappings.problem.problem for x in chosen.rows} == {chosen.problem}
    for row in chosen.rows:  # each row is still a mapping of its own spatial problem
        assert evaluate_batch(row.mappings).energy.tolist() == row.energy.tolist()
