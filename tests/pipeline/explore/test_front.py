"""Fronts: they hold the best of every objective, and the store gets them as results."""

from pathlib import Path

import pytest

from nestmap.model import InfeasibleError, InputError, LayerFront, NetworkProblem, Objective
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import (
    FrontExploration,
    explore_front,
    explore_network,
    read_network,
)
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import ExactStage
from nestmap.store import RunStatus, Store
from tests.costmodel.machines import machine, memory
from tests.loma import LOMA_PLAN, with_loma
from tests.pipeline.networks import PROBLEM

PLANS = {
    "loma": SearchPlan.of(SearchOptions(search="loma", spatial_mappings=8)),
    "salsa": SearchPlan.of(SearchOptions(search="salsa", spatial_mappings=8, mixed=True)),
    "kept on chip": SearchPlan.of(with_loma(keep_on_chip=True)),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("objective", Objective)
def test_the_best_of_each_objective_is_in_the_front(plan: SearchPlan, objective: Objective) -> None:
    chosen = copy_with(plan, {"objective": objective})
    # annealing visits other orders for another objective: its front is that of the same visits
    front = explore_front(PROBLEM, chosen).front
    best = explore_network(PROBLEM, chosen).total
    for layer, result in zip(front.layers, best.layers, strict=True):
        found = layer.best(objective)
        assert objective.of(found.cme) == objective.of(result.cme)
        assert found.statistics == result.statistics
        assert result.cme in layer.cmes


def test_no_mapping_of_a_front_is_better_in_one_without_being_worse_in_the_other() -> None:
    front = explore_front(PROBLEM, PLANS["loma"]).front
    assert max(len(layer.cmes) for layer in front.layers) > 1
    for layer in front.layers:
        assert_front(layer)


def assert_front(layer: LayerFront) -> None:
    energies = [cme.energy for cme in layer.cmes]
    latencies = [cme.latency for cme in layer.cmes]
    assert energies == sorted(set(energies))
    assert latencies == sorted(set(latencies), reverse=True)


def test_the_store_and_json_know_how_far_a_front_may_be_off(tmp_path: Path) -> None:
    search = copy_with(ExactStage(), {"layer_labels": 1})
    with Store.open(tmp_path / "f.duckdb") as store:
        found = explore_front(PROBLEM, SearchPlan(search=search), store=store)
        recorded = store.pareto(found.run)
        rows = store.query("SELECT layer, front_gap FROM results ORDER BY position").rows()
    gaps = [layer.gap for layer in found.front.layers]
    assert max(gap or 0.0 for gap in gaps) > 0
    assert [layer.gap for layer in recorded.layers] == gaps
    assert [row["front_gap"] for row in rows] == gaps
    for mine, read in zip(found.front.layers, recorded.layers, strict=True):
        assert read.statistics.bounds == mine.statistics.bounds
        assert read.cmes == mine.cmes


def test_a_bundled_network() -> None:
    network = read_network("light:alexnet", "tpu_like")
    front = explore_front(network, SearchPlan.of(with_loma(lpf_limit=4))).front
    for objective in Objective:
        best = explore_network(
            network, SearchPlan.of(with_loma(lpf_limit=4, objective=objective))
        ).total
        found = front.best(objective)
        assert [objective.of(x.cme) for x in found.layers] == [
            objective.of(x.cme) for x in best.layers
        ]
    for layer in front.layers:
        assert_front(layer)


@pytest.mark.parametrize("objective", Objective)
def test_the_store_gets_the_best_for_the_objective_and_all_evaluations(
    objective: Objective, tmp_path: Path
) -> None:
    file, plan = (
        tmp_path / "store.duckdb",
        SearchPlan.of(SearchOptions(search="loma", objective=objective, spatial_mappings=8)),
    )
    found = explore_front(PROBLEM, plan, store=file)
    with Store.open_read_only(file) as store:
        assert store.best(found.run) == found.front.best(objective)
        assert [run.status for run in store.runs()] == [RunStatus.DONE]
        for layer in found.front.layers:
            recorded = sum(map(len, store.evaluations(found.run, layer.layer)))
            assert recorded == layer.statistics.evaluations
        (row,) = store.query("SELECT pipeline FROM runs").rows()
        assert "ParetoStage" in str(row["pipeline"])


def test_a_front_comes_back_from_json() -> None:
    found = explore_front(PROBLEM, SearchPlan.of(with_loma(lpf_limit=2)))
    assert FrontExploration.model_validate_json(found.model_dump_json()) == found
    assert (found.workload, found.accelerator) == ("net", "machine")


def test_pruning_leaves_no_front() -> None:
    with pytest.raises(InputError, match="prune cannot be combined with a search for fronts"):
        explore_front(PROBLEM, copy_with(LOMA_PLAN, {"prune": True}))


def test_a_layer_that_fits_nowhere_is_named() -> None:
    tiny = machine(memory("tiny", size=7, operands="I2", served="D1"), memory("top", served="D1"))
    network = NetworkProblem(workload=PROBLEM.workload, accelerator=tiny)
    with pytest.raises(InfeasibleError, match=r"layer first: .* no place .* machine: tiny too"):
        explore_front(network, LOMA_PLAN)
