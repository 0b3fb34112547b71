"""Stores that somebody else wrote, with views and macros that are not nestmap's."""

from pathlib import Path

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.maintenance.check import check_store
from nestmap.store.maintenance.merge import merge_stores
from nestmap.store.maintenance.prune import PruneSelection, prune
from tests.pipeline.cli.inputs import run
from tests.store.filled import filled

SECRET = "what no store should show"


@pytest.fixture(name="secret")
def _secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    return path


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "runs.duckdb"
    filled(path, "a")
    return path


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


def reading(secret: Path) -> tuple[str, str]:
    """A named query that reads a file."""
    text = f"SELECT content FROM read_text('{secret}')"
    return (
        f"CREATE OR REPLACE MACRO history() AS TABLE {text}",
        "COMMENT ON MACRO TABLE history IS 'All runs'",
    )


def replacing(table: str, secret: Path) -> tuple[str, str]:
    """A view in place of a table, with the columns of the table."""
    columns = "SELECT content AS hash, content AS name, content AS json, content AS operator"
    return f"DROP TABLE {table}", f"CREATE VIEW {table} AS {columns} FROM read_text('{secret}')"


def test_a_macro_reads_no_file(path: Path, secret: Path) -> None:
    change(path, *reading(secret))
    with Store.open_read_only(path) as store, pytest.raises(StoreError) as error:
        store.ask("history")
    assert SECRET not in str(error.value)
    assert "file system operations are disabled" in str(error.value)


def test_the_command_shows_no_file(path: Path, secret: Path) -> None:
    change(path, *reading(secret))
    ended = run("query", "history", "--store", str(path))
    assert ended.code == 2
    assert SECRET not in ended.out + ended.err


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT content FROM read_text('{}')",
        "ATTACH '{}' AS other",
        "COPY runs TO '{}'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
    ],
)
@pytest.mark.parametrize("writes", [False, True])
def test_statements_on_a_store_reach_no_other_file(
    statement: str, writes: bool, path: Path, secret: Path
) -> None:
    with (
        Store.open(path) if writes else Store.open_read_only(path) as store,
        pytest.raises(StoreError),
    ):
        store.query(statement.format(secret))
    assert secret.read_text() == SECRET


@pytest.mark.parametrize("table", ["layers", "evaluation_rows", "store_schema"])
def test_a_view_in_place_of_a_table_is_refused(
    table: str, path: Path, secret: Path, tmp_path: Path
) -> None:
    change(path, *replacing(table, secret))
    into = tmp_path / "into.duckdb"
    for use in (
        lambda: Store.open(path).close(),
        lambda: Store.open_read_only(path).close(),
        lambda: check_store(path),
        lambda: merge_stores(into, [path]),
        lambda: prune(path, PruneSelection()),
    ):
        with pytest.raises(StoreError) as error:
            use()
        assert SECRET not in str(error.value)
        if table != "store_schema":
            assert f"found no table {table}; expected" in str(error.value)
    assert not into.exists()


CHANGED = {
    "CREATE OR REPLACE VIEW best AS SELECT 1 AS layer": "view best is not the one",
    "CREATE OR REPLACE MACRO history() AS TABLE SELECT 1": "macro history is not the one",
    "DROP VIEW best": "there is no view best",
}


@pytest.mark.parametrize("statement", CHANGED)
def test_a_check_names_what_is_not_nestmaps(path: Path, statement: str) -> None:
    assert check_store(path).is_sound
    change(path, statement)
    assert any(CHANGED[statement] in x for x in check_store(path).problems)


def test_views_of_ones_own_are_allowed(path: Path) -> None:
    change(path, "CREATE VIEW mine AS SELECT 1", "CREATE MACRO own() AS 1")
    assert check_store(path).is_sound


def test_a_macro_with_the_name_of_a_function_hides_nothing(path: Path) -> None:
    change(path, "CREATE MACRO duckdb_tables() AS TABLE SELECT 'runs' AS table_name")
    with Store.open(path) as store:
        assert len(store.runs()) == 1
