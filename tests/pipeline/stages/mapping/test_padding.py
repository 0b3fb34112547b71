"""Padded layers: never worse, costed as the padded work, and said to be padded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    InfeasibleError,
    Layer,
    LayerResult,
    MappingProblem,
    NetworkProblem,
    Objective,
    SpatialProblem,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.resume import recorded_problem
from nestmap.store import Store
from tests.costmodel.machines import machine, matmul, memory
from tests.loma import with_loma
from tests.strategies import mapping_problems
from tests.sweeps import some_of

ARRAY = machine(memory("top", served="D1 D2", width=2**12), sides={"D1": 14, "D2": 2})
ROWS = matmul(k=27, c=3)


def plan(pad: float | None, objective: Objective = Objective.LATENCY) -> SearchPlan:
    return SearchPlan.of(with_loma(objective=objective, lpf_limit=3, pad=pad, workers=1))


def network(*layers: Layer) -> NetworkProblem:
    return NetworkProblem(workload=Workload.of(*layers), accelerator=ARRAY)


def test_rows_are_padded_to_fill_the_array() -> None:
    (result,) = explore_network(network(ROWS), plan(pad=4)).layers
    assert [str(x) for x in result.cme.padding] == ["K 27 -> 28"]
    assert result.cme.macs == 28 * 3
    (without,) = explore_network(network(ROWS), plan(pad=3)).layers
    assert without.cme.padding == ()
    assert result.cme.latency < without.cme.latency


def test_costs_are_those_of_a_layer_of_that_size() -> None:
    (result,) = explore_network(network(ROWS), plan(pad=4)).layers
    larger = MappingProblem(layer=matmul(k=28, c=3), accelerator=ARRAY)
    spatial = SpatialProblem(problem=larger, spatial_mapping=result.cme.spatial_mapping)
    cme = evaluate(spatial, result.cme.temporal_mapping)
    assert copy_with(result.cme, {"padding": ()}) == cme


def test_repeated_layers_are_padded_alike() -> None:
    second, native = (copy_with(x, {"name": n}) for x, n in ((ROWS, "b"), (matmul(28, 3), "c")))
    with Store.open(None) as store:
        problem = network(ROWS, second, native)
        done = explore_network(problem, plan(pad=4), store=store)
        assert store.best(done.run) == done.total
        again = explore_network(problem, plan(pad=4), store=store)
        assert again.total == done.total
        assert len(store.evaluations(done.run, "layer")) > 1
        fronts = store.pareto(done.run).layers
    first, repeated, other = done.layers
    assert repeated.repeats == "layer"
    assert other.repeats is None
    assert [str(x) for x in repeated.cme.padding] == ["K 27 -> 28"]
    assert other.cme.padding == ()
    assert copy_with(other.cme, {"layer": "layer", "padding": first.cme.padding}) == first.cme
    assert any(cme.padding for cme in fronts[0].cmes)
    for result in (first, repeated, other):
        spatial = recorded_problem(problem, result.cme)
        assert evaluate(spatial, result.cme.temporal_mapping) == result.cme
        sentences = list(explain(spatial, result.cme).why())
        assert any("is padded: K 27 -> 28" in x for x in sentences) == bool(result.cme.padding)


def best(problem: MappingProblem, chosen: SearchPlan) -> LayerResult | None:
    whole = NetworkProblem(workload=Workload.of(problem.layer), accelerator=problem.accelerator)
    try:
        (result,) = explore_network(whole, chosen).layers
    except InfeasibleError:
        return None
    return result


@settings(max_examples=some_of(25), deadline=None)
@given(mapping_problems(2**10), st.sampled_from(Objective), st.floats(5, 60))
def test_padding_is_never_worse(
    problem: MappingProblem, objective: Objective, percent: float
) -> None:
    whole = MappingProblem(layer=problem.layer, accelerator=problem.accelerator)
    without, padded = (best(whole, plan(pad, objective)) for pad in (None, percent))
    if without is not None:
        assert padded is not None
        assert objective.of(padded.cme) <= objective.of(without.cme)
        if not padded.cme.padding:
            assert padded.cme == without.cme


@pytest.mark.parametrize("prune", [False, True])
def test_a_sliding_window_reads_its_padded_input(prune: bool) -> None:
    window = layer_from_equation(
        "O[k][ox]+=W[k][c][fx]*I[c][ix]",
        {"K": 1, "C": 1, "OX": 27, "FX": 3},
        name="window",
        relations=["ix=2*ox+1*fx"],
        axes={"IX": (55, (0, 0))},
    )
    chosen = copy_with(plan(pad=4), {"prune": prune})
    (result,) = explore_network(network(window), chosen).layers
    assert [str(x) for x in result.cme.padding] == ["OX 27 -> 28"]
    assert result.cme.level("I", 0).elements == 57
