"""Each way in which a store can be broken is found, and a sound one is sound."""

import shutil
from functools import cache
from pathlib import Path

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.maintenance.check import check_store
from nestmap.store.schema.tables import EVALUATION_ROWS, Reference, references, references_in
from tests.store.builders import NASTY
from tests.store.filled import REAL, content, fill, sql
from tests.store.streams import fill_stream
from tests.store.sweeps import INFO, add_design, infeasible
from tests.sweeps import every


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run whose evaluations are what the cost model says, and two others."""
    path = tmp_path_factory.mktemp("made") / "store.duckdb"
    with Store.open(path) as store:
        fill(store, "real", versions=REAL)
        fill(store, NASTY)
        fill(store, "open", finish=False)
    return path


@pytest.fixture(name="path")
def _path(tmp_path: Path, made: Path) -> Path:
    """A copy of that store."""
    path = tmp_path / "store.duckdb"
    shutil.copyfile(made, path)
    return path


@pytest.fixture(name="with_all", scope="module")
def _with_all(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Path:
    """That store, with rows in every table."""
    path = tmp_path_factory.mktemp("all") / "store.duckdb"
    shutil.copyfile(made, path)
    sql(
        path,
        "INSERT INTO vector_results "
        "SELECT id, 0, 'n', 'o', 'm', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM runs LIMIT 1",
        "INSERT INTO infeasible SELECT id, 'why', 1, 0 FROM searches LIMIT 1",
    )
    with Store.open(path) as store:
        fill_stream(store)
        sweep = store.start_sweep(INFO)
        add_design(sweep, infeasible(1))
        sweep.commit(())
    assert check_store(path, recompute=0).is_sound
    return path


def test_a_sound_store(path: Path) -> None:
    before = path.read_bytes()
    report = check_store(path, recompute=5)
    assert report.problems == ()
    assert report.is_sound
    assert dict(report.tables) == {table: len(rows) for table, rows in content(path).items()}
    assert (report.unfinished_runs, report.incomplete_searches) == (1, 0)
    assert (report.recomputable, report.recomputed) == (14, 5)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("asked", "done"), [(0, 0), (1, 1), (3, 3), (13, 7), (14, 14), (100, 14)])
def test_evaluations_are_taken_evenly(path: Path, asked: int, done: int) -> None:
    assert check_store(path, recompute=asked).recomputed == done


def test_an_empty_store_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    Store.open(path).close()
    assert check_store(path).is_sound


def test_an_incomplete_search_is_no_problem(path: Path) -> None:
    sql(
        path,
        "UPDATE searches SET evaluations = NULL, front = NULL WHERE layer = 'open'",
        f"DELETE FROM {EVALUATION_ROWS} WHERE number > 3",
        "UPDATE searches SET record = 'best', front = NULL",
    )
    report = check_store(path, recompute=0)
    assert (report.problems, report.incomplete_searches) == ((), 2)


OPEN = "(SELECT min(id) FROM searches WHERE layer = 'open')"
BROKEN = {
    "INSERT INTO store_schema VALUES (-1, now()::TIMESTAMP)": "schema: version -1 is not known",
    f"DELETE FROM {EVALUATION_ROWS} WHERE search = {OPEN} AND number = 0": (
        "found 6 evaluations, numbers 1 to 6; expected all 7"
    ),
    f"DELETE FROM {EVALUATION_ROWS} WHERE search = {OPEN} AND number = 3": (
        "found 6 evaluations, numbers 0 to 6; expected all 7"
    ),
    f"DELETE FROM {EVALUATION_ROWS} WHERE search = {OPEN}": "found 0 evaluations, numbers none",
    f"INSERT INTO {EVALUATION_ROWS} FROM {EVALUATION_ROWS} WHERE number = 2": (
        "1 evaluations have a duplicate number"
    ),
    f"UPDATE {EVALUATION_ROWS} SET number = 7 WHERE number = 6; "
    "UPDATE searches SET record = 'best'": ("found evaluation 7; expected numbers below 7"),
    "UPDATE searches SET record = 'none'": "found 7 evaluations; expected none, it records none",
    f"UPDATE {EVALUATION_ROWS} SET ordering = [9] WHERE number = 1": (
        "1 evaluations have codes that do not fit it, such as number 1"
    ),
    f"UPDATE {EVALUATION_ROWS} SET cuts = [] WHERE number = 1": (
        "1 evaluations have codes that do not fit it"
    ),
    f"UPDATE {EVALUATION_ROWS} SET latency1 = 'nan' WHERE number = 1": (
        "1 evaluations have costs that are negative or not finite, such as number 1"
    ),
    f"UPDATE {EVALUATION_ROWS} SET energy = -1 WHERE number = 1": "costs that are negative",
    "UPDATE searches SET front = []": "no evaluation in its front, of 7",
    f"UPDATE {EVALUATION_ROWS} SET energy = energy + 1e10": (
        "of its front are not recorded with these costs"
    ),
    "UPDATE searches SET front = [front[1]]; UPDATE evaluation_rows SET latency2 = 0 "
    "WHERE number = 6": "an evaluation is better than all of its front",
    "UPDATE searches SET energy_bound = 1e12": "an evaluation costs less than a lower bound",
    "UPDATE searches SET latency_bound = 1e12": "an evaluation costs less than a lower bound",
    "UPDATE searches SET edp_bound = 1e24": "an evaluation costs less than a lower bound",
    "UPDATE results SET bound = 1e12": "layer real costs less than its lower bound",
    "UPDATE results SET gap = NULL": "layer real has no gap and a lower bound",
    "UPDATE results SET bound = NULL": "layer real has a gap and no lower bound",
    "UPDATE searches SET evaluations = NULL": "it has a front and is not complete",
    "DELETE FROM results": "it is done and has no results",
    "UPDATE runs SET status = 'failed'": "it is failed and has results",
    "UPDATE run_searches SET layer = 'other' WHERE layer = 'open'": "workload has no layer other",
    "UPDATE searches SET evaluations = NULL, front = NULL": "is done and search",
    "UPDATE layers SET json = '{}'": "no valid Layer: name: Field required",
    "UPDATE workloads SET json = replace(json, '\"real\"', '\"fake\"')": "its content has the hash",
    "UPDATE spatial_mappings SET json = '{\"unrollings\":[]}'": "its content has the hash",
    "UPDATE accelerators SET json = replace(json, '1.5', '2.5')": "its content has the hash",
    "DELETE FROM memories WHERE position = 1": "found 2 rows in memories; expected 3",
    "DELETE FROM workload_layers WHERE name = 'open'": "found 0 rows in workload_layers",
    "UPDATE cmes SET energy = 1": "energy: found 1.0; expected",
    "UPDATE cmes SET json = '{}'": "no valid CostModelEvaluation: layer: Field required",
    "DELETE FROM level_usage": "rows in level_usage: found 0; expected 1 as in its json",
    "DELETE FROM port_stalls": "rows in port_stalls: found 0; expected 1 as in its json",
}


@pytest.mark.parametrize("statement", every(4, [*BROKEN]))
def test_what_is_broken_is_said(path: Path, statement: str) -> None:
    sql(path, statement)
    report = check_store(path, recompute=0)
    assert any(BROKEN[statement] in problem for problem in report.problems), report.problems
    assert not report.is_sound


@cache
def all_references() -> list[Reference]:
    with duckdb.connect() as connection:
        from nestmap.store.schema.migrate import migrate  # noqa: PLC0415

        migrate(connection, "test")
        return list(references(connection))


def test_references_are_those_of_the_comments() -> None:
    found = {(x.table, x.column): f"{x.owner}.{x.key}" for x in all_references()}
    assert found[EVALUATION_ROWS, "search"] == "searches.id"
    assert found["results", "cme"] == "cmes.hash"
    assert len(found) >= 20
    columns: list[tuple[str, str, str | None]]
    columns = [("a", "id", None), ("b", "x", "a.id: more"), ("b", "y", "a.none"), ("b", "z", "b")]
    assert references_in(columns) == (Reference("b", "x", "a", "id"),)


@pytest.mark.parametrize("owner", every(4, sorted({x.owner for x in all_references()})))
def test_what_refers_to_nothing_is_said(tmp_path: Path, with_all: Path, owner: str) -> None:
    path = tmp_path / "store.duckdb"
    shutil.copyfile(with_all, path)
    sql(path, f"DELETE FROM {owner}")
    problems = check_store(path, recompute=1).problems
    for reference in [x for x in all_references() if x.owner == owner]:
        told = f"rows with a {reference.column} that is not in {owner}.{reference.key}"
        assert any(x.startswith(f"table {reference.table}: ") and told in x for x in problems)


def test_a_table_of_a_user_may_refer_to_those_of_nestmap(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    Store.open(path).close()
    sql(
        path,
        "CREATE TABLE notes (cme VARCHAR); COMMENT ON COLUMN notes.cme IS 'cmes.hash: liked'",
        "INSERT INTO notes VALUES ('a'), ('b')",
    )
    (problem,) = check_store(path).problems
    assert problem == "table notes: 2 rows with a cme that is not in cmes.hash, such as a"


@pytest.mark.parametrize("column", ["energy", "latency0", "latency1", "latency2"])
def test_costs_that_the_cost_model_does_not_give_are_said(path: Path, column: str) -> None:
    sql(
        path,
        f"UPDATE {EVALUATION_ROWS} SET {column} = nextafter({column}, 1e300) WHERE number = 3",
        "UPDATE searches SET front = NULL",
    )
    report = check_store(path)
    assert len(report.problems) == 2  # two searches; those of the other runs are not recomputed
    assert all(f":3: {column}: found" in problem for problem in report.problems)
    assert check_store(path, recompute=0).is_sound


def test_evaluations_that_cannot_be_recomputed_are_reported(path: Path) -> None:
    sql(path, f"UPDATE {EVALUATION_ROWS} SET ordering = [0] WHERE number = 3")
    problems = check_store(path).problems
    assert len([x for x in problems if ":3: cannot be recomputed: " in x]) == 2


def test_of_many_problems_of_one_kind_some_are_shown(path: Path) -> None:
    with Store.open(path) as store:
        for i in range(11):
            fill(store, f"layer {i}")
    sql(path, f"DELETE FROM {EVALUATION_ROWS}")
    problems = check_store(path, recompute=0).problems
    assert len([x for x in problems if "expected all 7" in x]) == 20
    assert "and 8 more of this kind" in problems


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        check_store(tmp_path / "none.duckdb")
