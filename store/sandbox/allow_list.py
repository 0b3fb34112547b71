"""The SQL that untrusted users may run, and a connection restricted to it.

There are three lines of defence, most of which would suffice alone: the query is one SELECT made of
known parts (`check_question`); the connection reads one store and nothing else (`lock`); and it is
used in a separate process, which cannot write files and is killed if it exceeds its limits
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
from nestmap.store.connection.connect import connect_read_only_unrestricted
from nestmap.store.connection.database import open_with_retry
from nestmap.store.connection.errors import wrap_errors
from nestmap.store.connection.quote import quote_literal
from nestmap.store.maintenance.parquet_reader import open_parts
from nestmap.store.schema.migrate import check_schema

ALLOWED: Final = "one SELECT over the tables and views of the store, without files and settings"
"""The queries that are allowed."""


class QueryLimits(Frozen, frozen=True):
    """The limits of a query: rows, bytes and seconds of its result, and memory (MB) to compute it.

    The store stays open while a query runs, and writers wait: ``seconds`` is less than their
    patience (:data:`nestmap.store.connection.database.PATIENCE`).
    """

    rows: int = 1000
    size: int = 16 * 2**20
    seconds: float = 6
    memory: int = 512


class CutResult(NamedTuple):
    """The result of a query, and whether it was cut to the limits."""

    table: pa.Table
    is_cut: bool


class QueryLimitError(StoreError):
    """A query exceeds its limit of time or memory."""


_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | int | float | bool | None"

_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""The node types of queries; other node types insert, update and delete."""

_TABLE_FUNCTIONS: Final = frozenset(
    {
        *("range", "generate_series", "unnest", "repeat", "json_each", "json_tree"),
        *("duckdb_tables", "duckdb_views", "duckdb_columns", "duckdb_constraints"),
        *("duckdb_functions", "pragma_table_info"),
    }
)
"""The allowed built-in table functions of DuckDB, which only compute or describe the schema."""

_SYSTEM_VIEWS: Final = frozenset(
    {"duckdb_tables", "duckdb_views", "duckdb_columns", "duckdb_constraints", "sqlite_master"}
)
"""The allowed built-in views of DuckDB besides the information schema: they describe the schema."""

_FUNCTIONS: Final = frozenset(
    {
        *("getenv", "current_setting", "getvariable", "write_log", "sleep_ms", "pg_sleep"),
        *("nextval", "currval", "setval", "json_execute_serialized_sql", "read_text", "read_blob"),
    }
)
"""Forbidden functions in expressions, which reveal the machine or have effects."""

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


def run_query(path: Path, sql: str, limits: QueryLimits, patience: float = 3) -> CutResult:
    """The result of a query of a store, cut to the limits.

    ``patience`` is how long to wait for a writer of the store (s). Queries that do not stop when
    interrupted, or use memory that DuckDB does not count, can only be stopped by another process.

    Raises:
        StoreError: if the query is not valid, not allowed, or exceeds its limits;
            if the store cannot be read.
    """
    parts = path.is_dir()
    opening = open_parts if parts else connect_read_only_unrestricted
    connection = open_with_retry(lambda: opening(path), patience)
    with closing(connection), wrap_errors(str(path)):
        check_schema(connection, str(path))
        lock_connection(connection, path if parts else None, limits)
        try:
            return _run_limited(connection, check_query(connection, sql), limits)
        except (duckdb.Error, RuntimeError, MemoryError, pa.ArrowException) as error:
            raise _explain(error, limits) from None


def lock_connection(
    connection: duckdb.DuckDBPyConnection, folder: Path | None, limits: QueryLimits
) -> None:
    """Restricts a connection to what it has open; ``folder``: the Parquet parts it may still read.

    This cannot be undone.
    """
    given = "[]" if folder is None else f"[{quote_literal(f'{folder.resolve()}/')}]"
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


def check_query(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """The only statement in the text, if it is an allowed query.

    Raises:
        StoreError: if it is not valid or not allowed.
    """
    try:
        statements = connection.extract_statements(sql)
    except (duckdb.Error, UnicodeError) as error:
        raise StoreError(f"query: {_message(error)}") from None
    if not statements:
        raise StoreError(f"query: found no statement; expected {ALLOWED}")
    if len(statements) > 1:
        raise _refusal(f"{len(statements)} statements")
    (statement,) = statements
    if statement.type != duckdb.StatementType.SELECT:
        raise _refusal(_kind(statement))
    _check_parts(connection, _parse(connection, statement.query))
    return statement


def _kind(statement: duckdb.Statement) -> str:
    """The kind of a statement, as SQL calls it."""
    name = statement.type.name.replace("_", " ")
    return "PIVOT without IN" if name == "MULTI" else f"a statement of type {name}"


def _parse(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, _Json]]:
    """The objects in the syntax tree of a query.

    Raises:
        StoreError: if there is no tree, because a part of it is not a query.
    """
    (text,) = cast("tuple[str]", connection.execute(_SERIALIZE, [sql]).fetchone())
    try:
        tree = cast("dict[str, _Json]", json.loads(text))
        if tree.get("error"):
            raise _refusal("something in it that is not a SELECT, such as PIVOT without IN")
        return list(_objects(tree))
    except RecursionError:
        raise _refusal("expressions nested too deeply") from None


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
            raise _refusal(f"{kind.removesuffix('_NODE').removesuffix('_QUERY')} in it")
        function = part.get("function")
        if kind == "TABLE_FUNCTION" and isinstance(function, dict):
            _check_name(str(function.get("function_name")), functions, "the table function ")
        if "function_name" in part:
            name = str(part["function_name"])
            _check_name(name, _FUNCTIONS, "the function ")
            if name.startswith("__internal"):
                raise _refusal(f"the function {name}")
        if kind == "BASE_TABLE":
            _check_name(str(part.get("table_name")), views, "the system view ")


def _check_name(name: str, refused: frozenset[str], what: str) -> None:
    if name.lower() in refused:
        raise _refusal(f"{what}{name}")


def _names(connection: duckdb.DuckDBPyConnection, sql: str) -> frozenset[str]:
    rows: list[tuple[str]] = connection.execute(sql).fetchall()
    return frozenset(name for (name,) in rows)


def _run_limited(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, limits: QueryLimits
) -> CutResult:
    """The first rows; the others are not computed."""
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
    """A reader of the rows in batches; its name differs in older versions of DuckDB."""
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
    reading = cast("Callable[[int], pa.RecordBatchReader]", getattr(relation, name))
    return reading(_FEW_ROWS)


def _first_rows(reader: pa.RecordBatchReader, limits: QueryLimits) -> CutResult:
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
    return CutResult(table.slice(0, kept), is_cut=rows > kept or size > limits.size)


def _explain(error: Exception, limits: QueryLimits) -> StoreError:
    """The error for the user."""
    text = str(error)
    if "INTERRUPT" in text:
        return timeout_error(limits)
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or "bad_alloc" in text:
        return memory_error(limits)
    if isinstance(error, duckdb.PermissionException):
        return _refusal("a file")
    if _MISSING in text:
        return _refusal("something in it that writes")
    return StoreError(f"query: {_message(error)}")


def _message(error: Exception) -> str:
    """DuckDB's message, which shows the position."""
    return str(error).strip() or type(error).__name__


def timeout_error(limits: QueryLimits) -> QueryLimitError:
    """The error for a query that exceeds its time limit."""
    return QueryLimitError(
        f"query: found no answer within {limits.seconds:g} s; expected a faster query: ask for "
        "fewer rows, or use nestmap query, which has no limit"
    )


def memory_error(limits: QueryLimits) -> QueryLimitError:
    """The error for a query that exceeds its memory limit."""
    return QueryLimitError(
        f"query: found no answer within {limits.memory} MB of memory; expected a smaller query: "
        "ask for fewer rows, or use nestmap query, which has no limit"
    )


def _refusal(found: str) -> StoreError:
    return StoreError(f"query: found {found}; expected {ALLOWED}")
