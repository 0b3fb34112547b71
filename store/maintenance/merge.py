"""The merge of two stores: every run, search and evaluation of both, without duplicates."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import duckdb

from nestmap.model import Frozen, StoreError
from nestmap.store.connection.connect import (
    closing_written,
    connect_read_only,
    connect_unrestricted,
    lock_folder,
    query_number,
    quote_literal,
    quote_name,
    transaction,
)
from nestmap.store.connection.database import PATIENCE, open_with_retry
from nestmap.store.connection.errors import wrap_errors
from nestmap.store.schema.migrate import check_schema, check_tables, migrate
from nestmap.store.schema.tables import (
    CONTENT_TABLES,
    EVALUATION_ROWS,
    RUN_TABLES,
    SEARCH_TABLES,
    SWEEP_TABLES,
)

# --- the merge of several stores into one: its connections and its transaction ---


def merge_stores(into: Path, sources: Sequence[Path]) -> MergeCounts:
    """Merges stores into a store, which is created if necessary.

    All or nothing: after an error, or if the process is killed, the store is unchanged.

    Raises:
        StoreError: if a source cannot be read, the store cannot be written, or one of them is not a
            store of this version.
    """
    for source in sources:
        _check_source(source, into)
    made = not into.exists()
    try:
        with open_store(into) as connection:
            return _merge_all(connection, into, sources)
    except BaseException:
        if made:
            with suppress(OSError):  # the original error matters more
                into.unlink()
        raise


@contextmanager
def open_store(path: Path) -> Generator[duckdb.DuckDBPyConnection]:
    """A connection for maintenance to a store, with the current schema; it is closed at the end.

    Raises:
        StoreError: if it cannot be opened or written.
    """
    opened = open_with_retry(lambda: connect_unrestricted(path), PATIENCE)
    with closing_written(opened, path) as connection:
        with wrap_errors(str(path)):
            connection.execute("RESET memory_limit")  # low only to leave memory to searches
            migrate(connection, str(path))
        yield connection


def _check_source(source: Path, into: Path) -> None:
    if not source.exists():
        raise StoreError(
            f"store {source}: no such file; expected a store that nestmap explore wrote: name "
            "another one"
        )
    if into.exists() and source.samefile(into):
        raise StoreError(
            f"store {source}: found the store to merge into; expected another one: leave it out"
        )


def _merge_all(
    connection: duckdb.DuckDBPyConnection, into: Path, sources: Sequence[Path]
) -> MergeCounts:
    # no clash: a database is named after its file, whose name has no slash
    aliases = [quote_name(f"source/{i}") for i in range(len(sources))]
    for source, alias in zip(sources, aliases, strict=True):
        _attach(connection, source, alias)
    with wrap_errors(str(into)), transaction(connection):
        counts = [merge(connection, alias) for alias in aliases]
    return MergeCounts(
        runs=sum(x.runs for x in counts),
        searches=sum(x.searches for x in counts),
        evaluations=sum(x.evaluations for x in counts),
        sweeps=sum(x.sweeps for x in counts),
    )


def _attach(connection: duckdb.DuckDBPyConnection, source: Path, alias: str) -> None:
    _check(source)

    def attached() -> duckdb.DuckDBPyConnection:
        with wrap_errors(str(source)), lock_folder(source):
            path = quote_literal(str(source.absolute()))
            return connection.execute(f"ATTACH {path} AS {alias} (READ_ONLY)")

    open_with_retry(attached, PATIENCE)


def _check(source: Path) -> None:
    opened = open_with_retry(lambda: connect_read_only(source), PATIENCE)
    with closing(opened) as connection, wrap_errors(str(source)):
        check_schema(connection, str(source))
        check_tables(connection, str(source))


# --- the merge of two stores ---

# Each chooses the origin of rows that both stores have: 0 here, 1 in the source. Of a run the
# latest state counts, of a search the complete one, of a sweep the one with most designs,
# independently of the order of merging.
_CHOOSE_RUNS = """
CREATE OR REPLACE TEMP TABLE chosen_runs AS
SELECT DISTINCT ON (run.id) run.id, run.origin
FROM ({runs}) AS run
LEFT JOIN (
  SELECT run, origin, count(*) AS count FROM (
    SELECT run, origin FROM ({run_searches}) UNION ALL SELECT run, origin FROM ({generations})
  ) GROUP BY ALL
) AS linked ON linked.run = run.id AND linked.origin = run.origin
ORDER BY
  run.id, run.status = 'done' DESC, run.resumed DESC, run.ended DESC NULLS LAST,
  linked.count DESC NULLS LAST, run.status DESC, run.reason DESC NULLS LAST, run.origin
"""
_CHOOSE_SEARCHES = """
CREATE OR REPLACE TEMP TABLE chosen_searches AS
WITH found AS ({searches}),
several AS (SELECT id FROM found GROUP BY id HAVING count(*) > 1),
counted AS (
  SELECT search, origin, count(*) AS count FROM ({evaluation_rows})
  WHERE search IN (SELECT id FROM several) GROUP BY ALL
)
SELECT DISTINCT ON (found.id) found.id, found.origin
FROM found
LEFT JOIN counted ON counted.search = found.id AND counted.origin = found.origin
ORDER BY found.id, found.evaluations IS NULL, counted.count DESC NULLS LAST, found.origin
"""
_CHOOSE_SWEEPS = """
CREATE OR REPLACE TEMP TABLE chosen_sweeps AS
SELECT DISTINCT ON (sweep.hash) sweep.hash AS id, sweep.origin
FROM ({sweeps}) AS sweep
ORDER BY sweep.hash, sweep.designs DESC, sweep.rejected IS NULL, sweep.started, sweep.origin
"""
_UNION = """
SELECT *, 0 AS origin FROM {table} UNION ALL BY NAME SELECT *, 1 AS origin FROM {source}.{table}
"""
_DELETE = "DELETE FROM {table} WHERE {column} IN (SELECT id FROM {chosen} WHERE origin = 1)"
_INSERT = """
INSERT INTO {table} BY NAME SELECT * FROM {source}.{table}
WHERE {column} IN (SELECT id FROM {chosen} WHERE origin = 1)
"""
_INSERT_MISSING = (
    "INSERT INTO {table} BY NAME SELECT * FROM {source}.{table} ON CONFLICT DO NOTHING"
)
# Rows with equal keys can differ only in which of several equal layers their text is for.
_SAME_TEXT = """
UPDATE cmes SET json = theirs.json FROM {source}.cmes AS theirs
WHERE theirs.hash = cmes.hash AND theirs.json::VARCHAR < cmes.json::VARCHAR
"""


class MergeCounts(Frozen, frozen=True):
    """The number of runs, searches, evaluations and sweeps taken from the source.

    Those that replaced an earlier state in this store count as well.
    """

    runs: int
    searches: int
    evaluations: int
    sweeps: int = 0


class _OwnedTable(NamedTuple):
    """A table whose rows belong to the ids in ``chosen``."""

    table: str
    column: str
    chosen: str


def merge(connection: duckdb.DuckDBPyConnection, source: str) -> MergeCounts:
    """Adds everything in the database attached as ``source`` that this store does not have.

    Both need the current schema. Call it in a transaction. Repeating it changes nothing, and
    merging several sources gives the same result in any order.
    """
    tables = ("runs", "run_searches", "generations", "searches", EVALUATION_ROWS, "sweeps")
    both = {table: _UNION.format(table=table, source=source) for table in tables}
    for choose in (_CHOOSE_RUNS, _CHOOSE_SEARCHES, _CHOOSE_SWEEPS):
        connection.execute(choose.format(**both))
    for table in CONTENT_TABLES:
        connection.execute(_INSERT_MISSING.format(table=table, source=source))
    connection.execute(_SAME_TEXT.format(source=source))
    parts = [_OwnedTable(table, column, "chosen_runs") for table, column in RUN_TABLES.items()]
    of_searches = {**SEARCH_TABLES, EVALUATION_ROWS: "search"}
    parts += [
        _OwnedTable(table, column, "chosen_searches") for table, column in of_searches.items()
    ]
    parts += [_OwnedTable(table, column, "chosen_sweeps") for table, column in SWEEP_TABLES.items()]
    counts = {part.table: _replace(connection, source, part) for part in parts}
    return MergeCounts(
        runs=counts["runs"],
        searches=counts["searches"],
        evaluations=counts[EVALUATION_ROWS],
        sweeps=counts["sweeps"],
    )


def _replace(connection: duckdb.DuckDBPyConnection, source: str, part: _OwnedTable) -> int:
    """Replaces the chosen rows of a table and returns their number."""
    connection.execute(_DELETE.format(**part._asdict()))
    return query_number(connection, _INSERT.format(source=source, **part._asdict()))
