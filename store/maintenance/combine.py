"""Stores and folders of Parquet parts put together in one store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import connect, connect_read_only, transaction
from nestmap.store.connection.database import PATIENCE, patiently
from nestmap.store.connection.errors import explained
from nestmap.store.maintenance.merge import Merged, merge
from nestmap.store.maintenance.parquet_reader import named, read_parts
from nestmap.store.schema.migrate import migrate, migrations, schema_version
from nestmap.store.schema.tables import literal, name


def merge_stores(into: Path, sources: Sequence[Path]) -> Merged:
    """Merges stores and folders of Parquet parts into a store, which is made if there is none.

    All or nothing: where something goes wrong, or the process is killed, the store stays as it was.

    Raises:
        StoreError: if one of them cannot be read or written, or is no store of this nestmap.
    """
    for source in sources:
        _check(source, into)
    made = not into.exists()
    try:
        with TemporaryDirectory() as scratch, closing(open_store(into)) as connection:
            return _merge_all(connection, into, sources, Path(scratch))
    except BaseException:
        if made:
            with suppress(OSError):  # the error that is on its way says more
                into.unlink()
        raise


def open_store(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection to a store of today's schema that nobody else is using, for work on all of it.

    Raises:
        StoreError: if it cannot be opened or written.
    """
    connection = patiently(lambda: connect(path), PATIENCE)
    try:
        with explained(str(path)):
            connection.execute("RESET memory_limit")  # low for the sake of a search at work
            migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _check(source: Path, into: Path) -> None:
    if not source.exists():
        raise StoreError(
            f"store {source}: no such file or folder; expected a store that nestmap explore wrote, "
            "or a folder of Parquet parts: name another one"
        )
    if into.exists() and source.samefile(into):
        raise StoreError(
            f"store {source}: found the store to merge into; expected another one: leave it out"
        )


def _merge_all(
    connection: duckdb.DuckDBPyConnection, into: Path, sources: Sequence[Path], scratch: Path
) -> Merged:
    # the name of a database is that of its file, which has no slash
    aliases = [name(f"source/{i}") for i in range(len(sources))]
    for source, alias in zip(sources, aliases, strict=True):
        _attach(connection, source, alias, scratch)
    with ExitStack() as said:
        for source in sources:
            if source.is_dir():
                said.enter_context(named(source))
        with explained(str(into)), transaction(connection):
            counts = [merge(connection, alias) for alias in aliases]
    return Merged(
        runs=sum(x.runs for x in counts),
        searches=sum(x.searches for x in counts),
        evaluations=sum(x.evaluations for x in counts),
    )


def _attach(connection: duckdb.DuckDBPyConnection, source: Path, alias: str, scratch: Path) -> None:
    """Attaches a store or a folder of parts; of an older store a copy of today's schema."""
    if source.is_dir():
        read_parts(connection, source, alias)
        return
    if _version(source) < migrations()[-1].version:
        source = _brought_up_to_date(source, scratch / f"{len(list(scratch.iterdir()))}.duckdb")

    def attached() -> duckdb.DuckDBPyConnection:
        with explained(str(source)):
            path = literal(str(source.absolute()))
            return connection.execute(f"ATTACH {path} AS {alias} (READ_ONLY)")

    patiently(attached, PATIENCE)


def _version(source: Path) -> int:
    opened = patiently(lambda: connect_read_only(source), PATIENCE)
    with closing(opened) as connection, explained(str(source)):
        return schema_version(connection, str(source))


def _brought_up_to_date(source: Path, copy: Path) -> Path:
    old, new = (literal(str(path.absolute())) for path in (source, copy))
    with closing(connect(None)) as connection, explained(str(source)):
        connection.execute(f"ATTACH {old} AS old (READ_ONLY)")
        connection.execute(f"ATTACH {new} AS new")
        connection.execute("COPY FROM DATABASE old TO new")
    with closing(connect(copy)) as connection, explained(str(source)):
        migrate(connection, str(source))
    return copy
