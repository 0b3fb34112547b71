"""The export of a store as Parquet files, one per table."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import connect_read_only_unrestricted, transaction
from nestmap.store.connection.database import PATIENCE, open_with_retry
from nestmap.store.maintenance.parquet_parts import SUFFIX, wrap_folder_errors, write_table
from nestmap.store.maintenance.parquet_reader import open_parts
from nestmap.store.schema.migrate import check_schema, check_tables
from nestmap.store.schema.tables import EVALUATION_ROWS, SMALL_TABLES, VERSION_TABLE


def export_store(path: Path, folder: Path) -> int:
    """Writes every table of a store into a new folder and returns the number of bytes written.

    The folder appears only once it is complete. It is a folder of Parquet parts: merging it into
    another store restores the content of this one.

    Raises:
        StoreError: if the store cannot be read, or the folder exists or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(
            f"store {folder}: it exists and is not empty; expected a new or empty folder: name "
            "another one"
        )
    unfinished = folder.with_name(folder.name + ".part")
    with wrap_folder_errors(folder):
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        try:
            _write(path, unfinished)
            os.replace(unfinished, folder)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        return sum(file.stat().st_size for file in folder.iterdir())


def _write(path: Path, folder: Path) -> None:
    def opening() -> duckdb.DuckDBPyConnection:
        return open_parts(path) if path.is_dir() else connect_read_only_unrestricted(path)

    with closing(open_with_retry(opening, PATIENCE)) as connection:
        check_schema(connection, str(path))
        if not path.is_dir():
            check_tables(connection, str(path))
        with transaction(connection):
            for table in (VERSION_TABLE, *SMALL_TABLES, EVALUATION_ROWS):
                write_table(connection, table, folder / f"{table}{SUFFIX}")
