"""New stores are copies of a cached database, equal to what the migrations create."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import duckdb
import pytest

from nestmap.store import Store
from nestmap.store.connection.connect import connect, connect_read_only
from nestmap.store.schema import template
from nestmap.store.schema.migrate import migrate, migrations

CATALOG = ("tables", "columns", "views", "functions", "types", "indexes", "constraints")
IGNORED = ("database_name", "is_bound")
VERSIONS = "SELECT version, name FROM schema_version ORDER BY version"
Declared: TypeAlias = dict[str, list[str]]
NOWHERE = "/dev/null/x"


@pytest.fixture(name="caches", autouse=True)
def _caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "nestmap"


def declared(connection: duckdb.DuckDBPyConnection) -> Declared:
    """All that a database declares, with comments, apart from the numbers that DuckDB gives.

    DuckDB prints the items of a REPLACE list in any order, so definitions are sorted by word.
    """
    return {kind: sorted(_words(row) for row in _entries(connection, kind)) for kind in CATALOG}


def _entries(connection: duckdb.DuckDBPyConnection, kind: str) -> list[dict[str, object]]:
    found = connection.execute(f"FROM duckdb_{kind}() WHERE database_name = current_database()")
    names = [column[0] for column in found.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return [row for row in rows if not row.get("internal")]


def _words(row: dict[str, object]) -> str:
    kept = {name: x for name, x in row.items() if not name.endswith("oid") and name not in IGNORED}
    return " ".join(sorted(re.findall(r"[\w']+|[^\w\s]", str(kept))))


@pytest.fixture(name="expected", scope="module")
def _expected() -> Declared:
    """What a database declares after the migrations, which are all applied to it."""
    with pytest.MonkeyPatch.context() as patch, closing(connect(None)) as connection:
        patch.setenv("XDG_CACHE_HOME", NOWHERE)
        migrate(connection, "migrated")
        found = declared(connection)
    assert all(found.values())
    return found


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A template."""
    home = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        Store.open(None).close()
    (cached,) = (home / "nestmap").iterdir()
    return cached


def test_a_copy_declares_what_the_migrations_create(
    expected: Declared, tmp_path: Path, caches: Path
) -> None:
    for path in (None, tmp_path / "first.duckdb", tmp_path / 'it\'s "second".duckdb'):
        with closing(connect(path)) as connection:
            migrate(connection, "copied")
            assert declared(connection) == expected
            assert connection.execute("SHOW DATABASES").fetchall() == [
                ("memory" if path is None else path.stem,)
            ]
            applied = connection.execute(VERSIONS).fetchall()
            assert applied == [(step.version, step.name) for step in migrations()]
        if path is not None:
            with closing(connect_read_only(path)) as connection:
                assert declared(connection) == expected
    (cached,) = caches.iterdir()
    assert cached.suffix == ".duckdb"


def test_the_migrations_run_once(
    made: Path, caches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches.mkdir(parents=True)
    (caches / made.name).write_bytes(made.read_bytes())
    monkeypatch.setattr(template, "_create", _never)
    with Store.open(tmp_path / "second.duckdb") as store:
        assert store.runs() == ()


def test_other_migrations_have_another_template(caches: Path) -> None:
    made = [template.cached_template(f"CREATE TABLE {name} (x INTEGER);") for name in "ab"]
    assert sorted(map(str, made)) == sorted(map(str, caches.iterdir()))
    assert len(set(made)) == 2


@pytest.mark.parametrize("content", [b"", b"no database"])
def test_a_damaged_template_is_replaced(
    content: bytes, expected: Declared, made: Path, tmp_path: Path, caches: Path
) -> None:
    cached = caches / made.name
    caches.mkdir(parents=True)
    cached.write_bytes(content)
    with closing(connect(tmp_path / "store")) as connection:
        migrate(connection, "store")
        assert declared(connection) == expected
    Store.open(None).close()
    assert cached.stat().st_size == made.stat().st_size


def test_a_template_with_a_damaged_block_is_replaced(
    expected: Declared, made: Path, tmp_path: Path, caches: Path
) -> None:
    cached, whole = caches / made.name, made.read_bytes()
    caches.mkdir(parents=True)
    for start in range(12_288, len(whole), 65_536):
        cached.write_bytes(whole[: start + 100] + bytes(1000) + whole[start + 1100 :])
        with closing(connect(tmp_path / f"{start}")) as connection:
            migrate(connection, "store")
            assert declared(connection) == expected


def test_where_caches_cannot_be_written_the_migrations_run_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", NOWHERE)
    with closing(connect(tmp_path / "store")) as connection:
        migrate(connection, "store")
        assert connection.execute(VERSIONS).fetchall()


def test_without_a_home_the_migrations_run_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "user_caches", lambda: None)
    with Store.open(None) as store:
        assert store.runs() == ()


def test_nothing_is_left_of_a_template_that_cannot_be_made(caches: Path) -> None:
    assert template.cached_template("SELECT nonsense") is None
    assert list(caches.iterdir()) == []


def _never(_file: Path, _sql: str) -> None:
    raise AssertionError("it is made again")
