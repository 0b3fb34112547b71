"""A DuckDB database that is open while it is used, and let go of when it is not.

DuckDB lets one process write a file, or several read it. Who holds a file only while it does
something with it leaves it to others in between: they can read what a long run has written so far.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import final

import duckdb

from nestmap.model import StoreError
from nestmap.store.errors import explained, is_locked

LONGEST = 1.0
"""After so many seconds of work in one go the file is free for a moment."""

_IDLE = 0.25
_RETRY = 0.01


@final
class Database:
    """A connection that opens itself when somebody uses it.

    Where it is ``shared`` it closes itself when nobody has used it for a quarter of a second, and
    after a second in any case; it waits for others as long as it has ``patience`` (s).
    """

    def __init__(
        self,
        name: str,
        opening: Callable[[], duckdb.DuckDBPyConnection],
        shared: bool,
        patience: float,
    ) -> None:
        self.name = name
        self._opening = opening
        self._shared = shared
        self._patience = patience
        self._lock = threading.RLock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._watch: threading.Timer | None = None
        self._users = 0
        self._opened = self._used = monotonic()

    @contextmanager
    def use(self) -> Generator[duckdb.DuckDBPyConnection]:
        """The connection, for one thread at a time.

        Raises:
            StoreError: if the file cannot be opened, or something goes wrong in DuckDB.
        """
        with self._lock, explained(self.name):
            connection = self._open()
            self._users += 1
            try:
                yield connection
            finally:
                self._users -= 1
                self._used = monotonic()
                self._leave()

    def close(self) -> None:
        """Lets go of the file; whoever uses it again opens it again."""
        with self._lock:
            if self._watch is not None:
                self._watch.cancel()
                self._watch = None
            if self._connection is not None:
                with explained(self.name):
                    self._connection.close()
                self._connection = None

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = patiently(self._opening, self._patience)
            self._opened = monotonic()
        return self._connection

    def _leave(self) -> None:
        if self._users or not self._shared:
            return
        if self._used - self._opened > LONGEST:
            self.close()
        elif self._watch is None:
            self._watch_idleness(_IDLE)

    def _watch_idleness(self, seconds: float) -> None:
        self._watch = threading.Timer(seconds, self._close_if_idle)
        self._watch.daemon = True
        self._watch.start()

    def _close_if_idle(self) -> None:
        with self._lock:
            left = _IDLE - (monotonic() - self._used)
            self._watch = None
            if self._connection is None:
                return
            if left > 0:
                self._watch_idleness(left)
            else:
                self.close()


def patiently(
    opening: Callable[[], duckdb.DuckDBPyConnection], patience: float
) -> duckdb.DuckDBPyConnection:
    """What ``opening`` opens; tried again for so many seconds while another process has it open.

    Raises:
        StoreError: if it stays locked, or cannot be opened for another reason.
    """
    end = monotonic() + patience
    while True:
        try:
            return opening()
        except StoreError as error:
            if not is_locked(error) or monotonic() > end:
                raise
        sleep(_RETRY)
