"""Shares query processes fairly: a client's hungry queries stop no other client's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, LifoQueue
from threading import Lock, Semaphore
from typing import Final, final

from nestmap.model import StoreError
from nestmap.store.sandbox.process import QuerySandbox, SandboxQuery, SandboxResult

PROCESSES: Final = 2
"""The number of processes; each runs one query at a time, of different clients."""

MOST_WAITING: Final = 2
"""The number of queries that a client may have at a time: one that runs, and one that waits."""

_PATIENCE: Final = 3.0


@final
class BusyError(StoreError):
    """A query was not run, because others run; it may be in a moment."""


@final
class SandboxPool:
    """Answers queries of several clients about one store; close it at the end.

    The first process starts at once, the others when they are needed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started = [QuerySandbox(path)]
        self._idle = LifoQueue[QuerySandbox | None]()
        for _ in range(PROCESSES - 1):
            self._idle.put(None)
        self._idle.put(self._started[0])
        self._lock = Lock()
        self._waiting = Counter[str]()
        self._turns: dict[str, Semaphore] = {}

    def run(self, query: SandboxQuery, client: str) -> SandboxResult:
        """The answer to a query of a client.

        Raises:
            BusyError: if the client has two queries already, or every process is busy for longer
                than a query may take.
            StoreError: as :meth:`QuerySandbox.run` does.
        """
        patience = query.limits.seconds + _PATIENCE
        with self._turn(client, patience):
            try:
                sandbox = self._idle.get(timeout=patience)
            except Empty:
                raise BusyError(
                    "query: queries of others are running; expected a free process: try again"
                ) from None
            try:
                sandbox = sandbox or self._start()
                return sandbox.run(query)
            finally:
                self._idle.put(sandbox)

    def close(self) -> None:
        """Kills the processes."""
        with self._lock:
            started = tuple(self._started)
        for sandbox in started:
            sandbox.close()

    def _start(self) -> QuerySandbox:
        with self._lock:
            sandbox = QuerySandbox(self._path)
            self._started.append(sandbox)
            return sandbox

    @contextmanager
    def _turn(self, client: str, patience: float) -> Generator[None]:
        """Waits until no other query of the client runs."""
        with self._lock:
            if self._waiting[client] >= MOST_WAITING:
                raise BusyError(
                    f"query: {MOST_WAITING} of your queries are running or waiting; expected fewer "
                    "at a time: wait for their answers, then try again"
                )
            self._waiting[client] += 1
            turn = self._turns.setdefault(client, Semaphore())
        try:
            if not turn.acquire(timeout=patience):
                raise BusyError(
                    "query: another query of yours is still running; expected one at a time: try "
                    "again"
                )
            try:
                yield
            finally:
                turn.release()
        finally:
            with self._lock:
                self._waiting[client] -= 1
                if not self._waiting[client]:
                    del self._waiting[client], self._turns[client]
