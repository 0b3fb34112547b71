"""What every search for temporal mappings says of itself holds."""

from collections.abc import Iterator
from typing import get_args

import pytest

from nestmap.model import EvaluationBatch, Objective, SpatialProblem
from nestmap.pipeline.describe import describe
from nestmap.pipeline.explore.options import SearchName, SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import ExactStage, LomaStage, SalsaStage, SpatialMappingGeneratorStage
from nestmap.pipeline.stages.mapping.layers import layer_problems
from nestmap.pipeline.stages.mapping.recall import UNCONNECTED
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from tests.pipeline.networks import PROBLEM

Search = ExactStage | LomaStage | SalsaStage

SEARCHES: list[Search] = [ExactStage(), LomaStage(lpf_limit=4), SalsaStage(chains=2, iterations=9)]
every = pytest.mark.parametrize("search", SEARCHES, ids=[x.name for x in SEARCHES])


def spatial() -> SpatialProblem:
    problem = next(layer_problems(PROBLEM, PROBLEM.workload.layers))
    return next(iter(SpatialMappingGeneratorStage()(problem)))


def evaluated(search: Search) -> Iterator[EvaluationBatch]:
    return search.evaluated()(spatial())


def least(batches: Iterator[EvaluationBatch], objective: Objective) -> float:
    return min(float(x.values(objective).min()) for x in batches if len(x))


@every
@pytest.mark.parametrize("rank", Rank)
def test_the_number_of_orders_is_known_beforehand_or_none(search: Search, rank: Rank) -> None:
    batches = list(search.ranked(rank, UNCONNECTED)(spatial()))
    failed = [x.count for batch in batches for x in batch.statistics.infeasible]
    tried = sum(map(len, batches)) + sum(failed)
    assert search.order_count(spatial(), rank) == (None if search.is_exhaustive else tried)


@every
def test_only_an_exhaustive_search_walks(search: Search) -> None:
    walk = search.walk(UNCONNECTED)
    assert (walk is not None) is search.is_exhaustive
    if walk is not None:
        (inner,) = walk.inner_stages()
        (recalled,) = describe(inner)
        searched = recalled.inner[0]
        assert recalled.name == "RecallStage"
        assert (searched.name, searched.options) == (search.stage_name(), search.stage_options())


@every
@pytest.mark.parametrize("objective", Objective)
def test_the_best_by_an_objective_is_in_what_is_tried_for_it(
    search: Search, objective: Objective
) -> None:
    best = least(evaluated(search.minimizing(objective)), objective)
    of_front = least(evaluated(search.for_fronts(objective)), objective)
    assert of_front == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("name", get_args(SearchName))
def test_a_plan_has_the_search_of_a_name(name: SearchName) -> None:
    options = SearchOptions(search=name, workers=1)
    if name == "salsa":
        options["seed"] = 5
    plan = SearchPlan.of(options)
    search = plan.search
    assert search.name == name
    assert search.known_seed == (5 if name == "salsa" else None)
    assert plan.effective_rank is search.default_rank
    assert plan.is_greedy is search.is_greedy
    assert search.options_json.startswith(f'{{"stage": "{type(search).__name__}"')


def test_only_a_limit_of_time_makes_a_search_depend_on_it() -> None:
    assert [x.is_timed for x in SEARCHES] == [False, False, False]
    assert ExactStage(time_limit=1.0).is_timed
