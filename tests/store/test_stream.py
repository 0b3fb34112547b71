"""Runs of several cores: what is written comes back, and the whole store knows of it."""

from pathlib import Path

import numpy as np
import pytest

from nestmap.model import StoreError
from nestmap.model.base import copy_with
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.store import Parameter, RunKind, RunStatus, Store
from nestmap.store.maintenance.check import check_store
from nestmap.store.maintenance.merge import merge_stores
from nestmap.store.maintenance.prune import PruneSelection, prune
from nestmap.store.schema.tables import CONTENT_TABLES, RUN_TABLES
from tests.pipeline.multicore.streams import problem
from tests.store.filled import content, fill, filled, sql
from tests.store.streams import (
    ENERGY,
    fill_stream,
    filled_stream,
    generation,
    info,
    known_costs,
    schedule,
    schedule_problem,
)

OWN = tuple(
    x for x in RUN_TABLES if x.startswith(("stream", "schedule", "generations", "individuals"))
)
MACHINE = ("cores", "homes", "wires", "paths")


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


def test_all_of_it_comes_back(path: Path) -> None:
    run = filled_stream(path)
    genes = len(schedule_problem().space.groups)
    with Store.open_read_only(path) as store:
        assert store.stream_info(run) == info()
        found = store.stream(run)
        assert found.generation == generation(1, genes)
        assert found.front == generation(1, genes).front
        assert found.bound is not None
        assert (found.bound.bound, found.bound.proven, found.bound.evaluations) == (40, False, 9)
        assert found.reported == (0,) * genes
        known = store.core_costs([*known_costs(), "4" * 32])
        for key, cost in known_costs().items():
            assert known[key].cost == cost.cost
            expected = None if cost.cme is None else copy_with(cost.cme, {"layer": ""})
            assert known[key].cme == expected
        assert len(known) == 3
        (record,) = store.runs()
        assert (record.kind, record.status) == (RunKind.STREAM, RunStatus.DONE)
        assert (record.workload, record.accelerator) == ("net", "star")
    assert check_store(path).problems == ()


def test_each_table_has_what_the_schedule_has(path: Path) -> None:
    run = filled_stream(path)
    with Store.open(path) as store:
        made = schedule(schedule_problem())
        rows = store.query("SELECT * FROM schedule_nodes ORDER BY node").rows()
        assert [(x["core"], x["begins"], x["ends"]) for x in rows] == list(
            zip(made.core, made.start, made.end, strict=True)
        )
        assert [x["number"] for x in rows[:4]] == [0, 1, 0, 1]
        kinds = [x["kind"] for x in store.query("SELECT kind FROM schedule_transfers")]
        assert kinds == ["constant", "activation", "eviction", "result"]
        until = [x["until"] for x in store.query("SELECT until FROM schedule_stays")]
        assert until == [20, 21, 22, 23, 24, 25, 26, None]
        costs = store.ask("node_costs", {Parameter.RUN: run}).rows()
        assert len(costs) == 5  # the sixth cannot be
        assert costs[0]["streamed"] == ["O", "I"]
        homes = TopMemories(accelerator=problem().accelerator).memories
        memories = store.ask("stream_memories", {Parameter.RUN: run}).rows()
        assert [x["name"] for x in memories] == [home.name for home in homes]
        parts = store.ask("stream_energy", {Parameter.RUN: run}).rows()
        assert {str(x["part"]): x["energy"] for x in parts} == dict(ENERGY)
        assert sum(float(str(x["share"])) for x in parts) == pytest.approx(1)


def test_links_are_busy_while_anything_passes(path: Path) -> None:
    """Transfers from 0, 1, 2, 3 to 5, streams from 4, 5, 6, 7 to 9: all cycles from 0 to 9."""
    run = filled_stream(path)
    with Store.open(path) as store:
        first, *others = store.ask("stream_links", {Parameter.RUN: run}).rows()
        bits = sum(range(8, 12)) + int(np.dot([5, 4, 3, 2], [1, 2, 3, 4]))
        assert (first["name"], first["busy"], first["bits"]) == ("9 -> 0", 9, bits)
        assert first["transfers"] == 4
        assert {x["busy"] for x in others} == {0}


def test_a_machine_is_written_once(path: Path) -> None:
    filled_stream(path)
    with Store.open(path) as store:
        counts = [len(store.query(f"FROM {table}")) for table in (*MACHINE, *CONTENT_TABLES)]
        fill_stream(store)
        assert [len(store.query(f"FROM {x}")) for x in (*MACHINE, *CONTENT_TABLES)] == counts
        assert all(counts[: len(MACHINE)])


def test_a_run_goes_on(path: Path) -> None:
    genes = len(schedule_problem().space.groups)
    run = filled_stream(path, finish=False)
    with Store.open(path) as store:
        assert store.run(run).status is RunStatus.INTERRUPTED
        with store.resume_stream(run) as going_on:
            assert going_on.newest_generation() == generation(1, genes)
            assert going_on.scheduled_individuals() == generation(1, genes).scheduled
            assert going_on.bound() is not None
            going_on.record_problem(schedule_problem())
            going_on.record_generation(generation(2, genes))
            going_on.finish(schedule(schedule_problem()))
            with pytest.raises(ValueError, match="is done; expected a run that is running"):
                going_on.finish(schedule(schedule_problem()))
        assert store.run(run).resumed == 1
    assert check_store(path).problems == ()


def test_an_error_is_kept_as_the_reason(path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(StoreError, match="no room"), store.start_stream(info()):
            raise StoreError("no room")
        (record,) = store.runs()
        assert (record.status, record.reason) == (RunStatus.FAILED, "no room")


def test_stores_with_such_runs_are_merged(path: Path, tmp_path: Path) -> None:
    other, into = tmp_path / "other.duckdb", tmp_path / "into.duckdb"
    filled(path, "a")
    filled_stream(other)
    merge_stores(into, [path, other])
    found, expected = content(into), content(other)
    for table in (*OWN, *MACHINE, "core_costs", "run_costs"):
        assert found[table] == expected[table]
        assert found[table]
    assert check_store(into).problems == ()


def test_of_two_copies_that_came_further_is_taken(path: Path, tmp_path: Path) -> None:
    """Both were interrupted; one of them has more generations."""
    genes = len(schedule_problem().space.groups)
    other = tmp_path / "other.duckdb"
    run = filled_stream(path, finish=False)
    other.write_bytes(path.read_bytes())
    with Store.open(other) as store, store.resume_stream(run) as going_on:
        going_on.record_generation(generation(2, genes))
    further = content(other)
    merge_stores(path, [other])
    assert content(path)["generations"] == further["generations"]


def test_pruning_takes_all_of_a_run(path: Path) -> None:
    run = filled_stream(path)
    with Store.open(path) as store:
        kept = fill(store, "a")
    prune(path, PruneSelection(runs=(run,)))
    left = content(path)
    assert not any(left[table] for table in (*OWN, *MACHINE, "core_costs", "run_costs"))
    with Store.open_read_only(path) as store:
        assert [record.id for record in store.runs()] == [kept]
    assert check_store(path).problems == ()


def test_pruning_leaves_all_of_the_runs_that_stay(path: Path) -> None:
    (other,) = filled(path, "a")
    with Store.open(path) as store:
        fill_stream(store)
    before = content(path)
    prune(path, PruneSelection(runs=(other,), best_only=True))
    after = content(path)
    for table in (*OWN, *MACHINE, "core_costs", "run_costs"):
        assert after[table] == before[table]
    assert check_store(path).problems == ()


BROKEN = {
    "DELETE FROM generations WHERE number = 0": "found generations 1 to 1, 1 of them; expected",
    "DELETE FROM individuals WHERE role = 'front' AND position = 1": "a front of 2; found 1",
    "UPDATE individuals SET allocation = [1]": "found an allocation of 1 node groups; expected 8",
    "DELETE FROM schedule_nodes WHERE node = 0": "found a schedule of 7 nodes; expected 8",
    "UPDATE schedules SET latency = 79": "its schedule ends at 79 and nodes end at 80",
    "UPDATE schedule_nodes SET begins = 1 WHERE node = 0": "the duration of node 0 is not its",
    "UPDATE runs SET kind = 'explore'": "it explores one core and its accelerator has 4",
    "DELETE FROM schedules": "it is done and has no results",
    "UPDATE runs SET status = 'failed'": "it is failed and has results",
    "DELETE FROM cores WHERE core = 1": "found 3 rows in cores; expected 4",
    "UPDATE accelerators SET name = 'x', json = replace(json::VARCHAR, 'star', 'x')": "the hash",
}


@pytest.mark.parametrize("statement", BROKEN)
def test_what_is_broken_is_said(path: Path, statement: str) -> None:
    filled_stream(path)
    sql(path, statement)
    problems = check_store(path).problems
    assert any(BROKEN[statement] in problem for problem in problems), problems
