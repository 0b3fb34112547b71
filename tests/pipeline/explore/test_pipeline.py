"""The pipelines for one core: what is described and stored is what runs."""

from functools import lru_cache
from typing import Final

import pytest

from nestmap.model.base import copy_with
from nestmap.pipeline.describe import describe
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline, front_pipeline
from nestmap.store import Store
from tests.loma import with_loma
from tests.pipeline.stage_calls import RecordedStages, stored_names, watch_stages
from tests.pipeline.stages.kinds import LARGE, salsa

PLAN: Final = SearchPlan.of(SearchOptions(search="loma", lpf_limit=5, spatial_mappings=2))
PLANS: Final = {
    "loma": PLAN,
    "salsa": salsa(),
    "prune": copy_with(PLAN, {"prune": True}),
    "bound": SearchPlan.of(
        SearchOptions(search="loma", lpf_limit=5, spatial_mappings=2, rank="bound")
    ),
    "mixed": SearchPlan.of(
        SearchOptions(search="loma", lpf_limit=4, spatial_mappings=2, mixed=True)
    ),
    "keep on chip": SearchPlan.of(with_loma(lpf_limit=5, keep_on_chip=True)),
    "energy": SearchPlan.of(with_loma(lpf_limit=5, objective="energy", count_vector=True)),
    "exact": SearchPlan.of(SearchOptions()),
    "exact of few": SearchPlan.of(SearchOptions(spatial_mappings=2, objective="energy")),
    "exact and padded": SearchPlan.of(SearchOptions(spatial_mappings=2, pad=10)),
    "workers": SearchPlan.of(with_loma(lpf_limit=5, workers=2)),
}
FRONTS: Final = {name: plan for name, plan in PLANS.items() if not plan.prune}


@lru_cache
def recorded(plan: SearchPlan) -> RecordedStages:
    """The stages of a recorded exploration."""
    with pytest.MonkeyPatch.context() as patch, Store.open(None) as store:
        ran = watch_stages(patch)
        run = explore_network(LARGE, plan, store=store).run
        return RecordedStages(frozenset(ran), stored_names(store.info(run).pipeline))


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_record_names_exactly_the_stages_that_run(plan: SearchPlan) -> None:
    ran, named = recorded(plan)
    assert ran == named


@pytest.mark.parametrize("plan", FRONTS.values(), ids=FRONTS)
def test_the_record_of_a_front_names_exactly_the_stages_that_run(
    plan: SearchPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = watch_stages(monkeypatch)
    with Store.open(None) as store:
        run = explore_front(LARGE, plan, store=store).run
        assert ran == stored_names(store.info(run).pipeline)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_what_is_not_recorded_runs_the_same_stages(
    plan: SearchPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran_when_recorded = recorded(plan).ran
    ran = watch_stages(monkeypatch)
    explore_network(LARGE, plan)
    assert ran == ran_when_recorded


def test_the_described_pipelines_find_what_the_facade_finds() -> None:
    assert exploration_pipeline(PLAN)(LARGE) == explore_network(LARGE, PLAN).total
    assert front_pipeline(PLAN)(LARGE) == explore_front(LARGE, PLAN).front
    assert describe(front_pipeline(PLAN)) != describe(exploration_pipeline(PLAN))
