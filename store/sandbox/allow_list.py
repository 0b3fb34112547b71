"""SQL of people one does not trust: what a question may hold, and a connection that can do no more.

Three walls, each of which would do alone for most: the question is one SELECT whose parts are known
(`check_question`); the connection reads one store and nothing else (`lock`); and it is used in a
process of its own, which can write no file and is killed when it takes too long or too much
(:mod:`nestmap.store.sandbox.process`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Final, NamedTuple, TypeAlias, cast

import duckdb
import pyarrow as pa

from nestmap.model import Frozen, StoreError
from nestmap.store.connection.connect import connect_read_only
from nestmap.store.connection.database import patiently
from nestmap.store.connection.errors import explained
from nestmap.store.maintenance.parquet_reader import open_parts
from nestmap.store.schema.migrate import check_schema
from nestmap.store.schema.tables import literal

ALLOWED: Final = "one SELECT over the tables and views of the store, without files and settings"
"""What a question may be."""


class Limits(Frozen, frozen=True):
    """How much an answer may be: rows, bytes of them, seconds, and memory to find it (MB).

    The store stays open as long as a question takes, and whoever writes to it waits: the time is
    less than others have patience (:data:`nestmap.store.connection.database.PATIENCE`).
    """

    rows: int = 1000
    size: int = 16 * 2**20
    seconds: float = 6
    memory: int = 512


class Found(NamedTuple):
    """The answer to a question, and whether only the first rows of it."""

    table: pa.Table
    is_cut: bool


_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | int | float | bool | None"

_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Nodes of questions; there are others that insert, update and delete."""

_TABLE_FUNCTIONS: Final = frozenset(
    {
        *("range", "generate_series", "unnest", "repeat", "json_each", "json_tree"),
        *("duckdb_tables", "duckdb_views", "duckdb_columns", "duckdb_constraints"),
        *("duckdb_functions", "pragma_table_info"),
    }
)
"""Of the table functions that come with DuckDB those that only compute, or tell the schema."""

_SYSTEM_VIEWS: Final = frozenset(
    {"duckdb_tables", "duckdb_views", "duckdb_columns", "duckdb_constraints", "sqlite_master"}
)
"""Of the views that come with DuckDB, beside the information schema, those that tell the schema."""

_FUNCTIONS: Final = frozenset(
    {
        *("getenv", "current_setting", "getvariable", "write_log", "sleep_ms", "pg_sleep"),
        *("nextval", "currval", "setval", "json_execute_serialized_sql", "read_text", "read_blob"),
    }
)
"""Functions in expressions that tell of the machine or do something; all others compute."""

_INTERNAL_FUNCTIONS: Final = """
SELECT DISTINCT lower(function_name) FROM duckdb_functions()
WHERE internal AND function_type IN ('table', 'pragma', 'table_macro')
"""
_INTERNAL_VIEWS: Final = """
SELECT lower(view_name) FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'
"""
_SERIALIZE: Final = "SELECT json_serialize_sql(?::VARCHAR)"
_FEW_ROWS: Final = 2048
_MISSING: Final = "Cannot execute statement of type"


def answer(path: Path, sql: str, limits: Limits, patience: float = 3) -> Found:
    """The answer to a question about a store, cut where it is longer than the limits say.

    ``patience`` is how long to wait for who writes to the store (s). What does not end when it is
    interrupted, or takes memory that DuckDB does not count, only another process can stop.

    Raises:
        StoreError: if the question is not valid, may not be asked, or takes too long or too much;
            if the store cannot be read.
    """
    parts = path.is_dir()
    opening = open_parts if parts else connect_read_only
    connection = patiently(lambda: opening(path), patience)
    with closing(connection), explained(str(path)):
        check_schema(connection, str(path))
        lock(connection, path if parts else None, limits)
        try:
            return _found(connection, check_question(connection, sql), limits)
        except (duckdb.Error, RuntimeError, MemoryError, pa.ArrowException) as error:
            raise _told(error, limits) from None


def lock(connection: duckdb.DuckDBPyConnection, folder: Path | None, limits: Limits) -> None:
    """Takes from a connection all but what it has open; ``folder``: of Parquet parts, read later.

    Nothing gives it back.
    """
    given = "[]" if folder is None else f"[{literal(f'{folder.resolve()}/')}]"
    for setting, value in (
        ("python_enable_replacements", "false"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("allow_community_extensions", "false"),
        ("memory_limit", f"'{limits.memory}MB'"),
        ("threads", "2"),
        ("temp_directory", "''"),
        ("allowed_directories", given),
        ("enable_external_access", "false"),
        ("lock_configuration", "true"),
    ):
        connection.execute(f"SET {setting} = {value}")


def check_question(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """The one statement in the text, if it is a question that may be asked.

    Raises:
        StoreError: if it is not, or not valid: what is allowed.
    """
    try:
        statements = connection.extract_statements(sql)
    except (duckdb.Error, UnicodeError) as error:
        raise StoreError(f"query: {_first(error)}") from None
    if not statements:
        raise StoreError(f"query: found no statement; expected {ALLOWED}")
    if len(statements) > 1:
        raise _refused(f"{len(statements)} statements")
    (statement,) = statements
    if statement.type != duckdb.StatementType.SELECT:
        raise _refused(_kind(statement))
    _check_parts(connection, _parsed(connection, statement.query))
    return statement


def _kind(statement: duckdb.Statement) -> str:
    """What a statement is, in the words of SQL: how it begins."""
    name = statement.type.name.replace("_", " ")
    return "PIVOT without IN" if name == "MULTI" else f"a statement of type {name}"


def _parsed(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, _Json]]:
    """The objects in the syntax tree of a question.

    Raises:
        StoreError: if it has none: it holds something that is not a question.
    """
    (text,) = cast("tuple[str]", connection.execute(_SERIALIZE, [sql]).fetchone())
    try:
        tree = cast("dict[str, _Json]", json.loads(text))
        if tree.get("error"):
            raise _refused("something in it that is not a SELECT, such as PIVOT without IN")
        return list(_objects(tree))
    except RecursionError:
        raise _refused("expressions nested too deeply") from None


def _objects(tree: _Json) -> Iterator[dict[str, _Json]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _objects(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _objects(value)


def _check_parts(connection: duckdb.DuckDBPyConnection, parts: list[dict[str, _Json]]) -> None:
    functions = _names(connection, _INTERNAL_FUNCTIONS) - _TABLE_FUNCTIONS
    views = _names(connection, _INTERNAL_VIEWS) - _SYSTEM_VIEWS
    for part in parts:
        kind = str(part.get("type"))
        if kind.endswith("_NODE") and kind not in _NODES:
            raise _refused(f"{kind.removesuffix('_NODE').removesuffix('_QUERY')} in it")
        function = part.get("function")
        if kind == "TABLE_FUNCTION" and isinstance(function, dict):
            _check_name(str(function.get("function_name")), functions, "the table function ")
        if "function_name" in part:
            name = str(part["function_name"])
            _check_name(name, _FUNCTIONS, "the function ")
            if name.startswith("__internal"):
                raise _refused(f"the function {name}")
        if kind == "BASE_TABLE":
            _check_name(str(part.get("table_name")), views, "the system view ")


def _check_name(name: str, refused: frozenset[str], what: str) -> None:
    if name.lower() in refused:
        raise _refused(f"{what}{name}")


def _names(connection: duckdb.DuckDBPyConnection, sql: str) -> frozenset[str]:
    rows: list[tuple[str]] = connection.execute(sql).fetchall()
    return frozenset(name for (name,) in rows)


def _found(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, limits: Limits
) -> Found:
    """The first rows, without looking for the others."""
    timer = Timer(limits.seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        reader = _reader(connection.sql(statement))
        try:
            return _first_rows(reader, limits)
        finally:
            reader.close()
    finally:
        timer.cancel()


def _reader(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """The rows as they are found, some at a time; older versions of DuckDB call it otherwise."""
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
    reading = cast("Callable[[int], pa.RecordBatchReader]", getattr(relation, name))
    return reading(_FEW_ROWS)


def _first_rows(reader: pa.RecordBatchReader, limits: Limits) -> Found:
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in reader:
        batches.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > limits.rows or size > limits.size:
            break
    table = pa.Table.from_batches(batches, reader.schema)
    kept = min(rows, limits.rows)
    while kept and table.slice(0, kept).nbytes > limits.size:
        kept //= 2
    return Found(table.slice(0, kept), is_cut=rows > kept or size > limits.size)


def _told(error: Exception, limits: Limits) -> StoreError:
    """What has gone wrong, for who has asked."""
    text = str(error)
    if "INTERRUPT" in text:
        return too_long(limits)
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or "bad_alloc" in text:
        return too_much(limits)
    if isinstance(error, duckdb.PermissionException):
        return _refused("a file")
    if _MISSING in text:
        return _refused("something in it that writes")
    return StoreError(f"query: {_first(error)}")


def _first(error: Exception) -> str:
    """DuckDB's own words, which show the place."""
    return str(error).strip() or type(error).__name__


def too_long(limits: Limits) -> StoreError:
    """The error for a question that takes longer than it may."""
    return StoreError(
        f"query: found no answer within {limits.seconds:g} s; expected a question that takes less: "
        "ask for fewer rows, or use nestmap query, which has no limit"
    )


def too_much(limits: Limits) -> StoreError:
    """The error for a question that takes more memory than it may."""
    return StoreError(
        f"query: found no answer within {limits.memory} MB of memory; expected a question that "
        "takes less: ask for fewer rows, or use nestmap query, which has no limit"
    )


def _refused(found: str) -> StoreError:
    return StoreError(f"query: found {found}; expected {ALLOWED}")
