"""Results have the bound of the space that was searched, however it was searched."""

import pytest

from nestmap.model import (
    CostBounds,
    EvaluationBatch,
    LayerNode,
    MappingType,
    NetworkProblem,
    Objective,
    ObjectiveBound,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import union_bounds
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.plan import SearchPlan, candidates_stage
from nestmap.pipeline.stages import (
    LomaStage,
    SalsaStage,
    SpatialMappingGeneratorStage,
    SumStage,
    WorkloadStage,
)
from nestmap.search import best_of, loma
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.store import Store
from tests.costmodel.machines import matmul
from tests.pipeline.stages.mapping.test_deduplicate import MACHINE, blocks

ONE = NetworkProblem(
    workload=Workload(name="net", nodes=(LayerNode(layer=matmul(k=8, c=6)),)), accelerator=MACHINE
)


SEARCHES: dict[str, LomaStage | SalsaStage] = {
    "loma": LomaStage(lpf_limit=4),
    "salsa": SalsaStage(chains=2, iterations=40),
}


def plan_of(objective: Objective, *, prune: bool = False, search: str = "loma") -> SearchPlan:
    spatial = SpatialMappingGeneratorStage(max_mappings=4)
    return SearchPlan(objective=objective, search=SEARCHES[search], spatial=spatial, prune=prune)


def union_of_candidates(plan: SearchPlan) -> CostBounds | None:
    (problem,) = WorkloadStage()(ONE)
    return union_bounds(*map(lower_bounds, candidates_stage(plan)(problem)))


@pytest.mark.parametrize("search", ["loma", "salsa"])
@pytest.mark.parametrize("objective", Objective)
def test_the_bound_is_that_of_all_spatial_mappings(objective: Objective, search: str) -> None:
    plan = plan_of(objective, search=search)
    (result,) = explore_network(ONE, plan).total.layers
    bounds = union_of_candidates(plan)
    assert bounds is not None
    assert result.statistics.bounds == bounds
    assert result.bound == ObjectiveBound(objective=objective, value=bounds.of(objective))
    assert result.gap is not None
    assert bounds.of(objective) <= objective.of(result.cme) * (1 + 1e-9)


@pytest.mark.parametrize("objective", Objective)
def test_pruned_spatial_mappings_count_for_every_objective(objective: Objective) -> None:
    plain, pruned = (plan_of(objective, prune=prune) for prune in (False, True))
    (result,) = explore_network(ONE, pruned).total.layers
    assert result.statistics.bounds == union_of_candidates(plain)
    assert (result.bound, result.gap) == (
        (whole := explore_network(ONE, plain).total.layers[0]).bound,
        whole.gap,
    )


def test_repeated_layers_have_the_bound_of_the_first() -> None:
    plan = plan_of(Objective.ENERGY)
    layers = explore_network(blocks(3), plan).total.layers
    assert [x.repeats for x in layers] == [None, None, "up0", "down0", "up0", "down0"]
    assert layers[0].bound is not None
    assert [x.bound for x in layers] == [x.bound for x in layers[:2]] * 3
    assert [x.gap for x in layers] == [x.gap for x in layers[:2]] * 3


def test_fronts_of_repeated_layers_have_the_bounds_of_the_first() -> None:
    front = explore_front(blocks(2), plan_of(Objective.ENERGY)).front
    for objective in Objective:
        first, second, third, fourth = (x.bound for x in front.best(objective).layers)
        assert first is not None
        assert (first, second) == (third, fourth)


@pytest.mark.parametrize("search", ["loma", "salsa"])
def test_reused_searches_have_their_bounds(search: str) -> None:
    plan = plan_of(Objective.EDP, search=search)
    with Store.open(None) as store:
        first, again = (explore_network(blocks(2), plan, store=store) for _ in range(2))
        assert all(x.gap is not None for x in first.total.layers)
        assert again.total == first.total
        assert first.run is not None
        assert again.run is not None
        (row,) = store.query(
            "SELECT bool_and(recalled) AS all FROM run_searches WHERE run = ?", (again.run,)
        )
        assert row["all"]
        assert store.best(again.run) == first.total
        for objective in Objective:
            best = store.pareto(first.run).best(objective)
            assert [x.statistics.bounds for x in best.layers] == [
                x.statistics.bounds for x in first.total.layers
            ]


def batch() -> EvaluationBatch:
    from nestmap.costmodel.evaluate import evaluate_batch  # noqa: PLC0415

    plan = plan_of(Objective.ENERGY)
    (problem,) = WorkloadStage()(ONE)
    spatial = next(iter(candidates_stage(plan)(problem)))
    found = map(evaluate_batch, loma(spatial, 3, MappingType.UNEVEN))
    return best_of(found, Objective.ENERGY)


def test_a_sum_without_an_objective_has_no_bounds() -> None:
    found = batch()
    assert SumStage()([found]).layers[0].bound is None
    (bounded,) = SumStage(objective=Objective.ENERGY)([found]).layers
    assert bounded.bound is not None
    unknown = found.with_statistics(copy_with(found.statistics, {"bounds": None}))
    assert SumStage(objective=Objective.ENERGY)([unknown]).layers[0].bound is None
