"""Pruning: removes runs, or all but the best evaluations, from a store."""

import os
import shutil
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

import duckdb

from nestmap.model import Frozen, StoreError
from nestmap.store.connection.connect import (
    connect_read_only,
    lock_folder,
    query_number,
    quote_literal,
    quote_name,
    transaction,
)
from nestmap.store.connection.database import PATIENCE, open_with_retry
from nestmap.store.connection.errors import wrap_errors
from nestmap.store.maintenance.merge import open_store
from nestmap.store.read.run_lookup import find_run
from nestmap.store.read.sweep_lookup import find_sweep_key
from nestmap.store.rows.run_processes import mark_interrupted
from nestmap.store.schema.tables import (
    CONTENT_TABLES,
    EVALUATION_ROWS,
    PART_OF,
    SMALL_TABLES,
    VERSION_TABLE,
    Reference,
    references,
)

K = TypeVar("K")
"""The key of what is removed."""


class PruneSelection(Frozen, frozen=True):
    """What to remove: runs, sweeps (by their keys), and with ``best_only`` dominated evaluations.

    Of a sweep the designs are removed; runs that recorded their layers stay.

    ``best_only`` leaves the Pareto front (energy and latency) of each complete search, and all
    evaluations of an interrupted search.
    """

    runs: tuple[UUID, ...] = ()
    sweeps: tuple[str, ...] = ()
    best_only: bool = False


class PruneReport(Frozen, frozen=True):
    """What pruning removes: the number of rows per table, and the file sizes in bytes."""

    rows: tuple[tuple[str, int], ...]
    bytes_before: int
    bytes_after: int


_RUNNING = "SELECT id, pid FROM runs WHERE status = 'running' AND host = ?"
_UNKNOWN = "SELECT id FROM (SELECT unnest(?::UUID[]) AS id) WHERE id NOT IN (SELECT id FROM runs)"
_DROPPED_SWEEPS = "CREATE TEMP TABLE dropped_sweeps AS SELECT unnest(?::VARCHAR[]) AS hash"
_DROPPED = "CREATE TEMP TABLE dropped_runs AS SELECT unnest(?::UUID[]) AS id"
_NEW: Final = quote_name("pruned/store")  # no file can have this name
_COPY = f"INSERT INTO {_NEW}.{{table}} BY NAME SELECT * FROM {{table}} WHERE {{condition}}"
# Older versions of nestmap did not record the fronts of searches.
_FRONTS = """
CREATE TEMP TABLE fronts AS
SELECT id AS search, unnest(front).number AS number FROM searches WHERE front IS NOT NULL
UNION ALL
SELECT search, number FROM (
  SELECT search, number, latency2 < coalesce(min(latency2) OVER (
    PARTITION BY search ORDER BY energy, latency2, number
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ), 'infinity') AS is_best
  FROM evaluation_rows
  WHERE search IN (SELECT id FROM searches WHERE evaluations IS NOT NULL AND front IS NULL)
) WHERE is_best
"""
_BEST = """
  AND (
    search IN (SELECT id FROM searches WHERE evaluations IS NULL)
    OR (search, number) IN (SELECT (search, number) FROM fronts)
  )
"""
_MARK = f"""
UPDATE {_NEW}.searches SET record = 'best'
WHERE record = 'all' AND evaluations > (
  SELECT count(*) FROM {_NEW}.evaluation_rows AS kept WHERE kept.search = searches.id
)
"""
_USER_TABLES = """
SELECT schema_name, table_name FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal AND NOT temporary
  AND NOT (schema_name = 'main' AND table_name IN (SELECT unnest(?)))
"""


def prune(path: Path, pruning: PruneSelection, *, dry_run: bool = False) -> PruneReport:
    """Removes runs, sweeps and evaluations from a store, and all that nothing refers to any more.

    Results, fronts and what later runs need for reuse stay for the remaining runs. The new store is
    written to a second file that replaces the old one at the end: after an error, or if the process
    is killed, the old store is unchanged. ``dry_run`` only reports.

    Raises:
        StoreError: if there is no such store or run, a run is writing to it, or the disk is full.
    """
    if not path.exists():
        raise StoreError(f"store {path}: no such file; expected a store: name another file")
    path = path.resolve()
    beside = path.with_name(path.name.replace("?", "_") + ".pruned")
    with open_store(path) as connection, wrap_errors(str(path)):
        mark_interrupted(connection)
        _check(connection, path, pruning)
        connection.execute("CHECKPOINT")
        with _attach_new(connection, beside):
            removed = _copy(connection, pruning)
        try:
            sizes = (path.stat().st_size, beside.stat().st_size)
            if not dry_run:
                shutil.copymode(path, beside)
                with lock_folder(path):
                    os.replace(beside, path)  # the old file is open, so no one else writes to it
                    connection.close()  # before anyone makes a log of the new file
        finally:
            _remove(beside)
    return PruneReport(rows=removed, bytes_before=sizes[0], bytes_after=sizes[1])


def find_runs(path: Path, names: Sequence[str]) -> tuple[UUID, ...]:
    """The ids of the named runs: each name is ``last``, an id, or the beginning of one.

    Raises:
        StoreError: if there is no such store, or a name matches no run or several.
    """
    return _find(path, names, find_run)


def find_sweeps(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """The keys of the named sweeps: each name is ``last``, a name, or the beginning of a key.

    Raises:
        StoreError: if there is no such store, or a name matches no sweep.
    """
    return _find(path, names, find_sweep_key)


def _find(
    path: Path, names: Sequence[str], find: Callable[[duckdb.DuckDBPyConnection, str], K]
) -> tuple[K, ...]:
    if not names:
        return ()
    opened = open_with_retry(lambda: connect_read_only(path), PATIENCE)
    with closing(opened) as connection, wrap_errors(str(path)):
        return tuple(find(connection, text) for text in names)


def _check(connection: duckdb.DuckDBPyConnection, path: Path, pruning: PruneSelection) -> None:
    for run, pid in connection.execute(_RUNNING, [socket.gethostname()]).fetchall():
        raise StoreError(
            f"store {path}: process {pid} is writing run {run} to it; expected a store that no run "
            "is using: wait until it ends, or end it"
        )
    for (run,) in connection.execute(_UNKNOWN, [list(map(str, pruning.runs))]).fetchall():
        raise StoreError(f"run {run}: not in {path}; expected the id of one of its runs")


@contextmanager
def _attach_new(connection: duckdb.DuckDBPyConnection, beside: Path) -> Generator[None]:
    """An empty store attached as a second file: complete at the end of the block, or deleted."""
    _remove(beside)
    try:
        connection.execute(f"ATTACH {quote_literal(str(beside))} AS {_NEW}")
        yield
        connection.execute(f"CHECKPOINT {_NEW}")
        connection.execute(f"DETACH {_NEW}")
    except BaseException:
        _remove(beside)
        raise


def _remove(file: Path) -> None:
    """Removes a database and its log, which DuckDB names this way if the name has no ``?``."""
    for each in (file, file.with_name(file.name + ".wal")):
        each.unlink(missing_ok=True)


def _copy(
    connection: duckdb.DuckDBPyConnection, pruning: PruneSelection
) -> tuple[tuple[str, int], ...]:
    """Copies the remaining rows and returns the number of removed rows per table."""
    old: list[tuple[str]] = connection.execute("SELECT current_database()").fetchall()
    connection.execute(f"COPY FROM DATABASE {quote_name(old[0][0])} TO {_NEW} (SCHEMA)")
    connection.execute(_DROPPED, [[str(run) for run in pruning.runs]])
    connection.execute(_DROPPED_SWEEPS, [list(pruning.sweeps)])
    if pruning.best_only:
        connection.execute(_FRONTS)
    known = references(connection)
    with transaction(connection):
        for table in (VERSION_TABLE, *SMALL_TABLES, EVALUATION_ROWS):
            condition = _condition(table, known)
            if table == EVALUATION_ROWS and pruning.best_only:
                condition += _BEST
            connection.execute(_COPY.format(table=table, condition=condition))
        _copy_user_tables(connection)
        if pruning.best_only:
            connection.execute(_MARK)
    removed = [
        (table, query_number(connection, f"SELECT count(*) FROM {table}")
         - query_number(connection, f"SELECT count(*) FROM {_NEW}.{table}"))
        for table in (*SMALL_TABLES, EVALUATION_ROWS)
    ]  # fmt: skip
    return tuple((table, rows) for table, rows in removed if rows)


def _condition(table: str, known: Sequence[Reference]) -> str:
    """The rows of a table to copy, given that the tables before it in ``SMALL`` are copied."""
    if table == VERSION_TABLE:
        return "true"
    if table == "runs":
        return "id NOT IN (SELECT id FROM dropped_runs)"
    if table == "sweeps":
        return "hash NOT IN (SELECT hash FROM dropped_sweeps)"
    if table in PART_OF:
        column, owner, key = PART_OF[table]
        return f"{column} IN (SELECT {key} FROM {_NEW}.{owner})"
    (key,) = CONTENT_TABLES.get(table, ("id",))
    users = [x for x in known if x.owner == table and PART_OF.get(x.table, ("",))[0] != x.column]
    if not users:
        return "true"  # answers of tools, which nothing refers to
    return " OR ".join(f"{key} IN (SELECT {x.column} FROM {_NEW}.{x.table})" for x in users)


def _copy_user_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Copies the tables that a user created."""
    for schema, table in connection.execute(
        _USER_TABLES, [[VERSION_TABLE, *SMALL_TABLES, EVALUATION_ROWS]]
    ).fetchall():
        place = f"{quote_name(schema)}.{quote_name(table)}"
        connection.execute(f"INSERT INTO {_NEW}.{place} SELECT * FROM {place}")
