"""A DuckDB database that is open while it is used, and let go of when it is not.

DuckDB lets one process write a file, or several read it. Who holds a file only while it does
something with it leaves it to others in between: they can read what a long run has written so far.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import final
from weakref import WeakSet

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.errors import explained, is_locked

PATIENCE = 10.0
"""How long to wait for another process that has the file open (s)."""

LONGEST = 2.0
"""After so many seconds of work in one go the file is free for a moment."""

_IDLE = 0.25
_LONGER = 12
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
        self.process = os.getpid()
        self._opening = opening
        self._shared = shared
        self._patience = patience
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
            StoreError: if the file cannot be opened, or something goes wrong in DuckDB.
        """
        self._check_process()
        with self._lock, explained(self.name):
            connection = self._open()
            self._users += 1
            try:
                yield connection
            finally:
                self._users -= 1
                self._used = monotonic()
                self._leave()

    def wait_longer(self) -> None:
        """Waits for others twelve times as long from now on: work would be lost otherwise."""
        self._patience *= _LONGER

    def close(self) -> None:
        """Lets go of the file; whoever uses it again opens it again."""
        with self._lock:
            watch, in_use = self._watch, self._users > 0
            self._let_go()
        # A program that ends while the other thread still has the connection is told of a leak.
        if watch is not None and not in_use:
            watch.join()

    def _let_go(self) -> None:
        """Closes the connection, for who has the lock."""
        if self._watch is not None:
            self._watch.cancel()
        self._watched = False
        connection, self._connection = self._connection, None
        if connection is not None:
            _OPEN.discard(self)
            with explained(self.name):
                connection.close()

    def _check_process(self) -> None:
        """A process that was forked has a copy of the connection, which must not touch the file."""
        if os.getpid() != self.process:
            raise StoreError(
                f"store {self.name}: process {self.process} has opened it; expected a store that "
                f"this process, {os.getpid()}, has opened: open it here"
            )

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = patiently(self._opening, self._patience)
            _OPEN.add(self)
            self._opened = monotonic()
        return self._connection

    def _leave(self) -> None:
        if self._users or not self._shared:
            return
        if self._used - self._opened > LONGEST:
            self._let_go()
        elif not self._watched:
            self._watch_idleness(_IDLE)

    def _watch_idleness(self, seconds: float) -> None:
        self._watch = threading.Timer(seconds, self._close_if_idle)
        self._watch.daemon = True
        self._watched = True
        self._watch.start()

    def _close_if_idle(self) -> None:
        with self._lock:
            if threading.current_thread() is not self._watch or self._connection is None:
                return
            left = _IDLE - (monotonic() - self._used)
            if left > 0:
                self._watch_idleness(left)
            else:
                with suppress(StoreError):  # nobody is here to hear it; what is committed is safe
                    self._let_go()


_OPEN: WeakSet[Database] = WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes what nobody has closed: at the end of the program, DuckDB complains of it."""
    for database in list(_OPEN):
        if database.process == os.getpid():
            database.close()


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
