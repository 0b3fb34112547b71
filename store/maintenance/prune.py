"""A store made smaller: without some runs, or with the best evaluations only."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from uuid import UUID

import duckdb

from nestmap.model import Frozen, StoreError
from nestmap.store.connection.connect import connect_read_only, number, transaction
from nestmap.store.connection.database import PATIENCE, patiently
from nestmap.store.connection.errors import explained
from nestmap.store.maintenance.combine import open_store
from nestmap.store.read.run_lookup import find_run
from nestmap.store.rows.runs import mark_killed
from nestmap.store.schema.references import Reference, references
from nestmap.store.schema.tables import CONTENT, PARTS, ROWS, SMALL, VERSION, literal, name


class Pruning(Frozen, frozen=True):
    """What to remove: some runs, and with ``best_only`` all evaluations that others beat.

    ``best_only`` keeps of each complete search its front (what no other one beats in energy and
    latency), and of a search that was interrupted all.
    """

    runs: tuple[UUID, ...] = ()
    best_only: bool = False


class Pruned(Frozen, frozen=True):
    """What pruning removes: rows of each table that loses some, and the size of the file (byte)."""

    rows: tuple[tuple[str, int], ...]
    bytes_before: int
    bytes_after: int


_RUNNING = "SELECT id, pid FROM runs WHERE status = 'running' AND host = ?"
_UNKNOWN = "SELECT id FROM (SELECT unnest(?::UUID[]) AS id) WHERE id NOT IN (SELECT id FROM runs)"
_DROPPED = "CREATE TEMP TABLE dropped_runs AS SELECT unnest(?::UUID[]) AS id"
_NEW: Final = name("pruned/store")  # no file can have this name
_COPY = f"INSERT INTO {_NEW}.{{table}} BY NAME SELECT * FROM {{table}} WHERE {{condition}}"
# Of a search that an older nestmap has recorded nobody has written down the front.
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
_OTHERS = """
SELECT schema_name, table_name FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal AND NOT temporary
  AND NOT (schema_name = 'main' AND table_name IN (SELECT unnest(?)))
"""


def prune(path: Path, pruning: Pruning, *, dry_run: bool = False) -> Pruned:
    """Removes runs and evaluations from a store, and all that nothing refers to any more.

    Results, fronts and all that is needed to use searches again stay for the runs that stay. The
    store is written anew beside the old file, which it replaces at the end: where something goes
    wrong, or the process is killed, the old one stays. With ``dry_run`` it stays in any case.

    Raises:
        StoreError: if there is no such store or run, a run is writing to it, or the disk is full.
    """
    if not path.exists():
        raise StoreError(f"store {path}: no such file; expected a store: name another file")
    path = path.resolve()
    beside = path.with_name(path.name.replace("?", "_") + ".pruned")
    with closing(open_store(path)) as connection, explained(str(path)):
        mark_killed(connection)
        _check(connection, path, pruning)
        connection.execute("CHECKPOINT")
        with _attached(connection, beside):
            removed = _copy(connection, pruning)
        try:
            sizes = (path.stat().st_size, beside.stat().st_size)
            if not dry_run:
                shutil.copymode(path, beside)
                os.replace(beside, path)  # the old one is still open: nobody else writes to it
        finally:
            _remove(beside)
    return Pruned(rows=removed, bytes_before=sizes[0], bytes_after=sizes[1])


def named_runs(path: Path, names: Sequence[str]) -> tuple[UUID, ...]:
    """The runs of a store that are meant: each by ``last``, its id, or the beginning of it.

    Raises:
        StoreError: if there is no such store, or no such run, or several.
    """
    if not names:
        return ()
    opened = patiently(lambda: connect_read_only(path), PATIENCE)
    with closing(opened) as connection, explained(str(path)):
        return tuple(find_run(connection, text) for text in names)


def _check(connection: duckdb.DuckDBPyConnection, path: Path, pruning: Pruning) -> None:
    for run, pid in connection.execute(_RUNNING, [socket.gethostname()]).fetchall():
        raise StoreError(
            f"store {path}: process {pid} is writing run {run} to it; expected a store that no run "
            "is using: wait until it ends, or end it"
        )
    for (run,) in connection.execute(_UNKNOWN, [list(map(str, pruning.runs))]).fetchall():
        raise StoreError(f"run {run}: not in {path}; expected the id of one of its runs")


@contextmanager
def _attached(connection: duckdb.DuckDBPyConnection, beside: Path) -> Generator[None]:
    """An empty store beside the old one, complete at the end of the block, or gone."""
    _remove(beside)
    try:
        connection.execute(f"ATTACH {literal(str(beside))} AS {_NEW}")
        yield
        connection.execute(f"CHECKPOINT {_NEW}")
        connection.execute(f"DETACH {_NEW}")
    except BaseException:
        _remove(beside)
        raise


def _remove(file: Path) -> None:
    """Removes a database and its log, whose name DuckDB makes so where there is no ``?`` in it."""
    for each in (file, file.with_name(file.name + ".wal")):
        each.unlink(missing_ok=True)


def _copy(connection: duckdb.DuckDBPyConnection, pruning: Pruning) -> tuple[tuple[str, int], ...]:
    """Copies what stays; gives how many rows of each table do not."""
    old: list[tuple[str]] = connection.execute("SELECT current_database()").fetchall()
    connection.execute(f"COPY FROM DATABASE {name(old[0][0])} TO {_NEW} (SCHEMA)")
    connection.execute(_DROPPED, [[str(run) for run in pruning.runs]])
    if pruning.best_only:
        connection.execute(_FRONTS)
    known = references(connection)
    with transaction(connection):
        for table in (VERSION, *SMALL, ROWS):
            condition = _condition(table, known)
            if table == ROWS and pruning.best_only:
                condition += _BEST
            connection.execute(_COPY.format(table=table, condition=condition))
        _copy_others(connection)
        if pruning.best_only:
            connection.execute(_MARK)
    removed = [
        (table, number(connection, f"SELECT count(*) FROM {table}")
         - number(connection, f"SELECT count(*) FROM {_NEW}.{table}"))
        for table in (*SMALL, ROWS)
    ]  # fmt: skip
    return tuple((table, rows) for table, rows in removed if rows)


def _condition(table: str, known: Sequence[Reference]) -> str:
    """Which rows of a table stay, given that the tables before it in ``SMALL`` are copied."""
    if table == VERSION:
        return "true"
    if table == "runs":
        return "id NOT IN (SELECT id FROM dropped_runs)"
    if table in PARTS:
        column, owner, key = PARTS[table]
        return f"{column} IN (SELECT {key} FROM {_NEW}.{owner})"
    (key,) = CONTENT.get(table, ("id",))
    users = [x for x in known if x.owner == table and PARTS.get(x.table, ("",))[0] != x.column]
    if not users:
        return "true"  # it belongs to nothing: it is what a tool has said
    return " OR ".join(f"{key} IN (SELECT {x.column} FROM {_NEW}.{x.table})" for x in users)


def _copy_others(connection: duckdb.DuckDBPyConnection) -> None:
    """Copies the tables that a user has made."""
    for schema, table in connection.execute(_OTHERS, [[VERSION, *SMALL, ROWS]]).fetchall():
        place = f"{name(schema)}.{name(table)}"
        connection.execute(f"INSERT INTO {_NEW}.{place} SELECT * FROM {place}")
