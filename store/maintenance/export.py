"""A whole store as Parquet files, one for each table."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import connect_read_only, transaction
from nestmap.store.connection.database import PATIENCE, patiently
from nestmap.store.maintenance.parquet_parts import SUFFIX, told, write_table
from nestmap.store.maintenance.parquet_reader import open_parts
from nestmap.store.schema.migrate import check_schema
from nestmap.store.schema.tables import ROWS, SMALL, VERSION


def export_store(path: Path, folder: Path) -> int:
    """Writes every table of a store into a new folder; gives the bytes written.

    The folder is there only when all of it is written. It is a folder of parts: merging it into
    another store gives back what was in this one.

    Raises:
        StoreError: if the store cannot be read, or the folder exists or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(
            f"store {folder}: it exists and is not empty; expected a folder to be made: "
            "name another one"
        )
    unfinished = folder.with_name(folder.name + ".part")
    with told(folder):
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
        return open_parts(path) if path.is_dir() else connect_read_only(path)

    with closing(patiently(opening, PATIENCE)) as connection:
        check_schema(connection, str(path))
        with transaction(connection):
            for table in (VERSION, *SMALL, ROWS):
                write_table(connection, table, folder / f"{table}{SUFFIX}")
