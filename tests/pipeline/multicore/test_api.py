"""Explorations of several cores: what comes out, is kept, is used again, and goes on."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

import nestmap
from nestmap.model import InputError, Objective, StoreError
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import ScheduleQuantity
from nestmap.model.multicore.allocation import Generation
from nestmap.model.multicore.schedule import CandidateRule
from nestmap.pipeline.explore.resume import resume
from nestmap.pipeline.multicore.api import (
    StreamResult,
    recorded_stream,
    resume_stream,
    stream,
    stream_problem,
)
from nestmap.pipeline.multicore.plan import Engine, StreamPlan, stream_plan
from nestmap.pipeline.stages import ExactStage, LomaStage
from nestmap.store import Parameter, RunKind, RunStatus, Store
from nestmap.store.maintenance.check import check_store
from tests.pipeline.multicore.streams import PLAN, Watched, convolutions, job, problem


@pytest.fixture(name="alone", scope="module")
def _alone() -> StreamResult:
    """What comes out where nothing is kept."""
    return stream_problem(job())


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


class Kept(NamedTuple):
    """A store, its only run, and what this one told."""

    path: Path
    run: UUID
    seen: Watched


@pytest.fixture(name="kept", scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A run in a store, which tests only read."""
    path, seen = tmp_path_factory.mktemp("kept") / "store.duckdb", Watched()
    return Kept(path, stream_problem(job(), store=path, progress=seen).run, seen)


def same(one: StreamResult, other: StreamResult) -> None:
    """Checks that two results are equal, but for their runs."""
    assert one.front == other.front
    assert one.search.generation == other.search.generation
    assert one.bound == other.bound
    assert (one.best, one.latency, one.energy) == (other.best, other.latency, other.energy)
    for name in ("core", "start", "end"):
        assert getattr(one.schedule, name).tolist() == getattr(other.schedule, name).tolist()


def test_the_reported_schedule_is_the_best_of_the_front(alone: StreamResult) -> None:
    fitness = [x.fitness for x in alone.front if x.fitness is not None]
    assert len(fitness) == len(alone.front) > 0
    best = alone.best.fitness
    assert best is not None
    assert (alone.latency, alone.energy) == (best.latency, best.energy)
    assert alone.latency == min(x.latency for x in fitness)
    assert alone.search.generation.number == PLAN.genetic.generations
    again = alone.scheduled(alone.best.allocation)
    assert again.end.tolist() == alone.schedule.end.tolist()


def test_the_schedule_is_compared_with_the_best_single_core(alone: StreamResult) -> None:
    best = alone.single_core
    assert best is not None
    cores = {core for gene in alone.problem.space.groups for core in gene.cores}
    single = {core: (core,) * len(alone.problem.space.groups) for core in sorted(cores)}
    latencies = {core: alone.scheduled(each).latency for core, each in single.items()}
    assert best.allocation == single[best.core]
    assert best.fitness.latency == latencies[best.core] == min(latencies.values())
    assert best.fitness.energy == alone.scheduled(best.allocation).energy.total
    assert alone.latency <= best.fitness.latency


def test_results_depend_on_no_store_and_no_number_of_workers(
    alone: StreamResult, path: Path
) -> None:
    same(stream_problem(job(), store=path), alone)
    same(stream_problem(job(workers=2)), alone)


def test_costs_are_searched_once(alone: StreamResult, path: Path) -> None:
    with Store.open(path) as store:
        first = stream_problem(job(), store=store)
        again = stream_problem(job(copy_with(PLAN, {"objective": Objective.ENERGY})), store=store)
        sql = "SELECT recalled, count(*) AS n FROM run_costs WHERE run = ? GROUP BY recalled"
        (one,), (two,) = store.query(sql, [first.run]), store.query(sql, [again.run])
    assert (one["recalled"], two["recalled"]) == (False, True)
    assert one["n"] == two["n"]
    assert again.front == alone.front


def test_what_is_kept_comes_back(alone: StreamResult, kept: Kept) -> None:
    path, run, _ = kept
    with Store.open_read_only(path) as store:
        record = store.run(run)
        assert (record.kind, record.status) == (RunKind.STREAM, RunStatus.DONE)
        assert store.stream_info(run).accelerator == problem().accelerator
        assert store.stream_info(run).workload == problem().workload
        same(recorded_stream(run, store), alone)
        with pytest.raises(StoreError, match="found a multi-core run"):
            store.info(run)
        with pytest.raises(StoreError, match="expected a single-core run"):
            store.problem(run)
    assert check_store(path).problems == ()


def test_named_queries_say_what_the_schedule_says(alone: StreamResult, kept: Kept) -> None:
    path, run, _ = kept
    schedule, given = alone.schedule, {Parameter.RUN: run}
    with Store.open_read_only(path) as store:
        front = store.ask("stream_front", given)
        latencies = sorted(x.fitness.latency for x in alone.front if x.fitness is not None)
        assert [x["latency"] for x in front] == latencies
        nodes = store.ask("stream_nodes", given).rows()
        assert sorted(int(str(x["ends"])) for x in nodes) == sorted(schedule.end.tolist())
        assert {x["layer"] for x in nodes} == {x.name for x in convolutions().layers}
        busy = {x["core"]: x["busy"] for x in store.ask("stream_cores", given)}
        taken = schedule.end - schedule.start
        assert busy == {
            x.id: int(taken[schedule.core == x.id].sum())
            for x in alone.problem.accelerator.compute_cores
        }
        parts = store.ask("stream_energy", given)
        assert sum(float(str(x["energy"])) for x in parts) == pytest.approx(alone.energy)
        peaks = [x["peak"] for x in store.ask("stream_memories", given)]
        assert peaks[: len(schedule.peaks)] == list(schedule.peaks)
        assert len(store.ask("stream_transfers", given)) == len(schedule.transfers)
        (line,) = store.ask("history")
        assert (line["kind"], line["latency"]) == ("stream", alone.latency)


@pytest.mark.parametrize("until", [0, 3])
def test_it_goes_on_after_the_last_generation(alone: StreamResult, path: Path, until: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        stream_problem(job(), store=path, progress=Watched(until))
    with Store.open(path) as store:
        (record,) = store.runs()
        assert record.status is RunStatus.INTERRUPTED
        with pytest.raises(StoreError, match="it is interrupted; expected a run that is done"):
            recorded_stream(record.id, store)
        seen = Watched()
        same(resume_stream(record.id, store, workers=1, progress=seen), alone)
        numbers = [x.number for x in seen.generations]
        assert numbers == list(range(until + 1, PLAN.genetic.generations + 1))
        assert store.run(record.id).status is RunStatus.DONE
        with pytest.raises(StoreError, match="it is done; expected one that was interrupted"):
            resume_stream(record.id, store)
    assert check_store(path).problems == ()


def test_runs_of_one_core_and_of_several_are_told_apart(kept: Kept, path: Path) -> None:
    shutil.copyfile(kept.path, path)
    with pytest.raises(StoreError, match="expected a single-core run"):
        resume(kept.run, path)


def test_constraints_give_a_bound(alone: StreamResult, path: Path) -> None:
    found = stream_problem(job(copy_with(PLAN, {"engine": Engine.CONSTRAINT})), store=path)
    assert found.bound is not None
    assert found.bound.bound <= found.latency <= alone.latency
    assert found.front == (found.bound.best,)
    with Store.open_read_only(path) as store:
        same(recorded_stream(found.run, store), found)
        (row,) = store.ask("stream_front", {Parameter.RUN: found.run})
        assert row["latency"] == found.latency


def test_what_constraints_have_found_is_not_looked_for_again(path: Path) -> None:
    both = job(copy_with(PLAN, {"engine": Engine.BOTH}))
    seen = Watched()
    whole = stream_problem(both, progress=seen)
    assert seen.proofs == 1
    with pytest.raises(KeyboardInterrupt):
        stream_problem(both, store=path, progress=Watched(1))
    seen = Watched()
    with Store.open(path) as store:
        (record,) = store.runs()
        same(resume_stream(record.id, store, progress=seen), whole)
    assert seen.proofs == 0


def test_a_plan_is_what_was_said() -> None:
    plan = stream_plan(
        objectives=("memory", "energy"), rule="critical", individuals=7, prefetch=["W"], seed=5
    )
    assert plan.objective is Objective.ENERGY
    assert plan.genetic.objectives == (ScheduleQuantity.MEMORY, Objective.ENERGY)
    assert (plan.schedule.rule, plan.schedule.prefetch) == (CandidateRule.CRITICAL, ("W",))
    assert (plan.genetic.individuals, plan.genetic.seed) == (7, 5)
    assert StreamPlan.model_validate_json(plan.model_dump_json()) == plan
    assert stream_plan(objectives=["memory"]).objective is Objective.LATENCY


def test_nodes_are_mapped_by_the_exact_search_for_what_schedules_minimize() -> None:
    plan = stream_plan()
    assert plan.core == StreamPlan().core
    assert isinstance(plan.core.search, ExactStage)
    assert plan.core.objective is Objective.EDP
    for name in ("latency", "energy"):
        assert stream_plan(objectives=["memory", name]).core.objective is Objective(name)
        assert stream_plan(core_objective=Objective(name)).core.objective is Objective(name)
    assert stream_plan(lpf_limit=4).core.search == LomaStage(lpf_limit=4)


@pytest.mark.parametrize(
    ("planned", "told"),
    [
        (lambda: stream_plan(individuals=0), "0 as individuals"),
        (lambda: stream_plan(generations=-1), "-1 as generations"),
        (lambda: stream_plan(rule="quick"), "rule: found 'quick'; expected one of latency, memory"),
        (lambda: stream_plan(objectives=["speed"]), "objective: found 'speed'; expected one of la"),
        (
            lambda: stream_plan(objectives=["edp", "edp"]),
            "objective: found edp, edp; expected each",
        ),
        (lambda: stream_plan(objectives=[]), "objectives"),
        (lambda: stream_plan(lpf_limit=0), "0 as lpf_limit"),
        (lambda: stream_plan(seed=-1), "-1 as seed"),
        (lambda: stream_plan(patience=0), "0 as patience"),
    ],
)
def test_impossible_plans_are_told(planned: Callable[[], StreamPlan], told: str) -> None:
    with pytest.raises(InputError, match=told):
        planned()


def test_the_facade_reads_names_and_loops() -> None:
    plan = copy_with(PLAN, {"split": None})
    machine = problem().accelerator
    found = nestmap.stream(convolutions(), machine, hint_loops=[("K", 2)], plan=plan, workers=1)
    assert len(found.problem.nodes) == 8
    assert (found.workload, found.accelerator) == ("net", "star")
    with pytest.raises(InputError, match="hint_loops cannot be combined with plan"):
        stream(convolutions(), machine, hint_loops=[("K", 2)], plan=PLAN)
    with pytest.raises(InputError, match="prefetch: found operand Q, which is not a constant"):
        stream(convolutions(), machine, plan=stream_plan(prefetch=["Q"]))


def test_generations_are_read_as_they_were_written(kept: Kept) -> None:
    path, run, seen = kept
    with Store.open_read_only(path) as store:
        rows = store.ask("stream_generations", {Parameter.RUN: run}).rows()
        assert [x["evaluations"] for x in rows] == [x.evaluations for x in seen.generations]
        assert store.stream(run).generation == seen.generations[-1]
    assert isinstance(seen.generations[-1], Generation)
