"""The pipeline for several cores: what is described and stored is what runs."""

from functools import lru_cache

import pytest

import nestmap
from nestmap.model.base import copy_with
from nestmap.pipeline.describe import describe
from nestmap.pipeline.multicore.api import stream_problem
from nestmap.pipeline.multicore.pipeline import stream_pipeline
from nestmap.pipeline.multicore.plan import Engine, StreamPlan
from nestmap.pipeline.multicore.run import StreamPorts
from nestmap.store import Store
from tests.pipeline.multicore.streams import PLAN, Watched, job, problem
from tests.pipeline.stage_calls import RecordedStages, stored_names, watch_stages
from tests.store.streams import fill_stream

PLANS = {
    "genetic": copy_with(PLAN, {"engine": Engine.GENETIC}),
    "constraint": copy_with(PLAN, {"engine": Engine.CONSTRAINT}),
    "both": copy_with(PLAN, {"engine": Engine.BOTH}),
    "pruned": copy_with(PLAN, {"core": copy_with(PLAN.core, {"prune": True})}),
    "not pruned": copy_with(PLAN, {"core": copy_with(PLAN.core, {"prune": False})}),
}
ALLOCATING = {
    Engine.GENETIC: {"InterCoreMappingStage"},
    Engine.CONSTRAINT: {"ConstraintAllocationStage", "ConstraintFrontStage"},
    Engine.BOTH: {
        "ConstraintAllocationStage",
        "SeededInterCoreMappingStage",
        "InterCoreMappingStage",
    },
}


@lru_cache
def recorded(plan: StreamPlan) -> RecordedStages:
    """The stages of a run of a plan."""
    with pytest.MonkeyPatch.context() as patch, Store.open(None) as store:
        ran = watch_stages(patch)
        run = stream_problem(job(plan), store=store).run
        return RecordedStages(frozenset(ran), stored_names(store.stream_info(run).pipeline))


@pytest.mark.parametrize("engine", Engine)
def test_the_described_pipeline_finds_what_the_facade_finds(engine: Engine) -> None:
    plan, task = copy_with(PLAN, {"engine": engine}), problem()
    pipeline = stream_pipeline(job(plan))
    assert "ScheduledSearchStage" in [x.name for x in describe(pipeline)]
    found = pipeline(task)
    facade = nestmap.stream(task.workload, task.accelerator, plan=plan, workers=1)
    assert found.search.generation == facade.search.generation
    assert found.search.objectives == facade.search.objectives
    assert found.search.bound == facade.bound
    for name in ("core", "start", "end"):
        values = getattr(found.schedule, name), getattr(facade.schedule, name)
        assert values[0].tolist() == values[1].tolist()


@pytest.mark.parametrize("engine", Engine)
def test_the_record_names_the_stages_of_the_engine(engine: Engine) -> None:
    others = set[str]().union(*ALLOCATING.values())
    _, named = recorded(copy_with(PLAN, {"engine": engine}))
    assert named & others == ALLOCATING[engine]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_record_names_exactly_the_stages_that_run(plan: StreamPlan) -> None:
    ran, named = recorded(plan)
    assert ran == named


@pytest.mark.parametrize("engine", Engine)
def test_a_description_does_not_depend_on_who_records_or_watches(engine: Engine) -> None:
    """Nor on what is recorded already: this run has generations and a bound."""
    plain = job(copy_with(PLAN, {"engine": engine}))
    with Store.open(None) as store:
        run = fill_stream(store, finish=False)
        with store.resume_stream(run) as ledger:
            assert ledger.newest_generation() is not None
            assert ledger.bound() is not None
            ports = StreamPorts(ledger, Watched())
            assert describe(stream_pipeline(plain, ports)) == describe(stream_pipeline(plain))
