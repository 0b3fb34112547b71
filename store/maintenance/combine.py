"""The merge of several stores into one: its connections and its transaction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import connect_read_only, connect_unrestricted, transaction
from nestmap.store.connection.database import PATIENCE, open_with_retry
from nestmap.store.connection.errors import wrap_errors
from nestmap.store.connection.quote import quote_literal, quote_name
from nestmap.store.maintenance.merge import MergeCounts, merge
from nestmap.store.schema.migrate import check_schema, check_tables, migrate


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
        with closing(open_store(into)) as connection:
            return _merge_all(connection, into, sources)
    except BaseException:
        if made:
            with suppress(OSError):  # the original error matters more
                into.unlink()
        raise


def open_store(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection for maintenance to a store, with the current schema.

    Raises:
        StoreError: if it cannot be opened or written.
    """
    connection = open_with_retry(lambda: connect_unrestricted(path), PATIENCE)
    try:
        with wrap_errors(str(path)):
            connection.execute("RESET memory_limit")  # low only to leave memory to searches
            migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


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
        with wrap_errors(str(source)):
            path = quote_literal(str(source.absolute()))
            return connection.execute(f"ATTACH {path} AS {alias} (READ_ONLY)")

    open_with_retry(attached, PATIENCE)


def _check(source: Path) -> None:
    opened = open_with_retry(lambda: connect_read_only(source), PATIENCE)
    with closing(opened) as connection, wrap_errors(str(source)):
        check_schema(connection, str(source))
        check_tables(connection, str(source))
