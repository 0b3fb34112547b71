"""A DuckDB database that is opened on use and closed when idle.

DuckDB allows one process to write a file, or several to read it. A file that is open only while it
is used can be shared: other processes can read what a long run has written so far.
"""

import atexit
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import final
from weakref import WeakSet

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import lock_folder
from nestmap.store.connection.errors import is_locked, wrap_content_errors, wrap_errors
from nestmap.store.connection.interrupts import limit_time

PATIENCE = 10.0
"""How long to wait for another process that has the file open (s)."""

LONGEST_USE = 2.0
"""The longest time (s) of continuous use after which the file is released for a moment."""

_IDLE_SECONDS = 0.25
_WRITER_PATIENCE_FACTOR = 12
_RETRY_SECONDS = 0.01


@final
class Database:
    """A connection that opens on use.

    One to a file closes after a quarter of a second without use, and after two seconds of use in
    any case; it waits up to ``patience`` (s) while another process has the file open. Without a
    ``path`` it is in memory. A use that takes longer than ``time_limit`` (s) is interrupted.
    """

    def __init__(
        self,
        path: Path | None,
        opening: Callable[[], duckdb.DuckDBPyConnection],
        patience: float,
        time_limit: float | None = None,
    ) -> None:
        self.name = "in memory" if path is None else str(path)
        self.process = os.getpid()
        self._opening = opening
        self._path = path
        self._patience = patience
        self._time_limit = time_limit
        self._lock = threading.RLock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._watch: threading.Timer | None = None
        self._watched = False
        self._users = 0
        self._opened = self._used = monotonic()

    @contextmanager
    def use(self) -> Generator[duckdb.DuckDBPyConnection]:
        """The connection, for one thread at a time.

        Raises:
            StoreError: if the file cannot be opened, DuckDB reports an error, or the use takes too
                long.
        """
        self._check_process()
        with self._lock, wrap_errors(self.name):
            connection = self._open()
            self._users += 1
            try:
                with limit_time(connection, self.name, self._time_limit):
                    yield connection
            finally:
                self._users -= 1
                self._used = monotonic()
                self._release_if_due()

    @contextmanager
    def read(self) -> Generator[duckdb.DuckDBPyConnection]:
        """The connection, to read models from the store.

        Raises:
            StoreError: as :meth:`use` does, or if no models can be built from what is stored.
        """
        with self.use() as connection, wrap_content_errors(self.name):
            yield connection

    def extend_patience(self) -> None:
        """Waits for other processes twelve times as long from now on, to avoid losing work."""
        self._patience *= _WRITER_PATIENCE_FACTOR

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        with self._lock:
            watch, in_use = self._watch, self._users > 0
            self._close_connection()
        # DuckDB reports a leak if the program ends while the other thread has the connection.
        if watch is not None and not in_use:
            watch.join()

    def _close_connection(self) -> None:
        """Closes the connection; the caller holds the lock."""
        if self._watch is not None:
            self._watch.cancel()
        self._watched = False
        connection, self._connection = self._connection, None
        if connection is not None:
            _OPEN.discard(self)
            locked = nullcontext() if self._path is None else lock_folder(self._path)
            with wrap_errors(self.name), locked:
                connection.close()

    def _check_process(self) -> None:
        """Rejects forked processes: their copy of the connection must not touch the file."""
        if os.getpid() != self.process:
            raise StoreError(
                f"store {self.name}: opened by process {self.process}; expected a store opened by "
                f"this process, {os.getpid()}: open it here"
            )

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = open_with_retry(self._opening, self._patience)
            _OPEN.add(self)
            self._opened = monotonic()
        return self._connection

    def _release_if_due(self) -> None:
        if self._users or self._path is None:
            return
        if self._used - self._opened > LONGEST_USE:
            self._close_connection()
        elif not self._watched:
            self._start_idle_timer(_IDLE_SECONDS)

    def _start_idle_timer(self, seconds: float) -> None:
        self._watch = threading.Timer(seconds, self._close_if_idle)
        self._watch.daemon = True
        self._watched = True
        self._watch.start()

    def _close_if_idle(self) -> None:
        with self._lock:
            if threading.current_thread() is not self._watch or self._connection is None:
                return
            left = _IDLE_SECONDS - (monotonic() - self._used)
            if left > 0:
                self._start_idle_timer(left)
            else:
                with suppress(StoreError):  # no caller to report it to; commits are safe
                    self._close_connection()


_OPEN: WeakSet[Database] = WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes open databases at exit; otherwise DuckDB reports a leak."""
    for database in list(_OPEN):
        if database.process == os.getpid():
            database.close()


def open_with_retry(
    opening: Callable[[], duckdb.DuckDBPyConnection], patience: float
) -> duckdb.DuckDBPyConnection:
    """The connection that ``opening`` opens, retried while another process has the file open.

    Raises:
        StoreError: if the file is still locked after ``patience`` (s), or cannot be opened for
            another reason.
    """
    end = monotonic() + patience
    while True:
        try:
            return opening()
        except StoreError as error:
            if not is_locked(error) or monotonic() > end:
                raise
        sleep(_RETRY_SECONDS)
