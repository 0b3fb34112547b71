"""Opening stores: new ones, old ones, those of others; their schema and their runs."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.store import RunStatus, Store
from nestmap.store.schema import migrate
from nestmap.store.schema.migrate import SCHEMA
from tests.store.builders import info, network, result


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / 'it\'s a "store"; ü?.duckdb'


def run_sql(path: Path, *statements: str) -> None:
    with duckdb.connect(path.absolute()) as connection:
        for sql in statements:
            connection.execute(sql)


def test_a_store_has_its_version_once(path: Path) -> None:
    Store.open(path).close()
    with Store.open(path) as store:
        found = store.query("SELECT version FROM store_schema")
    assert found.rows() == [{"version": SCHEMA}]


def test_a_schema_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def files(package: str) -> Path:
        return tmp_path

    (tmp_path / "schema.sql").write_text("CREATE TABLE half (x INTEGER); SELECT nonsense")
    monkeypatch.setattr(migrate, "files", files)
    with pytest.raises(StoreError, match="nonsense"):
        Store.open(path)
    with duckdb.connect(path.absolute()) as connection:
        assert connection.execute("SHOW TABLES").fetchall() == []


def test_runs_are_kept_in_the_file(path: Path) -> None:
    with Store.open(path) as store:
        with store.start_run(info(command="first")) as run:
            run.finish(result(network()))
        first = store.runs()
    with Store.open(path) as store:
        assert store.runs() == first
        with store.start_run(info(command="second")) as run:
            run.finish(result(network()))
        assert [x.command for x in store.runs()] == ["first", "second"]
    with Store.open_read_only(path) as store:
        assert [x.command for x in store.runs()] == ["first", "second"]
        assert store.best(first[0].id) == result(network())


def test_what_a_run_was_told_is_kept() -> None:
    given = info()
    with Store.open(None) as store:
        with store.start_run(given):
            pass
        (row,) = store.query(
            "SELECT runs.*, workloads.json AS network, accelerators.json AS machine FROM runs "
            "JOIN workloads ON workloads.hash = workload "
            "JOIN accelerators ON accelerators.hash = accelerator"
        ).rows()
    problem = given.network
    assert row["objective"] == given.objective.value
    assert row["pipeline"] == given.pipeline
    assert row["options"] == given.options
    assert type(problem.workload).model_validate_json(str(row["network"])) == problem.workload
    assert type(problem.accelerator).model_validate_json(str(row["machine"])) == problem.accelerator
    assert (
        type(problem.constraints).model_validate_json(str(row["constraints"]))
        == problem.constraints
    )


def test_a_run_of_a_process_that_is_gone_becomes_interrupted(path: Path) -> None:
    with Store.open(path) as store:
        mine, other = store.start_run(info()), store.start_run(info())
    run_sql(path, f"UPDATE runs SET pid = 2147483647 WHERE id = '{other.id}'")
    with Store.open(path) as store:
        status = {record.id: record.status for record in store.runs()}
    assert status == {mine.id: RunStatus.RUNNING, other.id: RunStatus.INTERRUPTED}


def test_a_newer_schema_is_refused(path: Path) -> None:
    Store.open(path).close()
    run_sql(path, "INSERT INTO store_schema VALUES (999, now()::TIMESTAMP)")
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match="found schema 999; expected schema 6: a newer"):
            opening(path)


def test_an_older_schema_is_refused(path: Path) -> None:
    run_sql(path, "CREATE TABLE schema_version (version INTEGER)", "CREATE TABLE runs (id UUID)")
    before = path.read_bytes()
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match=r"from before version 1; .* older, unreleased"):
            opening(path)
    assert path.read_bytes() == before


def test_an_empty_file_that_duckdb_made_becomes_a_store(path: Path) -> None:
    run_sql(path, "SELECT 1")
    with pytest.raises(StoreError, match="found an empty file; expected a store"):
        Store.open_read_only(path)
    Store.open(path).close()
    Store.open_read_only(path).close()


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    run_sql(path, "CREATE TABLE songs (title VARCHAR)")
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match="tables that are not nestmap's; expected a store"):
            opening(path)
    with duckdb.connect(path.absolute()) as connection:
        assert connection.execute("SHOW TABLES").fetchall() == [("songs",)]


def test_a_store_that_is_only_read_cannot_be_changed(path: Path) -> None:
    Store.open(path).close()
    with Store.open_read_only(path) as store:
        with pytest.raises(StoreError, match="read-only"):
            store.query("DELETE FROM runs")
        with pytest.raises(StoreError, match="read-only"):
            store.start_run(info())


def test_the_file_is_free_after_an_error_in_the_block(path: Path) -> None:
    def fail() -> None:
        with Store.open(path):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    Store.open_read_only(path).close()


def test_who_only_asks_waits_for_no_compiler() -> None:
    """Numba takes half a second to load, which is all that a small question takes."""
    code = "import sys, nestmap.store; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_store_at_a_path_is_closed_and_one_that_is_given_stays_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Store] = []
    close = Store.close

    def noted(store: Store) -> None:
        closed.append(store)
        close(store)

    monkeypatch.setattr(Store, "close", noted)
    with Store.borrow(path) as opened:
        assert not closed
    assert closed == [opened]
    with Store.open(None) as store:
        with Store.borrow(store) as borrowed:
            assert borrowed is store
        assert closed == [opened]
