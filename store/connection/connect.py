"""DuckDB connections and transactions, with errors that say what to do."""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.errors import is_full, wrap_errors

if sys.platform != "win32":
    import fcntl

# --- texts as parts of SQL statements ---


def quote_literal(text: str) -> str:
    """The text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(text: str) -> str:
    """The text as an SQL identifier."""
    return '"' + text.replace('"', '""') + '"'


_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,  # a table name in SQL is never a Python variable
    "autoinstall_known_extensions": False,  # never reach for the network
    "autoload_known_extensions": False,
}
# Inserts need no more memory, and searches need the rest; queries spill to disk. Blocks of 64 KiB
# instead of 256 KiB make a small store 1.5 MB instead of 5 MB, and a large one no slower.
_WRITING = {**_CONFIG, "memory_limit": "128MB", "threads": 2, "default_block_size": 65536}


@contextmanager
def lock_folder(path: Path) -> Generator[None]:
    """Waits until no other process opens or closes a file of the folder, and lets none meanwhile.

    DuckDB (2.0.0) reads the header of a file before it locks the file: what another process commits
    in between, and closes, would be overwritten. All that open a file, or close one that they have
    written, therefore do so here. Windows locks no folders: there the gap is left, as it is for
    programs that open a store without nestmap.
    """
    if sys.platform == "win32":
        yield
        return
    with ExitStack() as stack:
        with suppress(OSError):  # some folders cannot be read, some file systems lock none
            folder = os.open(path.resolve().parent, os.O_RDONLY)
            stack.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
            # forked processes have the descriptor, too: closing it here is not enough
            stack.callback(fcntl.flock, folder, fcntl.LOCK_UN)
        yield


@contextmanager
def closing_written(
    connection: duckdb.DuckDBPyConnection, path: Path
) -> Generator[duckdb.DuckDBPyConnection]:
    """Closes a connection to a file that it may have written, at the end."""
    try:
        yield connection
    finally:
        with lock_folder(path):
            connection.close()


_RESTRICTING: Final = Lock()
"""Connections of one process to a file share its settings, which are made once."""


def connect(path: Path | None) -> duckdb.DuckDBPyConnection:
    """A connection for reading and writing; ``None``: a database in memory.

    Statements on a file that exists reach no other file; for a new one, see :func:`restrict`.

    Raises:
        StoreError: if the file cannot be created or opened, or is not a DuckDB file.
    """
    if path is None:
        return duckdb.connect(":memory:", config=_CONFIG)
    old = path.exists()
    connection = connect_unrestricted(path)
    if old:
        restrict(connection, path)
    return connection


def restrict(connection: duckdb.DuckDBPyConnection, path: Path, memory: int | None = None) -> None:
    """Lets statements on a connection reach no file but that of the database, from now on.

    Views and macros of somebody else's store then read no files, and cannot allow it again.
    """
    with _RESTRICTING:
        if query_number(connection, "SELECT current_setting('lock_configuration')::INTEGER"):
            return
        if memory is not None:
            connection.execute(f"SET memory_limit = '{memory}MB'; SET temp_directory = ''")
        connection.execute(f"SET allowed_paths = [{', '.join(_log_files(path.resolve()))}]")
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")


def _log_files(path: Path) -> Iterator[str]:
    """The log files that DuckDB does not allow by itself, as SQL.

    It writes endings before a question mark in a path, but allows them behind.
    """
    start, mark, rest = str(path).partition("?")
    if mark:
        for end in (".wal", ".wal.checkpoint", ".wal.recovery"):
            yield quote_literal(f"{start}{end}?{rest}")


def connect_unrestricted(path: Path) -> duckdb.DuckDBPyConnection:
    """Like :func:`connect`, for statements that copy between files.

    Raises:
        StoreError: as :func:`connect` does.
    """
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
                f"store {path}: {needed} is read-only; expected a writable file and folder: change "
                "the permissions or name another file"
            )
    new = not path.exists()
    try:
        with wrap_errors(str(path)), lock_folder(path):
            return duckdb.connect(path.resolve(), config=_WRITING)
    except StoreError as error:
        if new and is_full(error):
            path.unlink(missing_ok=True)  # the file has no valid header
        raise


def connect_read_only(path: Path, memory: int | None = None) -> duckdb.DuckDBPyConnection:
    """A read-only connection, whose statements reach no other file.

    With ``memory`` (MB) they use no more than that, and no disk beyond it. All connections of a
    process to a file share its settings: the first one makes them.

    Raises:
        StoreError: if there is no such file, it cannot be opened, or is not a DuckDB file.
    """
    connection = connect_read_only_unrestricted(path)
    restrict(connection, path, memory)
    return connection


def connect_read_only_unrestricted(path: Path) -> duckdb.DuckDBPyConnection:
    """Like :func:`connect_read_only`, for statements that copy to other files.

    Raises:
        StoreError: as :func:`connect_read_only` does.
    """
    if not path.exists():
        raise StoreError(
            f"store {path}: no such file; expected a store that nestmap explore wrote: run it "
            "first, or name another file"
        )
    _check_file(path)
    with wrap_errors(str(path)), lock_folder(path):
        return duckdb.connect(path.resolve(), read_only=True, config=_CONFIG)


def checkpoint_log(path: Path) -> None:
    """Writes the log of a closed database into its file, if possible.

    Closing a file normally does that, but not after a full disk has truncated it.
    """
    if path.with_name(path.name + ".wal").exists():
        with (
            lock_folder(path),
            suppress(duckdb.Error),  # disk full, or open in another process: the log remains
            closing(duckdb.connect(path.resolve(), config=_WRITING)) as connection,
        ):
            connection.execute("CHECKPOINT")


def _check_file(path: Path) -> None:
    """Checks a file without opening it.

    If this process has the file open in DuckDB, opening and closing it here would release DuckDB's
    lock, because locks belong to the process. (For the same reason each file is always opened under
    the same name.)
    """
    if not path.is_file():
        what = "a folder" if path.is_dir() else "not a regular file"
        raise StoreError(f"store {path}: found {what}; expected a DuckDB file: name another one")
    if not os.access(path, os.R_OK):
        raise StoreError(
            f"store {path}: it is not readable; expected a readable file: change the permissions "
            "or name another file"
        )


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Generator[None]:
    """Commits everything inside together, or nothing."""
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
        return  # DuckDB ended the transaction itself; report the first error


def query_number(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """The single number that a query returns."""
    rows: list[tuple[int]] = connection.execute(sql).fetchall()
    return rows[0][0]
