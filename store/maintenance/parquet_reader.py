"""The reader of Parquet parts: folders read as one database, also while runs write to them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import connect
from nestmap.store.connection.quote import quote_literal
from nestmap.store.maintenance.merge import choose_runs, choose_searches, choose_sweeps
from nestmap.store.maintenance.parquet_parts import SUFFIX, row_parts, wrap_folder_errors
from nestmap.store.schema.migrate import SCHEMA, migrate
from nestmap.store.schema.tables import (
    CONTENT_TABLES,
    EVALUATION_ROWS,
    PART_OF,
    RUN_TABLES,
    SEARCH_TABLES,
    SMALL_TABLES,
    SWEEP_TABLES,
    VERSION_TABLE,
)

_VERSIONS = "SELECT file_index, max(version) FROM read_parquet($files) GROUP BY ALL ORDER BY ALL"
_EMPTY = "CREATE TABLE {to}.{table} AS SELECT *, 0 AS origin FROM {table} LIMIT 0"
_READ = """
INSERT INTO {to}.{table} BY NAME
SELECT {distinct} * EXCLUDE (file_index), ($folders::INTEGER[])[file_index::BIGINT + 1] AS origin
FROM (SELECT *, file_index FROM read_parquet($files))
"""
_ALL_ROWS = """
CREATE VIEW {to}.all_rows AS
SELECT * EXCLUDE (file_index), ({folders}::INTEGER[])[file_index::BIGINT + 1] AS origin
FROM (SELECT *, file_index FROM read_parquet([{files}]))
"""
_NO_ROWS = "CREATE TABLE {to}.all_rows AS SELECT *, 0 AS origin FROM evaluation_rows LIMIT 0"
# A run that was killed between two files and resumed wrote some evaluations twice.
_OVERLAPS = """
SELECT count(*) FROM (
  SELECT lowest <= lag(highest) OVER (PARTITION BY search ORDER BY lowest) AS is_twice
  FROM (
    SELECT search, min(number) AS lowest, max(number) AS highest
    FROM (SELECT search, number, file_index FROM read_parquet($files)) GROUP BY search, file_index
  )
) WHERE is_twice
"""
_ROWS = """
CREATE TABLE {to}.taken_searches AS FROM chosen_searches;
CREATE VIEW {to}.evaluation_rows AS
SELECT {distinct} * EXCLUDE (origin) FROM {to}.all_rows
WHERE (search, origin) IN (SELECT (id, origin) FROM {to}.taken_searches)
"""
_DROP_OTHERS = """
DELETE FROM {to}.{table} AS found WHERE NOT EXISTS (
  SELECT 1 FROM {chosen} AS chosen
  WHERE chosen.id = found.{column} AND chosen.origin = found.origin
)
"""
_DROP_ORPHANS = """
DELETE FROM {to}.{table} WHERE {column} NOT IN (SELECT {key} FROM {to}.{owner})
"""
# A run that ends between reading runs and reading its results counts as running, without results
_DROP_EARLY = """
DELETE FROM {to}.{table} WHERE run NOT IN (SELECT id FROM {to}.runs WHERE status = 'done')
"""
_READ_ALL = "SELECT bit_xor(hash(found)) FROM read_parquet(?) AS found"
_ATTEMPTS = 20
_DROP_ORIGIN = "ALTER TABLE {to}.{table} DROP COLUMN origin"


@final
@dataclass(frozen=True, slots=True)
class PartFiles:
    """The files of one table, and the index of the folder of each."""

    paths: tuple[str, ...]
    folders: tuple[int, ...]

    @property
    def parameters(self) -> dict[str, list[str] | list[int]]:
        """The parameters of a query over the files."""
        return {"files": list(self.paths), "folders": list(self.folders)}

    def stamps(self) -> tuple[tuple[int, int], ...]:
        """What identifies the current version of each file; paths have escaped wildcards."""
        found = (os.stat(path) for pattern in self.paths for path in glob.glob(pattern))
        return tuple((x.st_ino, x.st_mtime_ns) for x in found)


def read_parts(connection: duckdb.DuckDBPyConnection, folder: Path, alias: str) -> frozenset[str]:
    """Attaches a folder of parts to a store with the current schema, as a database to merge.

    ``alias`` is the name of the database, quoted if SQL needs it. The parts may be in the folder
    itself, in folders inside it, or both. Evaluations are read from their files only when used.

    Returns:
        The small tables that may have rows; the others are empty.

    Raises:
        StoreError: if there are no parts, one is damaged, or its schema is not the current one.
    """
    folders = _part_folders(folder)
    with name_damaged_file(folder), wrap_folder_errors(folder):
        _check_versions(connection, folders)
        connection.execute(f"ATTACH ':memory:' AS {alias}")
        filled = frozenset(x for x in SMALL_TABLES if _read(connection, alias, x, folders))
        distinct = "DISTINCT ON (search, number)" if _read_rows(connection, alias, folders) else ""
        _choose_latest(connection, alias, filled)
        connection.execute(_ROWS.format(to=alias, distinct=distinct))
        for table in SMALL_TABLES:
            connection.execute(_DROP_ORIGIN.format(to=alias, table=table))
    return filled


def load_parts(connection: duckdb.DuckDBPyConnection, folder: Path, alias: str) -> None:
    """Fills an empty store of the current schema with everything in the parts except evaluations.

    Raises:
        StoreError: as :func:`read_parts` does.
    """
    filled = read_parts(connection, folder, alias)
    with name_damaged_file(folder), wrap_folder_errors(folder):
        for table in filled:
            connection.execute(f"INSERT INTO {table} BY NAME FROM {alias}.{table}")


def open_parts(folder: Path) -> duckdb.DuckDBPyConnection:
    """A store in memory with the current content of a folder of parts.

    Queries read evaluations from their files.

    Raises:
        StoreError: as :func:`read_parts` does.
    """
    connection = connect(None)
    try:
        migrate(connection, str(folder))
        load_parts(connection, folder, "parts")
        connection.execute(f"DROP TABLE {EVALUATION_ROWS}")
        connection.execute(f"CREATE VIEW {EVALUATION_ROWS} AS FROM parts.{EVALUATION_ROWS}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def name_damaged_file(folder: Path) -> Generator[None]:
    """Adds to errors of reading parts the file that is damaged, if there is one.

    Raises:
        StoreError: that names the file.
    """
    try:
        yield
    except (duckdb.Error, StoreError):
        with closing(connect(None)) as connection:
            for path in sorted(folder.rglob(f"*{SUFFIX}")):
                if reason := _damage(connection, path):
                    raise StoreError(
                        f"store {folder}: found a damaged file, {path} ({reason}); expected a "
                        "whole Parquet file: copy it again, or remove the folder of its run"
                    ) from None
        raise


def _damage(connection: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """The error of reading a file to its end; ``None`` if there is none."""
    try:
        connection.execute(_READ_ALL, [_escape_wildcards(path)])
    except duckdb.Error as error:
        return str(error).splitlines()[0] if path.exists() else None  # its run replaced it
    return None


def _folders_with_parts(folder: Path) -> tuple[Path, ...]:
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return tuple(x for x in (folder, *inside) if (x / f"{VERSION_TABLE}{SUFFIX}").exists())


def _part_folders(folder: Path) -> tuple[Path, ...]:
    with wrap_folder_errors(folder):
        found = _folders_with_parts(folder)
    if not found:
        raise StoreError(
            f"store {folder}: found no Parquet parts in it; expected a folder that runs record to, "
            "or that nestmap db export wrote: name another one"
        )
    return found


def _check_versions(connection: duckdb.DuckDBPyConnection, folders: Sequence[Path]) -> None:
    files = {"files": list(_files_of(VERSION_TABLE, folders).paths)}
    versions: list[tuple[int, int | None]] = connection.execute(_VERSIONS, files).fetchall()
    for index, version in versions:
        if version != SCHEMA:
            advice = (
                "a newer nestmap wrote it, upgrade nestmap"
                if version is not None and version > SCHEMA
                else "an older nestmap wrote it, import it into a store with that version"
            )
            raise StoreError(
                f"store {folders[index]}: found Parquet parts of schema version {version}; "
                f"expected {SCHEMA}: {advice}"
            )


def _files_of(table: str, folders: Sequence[Path]) -> PartFiles:
    """The existing files of a table."""
    found = [
        (_escape_wildcards(path), i)
        for i, folder in enumerate(folders)
        for path in (
            row_parts(folder) if table == EVALUATION_ROWS else [folder / f"{table}{SUFFIX}"]
        )
        if path.exists()
    ]
    return PartFiles(tuple(path for path, _ in found), tuple(i for _, i in found))


def _escape_wildcards(path: Path) -> str:
    """The path with the wildcards of DuckDB escaped."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _read(
    connection: duckdb.DuckDBPyConnection, alias: str, table: str, folders: Sequence[Path]
) -> bool:
    """Reads the files of a table into a new one; returns whether they have rows."""
    connection.execute(_EMPTY.format(to=alias, table=table))
    files = _files_of(table, folders)
    keys = CONTENT_TABLES.get(table)
    distinct = f"DISTINCT ON ({', '.join(keys)})" if keys else ""
    if not files.paths:
        return False
    query = _READ.format(to=alias, table=table, distinct=distinct)
    execute_steadily(connection, query, files)
    return connection.fetchall() != [(0,)]


def execute_steadily(connection: duckdb.DuckDBPyConnection, query: str, files: PartFiles) -> None:
    """Runs a query over files; again if it fails and a run has replaced one of them meanwhile.

    DuckDB opens a file more than once, and may read a new file by the metadata of the old one.

    Raises:
        duckdb.Error: if it fails although no file has changed, or for the last time.
    """
    for attempt in range(_ATTEMPTS):
        before = files.stamps()
        try:
            connection.execute(query, files.parameters)
        except duckdb.Error:
            if attempt == _ATTEMPTS - 1 or files.stamps() == before:
                raise
        else:
            return


def _read_rows(connection: duckdb.DuckDBPyConnection, alias: str, folders: Sequence[Path]) -> bool:
    """Creates a view of all evaluations and returns whether some may be in it twice."""
    files = _files_of(EVALUATION_ROWS, folders)
    if not files.paths:
        connection.execute(_NO_ROWS.format(to=alias))
        return False
    paths = ", ".join(quote_literal(path) for path in files.paths)
    connection.execute(_ALL_ROWS.format(to=alias, files=paths, folders=list(files.folders)))
    overlaps = connection.execute(_OVERLAPS, {"files": list(files.paths)}).fetchall()
    return overlaps != [(0,)]


def _choose_latest(
    connection: duckdb.DuckDBPyConnection, alias: str, filled: frozenset[str]
) -> None:
    """Takes each run, search and sweep from one folder only, the one with its latest state.

    ``filled`` are the tables with rows, the only ones from which some may have to be dropped.
    """
    # searches whose run was killed after writing them and before linking them
    connection.execute(
        _DROP_ORPHANS.format(
            to=alias, table="searches", column="id", owner="run_searches", key="search"
        )
    )
    runs, linked, bred, searches, rows = (
        f"FROM {alias}.{table}"
        for table in ("runs", "run_searches", "generations", "searches", "all_rows")
    )
    choose_runs(connection, runs, linked, bred)
    choose_searches(connection, searches, rows)
    choose_sweeps(connection, f"FROM {alias}.sweeps")
    for chosen, tables in (
        ("chosen_runs", RUN_TABLES),
        ("chosen_searches", SEARCH_TABLES),
        ("chosen_sweeps", SWEEP_TABLES),
    ):
        for table in filled & tables.keys():
            column = tables[table]
            connection.execute(
                _DROP_OTHERS.format(to=alias, table=table, column=column, chosen=chosen)
            )
    for table in filled & {"results", "vector_results", "explored_layers", "schedules"}:
        connection.execute(_DROP_EARLY.format(to=alias, table=table))
    for table in filled & CONTENT_TABLES.keys() & PART_OF.keys():
        column, owner, key = PART_OF[table]
        connection.execute(
            _DROP_ORPHANS.format(to=alias, table=table, column=column, owner=owner, key=key)
        )
