"""How a recorded run begins, commits and ends, whatever it records."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from time import process_time
from types import TracebackType
from typing import ClassVar, Self
from uuid import UUID

import duckdb

from nestmap.model import StoreError
from nestmap.store.connection.connect import transaction
from nestmap.store.connection.database import Database
from nestmap.store.connection.interrupts import defer_interrupts
from nestmap.store.rows.run_kinds import RunStatus
from nestmap.store.rows.run_processes import forget_run
from nestmap.store.rows.run_records import RunInfo, StreamInfo
from nestmap.store.rows.runs import end_run, start_run

Write = Callable[[duckdb.DuckDBPyConnection], None]
"""Writes something in the transaction of a connection."""

Follow = Callable[[], None]
"""What follows from a commit."""


def _nothing() -> None:
    """Nothing follows."""


class StartedRun(ABC):
    """A run that is being recorded: its number in the store, its status, and its transactions.

    As a context manager it is ``done`` only if ``finish`` was called inside. Left with an
    exception it is ``failed``, and ``interrupted`` where that is Ctrl-C or there was none. What
    was recorded before is kept in each case, and the store resumes it.
    """

    MISSING: ClassVar[str]
    """What a run lacks that was left before it was done."""

    def __init__(
        self, database: Database, info: RunInfo | StreamInfo, identity: UUID, resumed: bool
    ) -> None:
        self.id, self.status = identity, RunStatus.RUNNING
        self._database, self._cpu = database, process_time()
        with self.writing() as connection:
            start_run(connection, self.id, info, resumed)

    @abstractmethod
    def _write_rest(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Writes all that waits, where the run ends."""

    def record_pipeline(self, stages: str) -> None:
        """Records the stages that run, as JSON.

        Raises:
            StoreError: if they cannot be written.
        """
        with self.writing() as connection:
            connection.execute("UPDATE runs SET pipeline = ? WHERE id = ?", [stages, self.id])

    @contextmanager
    def reading(self) -> Generator[duckdb.DuckDBPyConnection]:
        """A connection to read from."""
        with self._database.use() as connection:
            yield connection

    @contextmanager
    def writing(self, committed: Follow = _nothing) -> Generator[duckdb.DuckDBPyConnection]:
        """A connection with a transaction, which is committed at the end.

        Then ``committed`` is called; nothing interrupts the two.
        """
        with self._database.use() as connection, defer_interrupts():
            with transaction(connection):
                yield connection
            committed()

    def check_running(self) -> None:
        """Checks that the run has not ended.

        Raises:
            ValueError: if it has.
        """
        if self.status is not RunStatus.RUNNING:
            raise ValueError(f"run {self.id} is {self.status}; expected a run that is running")

    def fail(self, reason: str) -> None:
        """Writes what is pending, and ends the run as ``failed`` for that reason.

        Raises:
            StoreError: if it cannot be written.
            ValueError: if the run has ended already.
        """
        self.check_running()
        self._end(RunStatus.FAILED, reason, self._write_rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.status is not RunStatus.RUNNING:
            return
        if error is None:
            reason = f"left before it had {self.MISSING}"
            self._end(RunStatus.INTERRUPTED, reason, self._write_rest)
            return
        status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
        with suppress(StoreError):  # the error that is on its way says more
            self._end(status, str(error) or type(error).__name__, self._write_rest)

    def _finish(self, write: Write) -> None:
        """Ends the run as ``done``, together with what ``write`` writes."""
        self.check_running()
        self._end(RunStatus.DONE, None, write)

    def _end(self, status: RunStatus, reason: str | None, write: Write) -> None:
        def ended() -> None:
            self.status = status

        forget_run(self.id)
        with self.writing(ended) as connection:
            write(connection)
            end_run(connection, self.id, status, reason, process_time() - self._cpu)
