"""The writer of Parquet parts: runs on several machines record to one folder without a database.

Each run has its own folder, named by its id, with one file per table, and numbered files for its
evaluations. Files are always complete: each is written under another name first.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final
from uuid import UUID

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import query_number
from nestmap.store.connection.errors import wrap_errors
from nestmap.store.connection.quote import quote_name
from nestmap.store.schema.tables import EVALUATION_ROWS, SEARCH_TABLES, SMALL_TABLES, VERSION_TABLE

SUFFIX: Final = ".parquet"
_UNFINISHED = ".part"
# Rows of these change; the other tables only grow.
_CHANGING = frozenset({"runs", "run_searches", "sweeps", *SEARCH_TABLES})


def row_parts(folder: Path) -> list[Path]:
    """The files with the evaluations of one run, in the order of writing."""
    return sorted(folder.glob(f"{EVALUATION_ROWS}*{SUFFIX}"))


@final
class PartsWriter:
    """Writes the commits of one run into its folder of Parquet parts.

    Creates the folder if necessary; for a resumed run, numbering continues.

    Raises:
        StoreError: if the folder cannot be created or read.
    """

    def __init__(self, folder: Path, run: UUID) -> None:
        self.folder = folder / str(run)
        self._written: dict[str, int] = {}
        with wrap_folder_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            parts = row_parts(self.folder)
        self._next = 1 + max((_part_number(part) for part in parts), default=0)

    def write(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Writes the new rows of a store in memory, and deletes its evaluations.

        Evaluations are written first, and rows before the rows that refer to them, so that readers
        of the folder always find what a row refers to. Call it outside of a transaction.

        Raises:
            StoreError: if it cannot be written. Earlier parts are unchanged; the next call writes
                what is missing.
        """
        with wrap_folder_errors(self.folder):
            self._write_rows(connection)
            for table in (VERSION_TABLE, *reversed(SMALL_TABLES)):
                self._write_table(connection, table)

    def _write_rows(self, connection: duckdb.DuckDBPyConnection) -> None:
        if not query_number(connection, f"SELECT count(*) FROM {EVALUATION_ROWS}"):
            return
        write_table(
            connection, EVALUATION_ROWS, self.folder / f"{EVALUATION_ROWS}-{self._next:06}{SUFFIX}"
        )
        self._next += 1
        connection.execute(f"DELETE FROM {EVALUATION_ROWS}")

    def _write_table(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        rows = query_number(connection, f"SELECT count(*) FROM {table}")
        if table in _CHANGING or self._written.get(table) != rows:
            write_table(connection, table, self.folder / f"{table}{SUFFIX}")
            self._written[table] = rows


def write_table(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Writes all rows of a table to a file; on an error the file is unchanged."""
    unfinished = path.with_name(path.name + _UNFINISHED)
    try:
        connection.table(quote_name(table)).write_parquet(str(unfinished), compression="zstd")
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def wrap_folder_errors(folder: Path) -> Generator[None]:
    """Turns errors with a folder of parts into a :class:`StoreError`."""
    try:
        with wrap_errors(str(folder)):
            yield
    except OSError as error:
        raise StoreError(
            f"store {folder}: {error.strerror}; expected a readable and writable folder: change "
            "the permissions, free some space, or name another folder"
        ) from None


def _part_number(part: Path) -> int:
    digits = part.name.removeprefix(f"{EVALUATION_ROWS}-").removesuffix(SUFFIX)
    return int(digits) if digits.isdecimal() else 0
