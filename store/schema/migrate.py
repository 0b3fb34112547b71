"""The schema of a store: created in an empty database, checked in any other."""

from importlib.resources import files
from typing import Final

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import query_number, transaction
from nestmap.store.schema.tables import EVALUATION_ROWS, SMALL_TABLES, VERSION_TABLE

SCHEMA: Final = 6
"""The version of ``schema.sql``; the first release is to migrate stores of its version on."""

# by its full name: a macro of the file may have the short one
_TABLES = """
SELECT table_name FROM system.main.duckdb_tables()
WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
"""
_CREATED = f"INSERT INTO {VERSION_TABLE} SELECT ?, now() AT TIME ZONE 'UTC'"
_OLDER: Final = "an older, unreleased nestmap wrote it: name another file and explore again"
_NEWER: Final = "a newer nestmap wrote it, upgrade nestmap or name another file"
_UNRELEASED: Final = "schema_version"
"""The table with the schema of stores that were written before the first version."""


def migrate(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Gives an empty database the current schema, and checks any other.

    Raises:
        StoreError: if it is not a store, or another nestmap wrote it.
    """
    if schema_version(connection, store) == 0:
        sql = files("nestmap.store.schema").joinpath("schema.sql").read_text(encoding="utf-8")
        with transaction(connection):
            connection.execute(sql)
            connection.execute(_CREATED, [SCHEMA])
    check_tables(connection, store)


def check_schema(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Checks that a database opened for reading has the current schema.

    Raises:
        StoreError: if it is empty or not a store, or another nestmap wrote it.
    """
    if schema_version(connection, store) == 0:
        raise StoreError(
            f"store {store}: found an empty file; expected a store of nestmap: name another file, "
            "or record a run to it"
        )


def check_tables(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Checks that the tables of a database with the current schema are tables, not views.

    What is copied from a store with its rows is then what the store contains.

    Raises:
        StoreError: if one is not.
    """
    missing = {VERSION_TABLE, *SMALL_TABLES, EVALUATION_ROWS} - _table_names(connection)
    if missing:
        raise StoreError(
            f"store {store}: found no table {', '.join(sorted(missing))}; expected those that "
            "nestmap creates: another program has changed the file, use another one"
        )


def schema_version(connection: duckdb.DuckDBPyConnection, store: str) -> int:
    """The schema version of the database; 0 if it is empty.

    Raises:
        StoreError: if it is not a store, or another nestmap wrote it.
    """
    tables = _table_names(connection)
    if VERSION_TABLE in tables:
        version = query_number(connection, f"SELECT coalesce(max(version), 0) FROM {VERSION_TABLE}")
        if version == SCHEMA:
            return version
        advice = _OLDER if version < SCHEMA else _NEWER
        raise _other_schema(store, str(version), advice)
    if _UNRELEASED in tables:
        raise _other_schema(store, "from before version 1", _OLDER)
    if tables:
        raise StoreError(
            f"store {store}: found a DuckDB file with tables that are not nestmap's; expected "
            "a store of nestmap, or no file at all: name another file"
        )
    return 0


def _other_schema(store: str, found: str, advice: str) -> StoreError:
    return StoreError(f"store {store}: found schema {found}; expected schema {SCHEMA}: {advice}")


def _table_names(connection: duckdb.DuckDBPyConnection) -> set[str]:
    rows: list[tuple[str]] = connection.execute(_TABLES).fetchall()
    return {name for (name,) in rows}
