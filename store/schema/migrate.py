"""Schema migrations: numbered SQL files, each applied once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import final

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import query_number, transaction
from nestmap.store.schema.tables import EVALUATION_ROWS, SMALL_TABLES, VERSION_TABLE
from nestmap.store.schema.template import attached_template, cached_template, copy_template

_NAME = re.compile(r"(\d{4})_(\w+)\.sql")

_CREATE_VERSION = """
CREATE TABLE IF NOT EXISTS schema_version (
  version INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied TIMESTAMP NOT NULL
);
COMMENT ON TABLE schema_version IS 'The migrations applied to this file';
COMMENT ON COLUMN schema_version.version IS 'Number of the migration';
COMMENT ON COLUMN schema_version.name IS 'Name of the migration';
COMMENT ON COLUMN schema_version.applied IS 'When it was applied (UTC)';
"""
# by its full name: a macro of the file may have the short one
_HAS_TABLES = "SELECT count(*) FROM system.main.duckdb_tables() WHERE NOT internal"
_TABLES = """
SELECT table_name FROM system.main.duckdb_tables()
WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
"""
_HAS_VERSION = _HAS_TABLES + " AND table_name = 'schema_version'"
_APPLIED = "INSERT INTO schema_version SELECT unnest(?), unnest(?), now() AT TIME ZONE 'UTC'"


@final
@dataclass(frozen=True, slots=True)
class Migration:
    """One migration: its number, name and statements."""

    version: int
    name: str
    sql: str


@lru_cache(maxsize=1)
def migrations() -> tuple[Migration, ...]:
    """All migrations of this version of nestmap, oldest first."""
    found: list[Migration] = []
    for file in files("nestmap.store").joinpath("migrations").iterdir():
        if match := _NAME.fullmatch(file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))


def migrate(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Migrates the database to the current schema.

    An empty database is a copy of a cached one, which takes a tenth of the time of the migrations;
    half of them are comments.

    Raises:
        StoreError: if it is not a store, or a newer nestmap wrote it.
    """
    version = schema_version(connection, store)
    pending = [step for step in migrations() if step.version > version]
    if pending and not (version == 0 and _copy_current(connection, pending)):
        with transaction(connection):
            connection.execute(_CREATE_VERSION)
            for step in pending:
                connection.execute(step.sql)
            _note_applied(connection, pending)
    check_tables(connection, store)


def _copy_current(connection: duckdb.DuckDBPyConnection, steps: Sequence[Migration]) -> bool:
    """Copies the cached database that the migrations create; returns whether that succeeded."""
    template = cached_template("\n".join((_CREATE_VERSION, *(step.sql for step in steps))))
    if template is None:
        return False
    try:
        with attached_template(connection, template), transaction(connection):
            copy_template(connection)
            _note_applied(connection, steps)
    except duckdb.PermissionException:  # the file existed before: its statements reach no other
        return False
    except duckdb.Error:  # the template is damaged; or the database: then the migrations fail too
        with suppress(OSError):
            template.unlink()
        return False
    return True


def _note_applied(connection: duckdb.DuckDBPyConnection, steps: Sequence[Migration]) -> None:
    applied = [[step.version for step in steps], [step.name for step in steps]]
    connection.execute(_APPLIED, applied)


def check_schema(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Checks that a database opened for reading has the current schema.

    Raises:
        StoreError: if it is not a store, or an older or newer nestmap wrote it.
    """
    version = schema_version(connection, store)
    newest = migrations()[-1].version
    if version < newest:
        raise StoreError(
            f"store {store}: found schema version {version}; expected {newest}: run nestmap "
            "explore on it once, which brings it up to date"
        )


def check_tables(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Checks that the tables of a database with the current schema are tables, not views.

    What is copied from a store with its rows is then what the store contains.

    Raises:
        StoreError: if one is not.
    """
    rows: list[tuple[str]] = connection.execute(_TABLES).fetchall()
    missing = {VERSION_TABLE, *SMALL_TABLES, EVALUATION_ROWS} - {name for (name,) in rows}
    if missing:
        raise StoreError(
            f"store {store}: found no table {', '.join(sorted(missing))}; expected those that "
            "nestmap creates: another program has changed the file, use another one"
        )


def schema_version(connection: duckdb.DuckDBPyConnection, store: str) -> int:
    """The schema version of the database; 0 if it is empty.

    Raises:
        StoreError: if it is not a store, or a newer nestmap wrote it.
    """
    if not query_number(connection, _HAS_VERSION):
        if query_number(connection, _HAS_TABLES):
            raise StoreError(
                f"store {store}: found a DuckDB file with tables that are not nestmap's; expected "
                "a store of nestmap, or no file at all: name another file"
            )
        return 0
    version = query_number(connection, "SELECT coalesce(max(version), 0) FROM schema_version")
    newest = migrations()[-1].version
    if version > newest:
        raise StoreError(
            f"store {store}: found schema version {version}; expected at most {newest}: a newer "
            "nestmap wrote it, upgrade nestmap or name another file"
        )
    return version
