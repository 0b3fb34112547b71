"""Lower bounds: united over spaces, compared with results, added over layers."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    CostBounds,
    CostModelEvaluation,
    LayerFront,
    LayerResult,
    NetworkEvaluation,
    Objective,
    ObjectiveBound,
    SearchStatistics,
)
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import gap_to, objective_bound, union_bounds
from tests.store.builders import accelerator, cme, cost_bounds, layer, vector_entry

STATISTICS = st.builds(
    SearchStatistics,
    evaluations=st.integers(0, 9),
    pruned=st.integers(0, 9),
    bounds=st.none() | cost_bounds(),
    unproven=st.integers(0, 3),
)
BOUNDS = CostBounds(energy=6.0, latency=40.0, edp=700.0)


def costing(energy: float, cycles: int, name: str = "fc") -> CostModelEvaluation:
    """An evaluation with this energy and latency."""
    made = cme(layer(name), accelerator(), energy)
    given = {"mac_energy": energy, "memory_energy": 0.0, "onloading": 0.0, "offloading": 0.0}
    return copy_with(made, {**given, "ideal_temporal_cycles": cycles, "stall": 0, "drain": 0})


def resulting(energy: float, cycles: int, objective: Objective, value: float) -> LayerResult:
    bound = ObjectiveBound(objective=objective, value=value)
    return LayerResult(cme=costing(energy, cycles), bound=bound)


def test_each_objective_has_its_bound() -> None:
    assert [BOUNDS.of(x) for x in Objective] == [
        {"energy": 6.0, "latency": 40.0, "edp": 700.0}[x.value] for x in Objective
    ]


@given(st.lists(cost_bounds(), min_size=1, max_size=4))
def test_the_bounds_of_a_union_are_those_of_its_lowest_parts(parts: list[CostBounds]) -> None:
    union = reduce(CostBounds.union, parts)
    for objective in Objective:
        assert union.of(objective) == min(part.of(objective) for part in parts)
    assert union_bounds(None, *parts, None) == union


def test_there_is_no_bound_of_spaces_that_nobody_knows() -> None:
    assert union_bounds() is None
    assert union_bounds(None, None) is None
    assert objective_bound(None, Objective.ENERGY) is None


@given(STATISTICS, STATISTICS, STATISTICS)
def test_sums_of_statistics_do_not_depend_on_the_order(
    a: SearchStatistics, b: SearchStatistics, c: SearchStatistics
) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + SearchStatistics() == a
    assert (a + b).unproven == a.unproven + b.unproven
    assert (a + b).bounds == union_bounds(a.bounds, b.bounds)


@given(STATISTICS)
def test_repeats_have_the_bounds_and_count_nothing(statistics: SearchStatistics) -> None:
    assert statistics.without_counts == SearchStatistics(bounds=statistics.bounds)


@given(st.floats(0, 1e18), st.floats(0, 1e18))
def test_a_gap_is_a_share(bound: float, value: float) -> None:
    assert 0.0 <= gap_to(bound, value) <= 1.0
    assert gap_to(bound, bound) == 0.0


@pytest.mark.parametrize(
    ("bound", "value", "gap"),
    [
        (75.0, 100.0, 0.25),
        (0.0, 100.0, 1.0),
        (0.0, 0.0, 0.0),
        (100.0, 75.0, 0.0),
        (1.0, 1 + 0.9e-9, 0.0),
        (1.0, 1 + 1e-7, 1 - 1 / (1 + 1e-7)),
    ],
)
def test_a_gap_is_zero_where_only_rounding_is_left(bound: float, value: float, gap: float) -> None:
    assert gap_to(bound, value) == gap


@pytest.mark.parametrize(
    ("objective", "value"), [(Objective.ENERGY, 8.0), (Objective.LATENCY, 40.0)]
)
def test_a_result_has_the_gap_of_its_objective(objective: Objective, value: float) -> None:
    assert resulting(10.0, 50, objective, value).gap == 1 - value / (10 if value == 8 else 50)
    assert LayerResult(cme=costing(10.0, 50)).gap is None


@pytest.mark.parametrize("objective", Objective)
def test_the_best_of_a_front_has_the_bound_of_its_objective(objective: Objective) -> None:
    statistics = SearchStatistics(evaluations=3, bounds=BOUNDS)
    cmes = (costing(10.0, 90), costing(20.0, 50))
    best = LayerFront(cmes=cmes, statistics=statistics).best(objective)
    assert best.bound == ObjectiveBound(objective=objective, value=BOUNDS.of(objective))
    assert LayerFront(cmes=cmes).best(objective).bound is None


@pytest.mark.parametrize(("objective", "gap"), [(Objective.ENERGY, 0.4), (Objective.LATENCY, 0.2)])
def test_energies_and_latencies_of_layers_add_up(objective: Objective, gap: float) -> None:
    parts = {Objective.ENERGY: (8.0, 10.0), Objective.LATENCY: (40.0, 40.0)}[objective]
    layers = (resulting(10.0, 50, objective, parts[0]), resulting(20.0, 50, objective, parts[1]))
    assert NetworkEvaluation(layers=layers).gap == pytest.approx(gap)
    assert NetworkEvaluation(layers=(*layers, LayerResult(cme=costing(1.0, 1)))).gap is None


def test_vector_operators_have_no_gap() -> None:
    layers, entry = (resulting(10.0, 50, Objective.ENERGY, 8.0),), vector_entry("v")
    counted = NetworkEvaluation(layers=layers, vector=(entry,), vector_counted=True)
    assert counted.gap == pytest.approx(2.0 / (10.0 + entry.energy))
    assert copy_with(counted, {"vector_counted": False}).gap == pytest.approx(0.2)


def test_objectives_are_not_mixed() -> None:
    layers = tuple(resulting(10.0, 50, x, 8.0) for x in (Objective.ENERGY, Objective.LATENCY))
    assert NetworkEvaluation(layers=layers).gap is None


COSTS = st.lists(st.tuples(st.floats(1e-3, 1e9), st.integers(1, 10**9)), min_size=1, max_size=5)


@given(COSTS, COSTS)
def test_no_network_has_a_lower_edp_than_its_bound(
    found: list[tuple[float, int]], possible: list[tuple[float, int]]
) -> None:
    """The gap is that of a result to any choice of mappings with products above the bounds."""
    pairs = list(zip(found, possible, strict=False))
    layers = tuple(
        resulting(max(e, x), max(n, m), Objective.EDP, x * m) for (e, n), (x, m) in pairs
    )
    network = NetworkEvaluation(layers=layers)
    energy, latency = (sum(pair[1][i] for pair in pairs) for i in (0, 1))
    assert network.gap is not None
    assert 1 - energy * latency / network.edp <= network.gap + 1e-9


def test_equal_layers_have_the_edp_gap_of_one() -> None:
    one = resulting(10.0, 50, Objective.EDP, 400.0)
    assert NetworkEvaluation(layers=(one, one, one)).gap == pytest.approx(0.2)
