"""Opening a DuckDB file, with a clear word where that cannot be done, and transactions in it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from nestmap.model import StoreError
from nestmap.store.errors import explained

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,  # a table name in SQL is never a Python variable
    "autoinstall_known_extensions": False,  # never reach for the network
}
# Inserting needs no more, and the search that is recorded wants the rest; a query spills to disk.
# Blocks of 64 KiB instead of 256 KiB make a small store 1.5 MB instead of 5, a large one no slower.
_WRITING = {
    **_CONFIG,
    "memory_limit": "128MB",
    "threads": 2,
    "default_block_size": 65536,
}
_MAGIC = slice(8, 12)


def connect(path: Path | None) -> duckdb.DuckDBPyConnection:
    """A connection for reading and writing; ``None``: a database in memory.

    Raises:
        StoreError: if the file cannot be made or opened, or is not a DuckDB file.
    """
    if path is None:
        return duckdb.connect(":memory:", config=_CONFIG)
    if path.exists():
        _check_file(path)
    elif not path.parent.is_dir():
        raise StoreError(
            f"store {path}: folder {path.parent} does not exist; expected an existing folder: "
            "make it, or name another file"
        )
    for needed in (path.parent, path):
        if needed.exists() and not os.access(needed, os.W_OK):
            raise StoreError(
                f"store {path}: {needed} is read-only; expected a file and a folder that may be "
                "written: change the permissions or name another file"
            )
    with explained(str(path)):
        return duckdb.connect(path.absolute(), config=_WRITING)


def connect_read_only(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection that cannot change anything.

    Raises:
        StoreError: if there is no such file, it cannot be opened, or is not a DuckDB file.
    """
    if not path.exists():
        raise StoreError(
            f"store {path}: no such file; expected a store that nestmap explore wrote: run it "
            "first, or name another file"
        )
    _check_file(path)
    with explained(str(path)):
        return duckdb.connect(path.absolute(), read_only=True, config=_CONFIG)


def _check_file(path: Path) -> None:
    if not path.is_file():
        what = "a folder" if path.is_dir() else "not a regular file"
        raise StoreError(f"store {path}: found {what}; expected a DuckDB file: name another one")
    try:
        with path.open("rb") as file:
            head = file.read(_MAGIC.stop)
    except OSError as error:
        raise StoreError(
            f"store {path}: {error.strerror}; expected a file that may be read: change the "
            "permissions or name another file"
        ) from None
    if head[_MAGIC] != b"DUCK":
        raise StoreError(
            f"store {path}: found a file that is not a DuckDB database; expected one, or no file "
            "at all: name another file"
        )


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Generator[None]:
    """Everything inside is committed together, or not at all."""
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    try:
        connection.rollback()
    except duckdb.Error:
        return  # DuckDB has ended the transaction itself; the first error is the one to report


def number(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """The one number that the query gives."""
    rows: list[tuple[int]] = connection.execute(sql).fetchall()
    return rows[0][0]
