"""How a recorded run begins, commits and ends, whatever it records."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from time import process_time
from typing import final
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


@final
class RunLifecycle:
    """The status of a run that is being recorded, and its transactions.

    A run is ``done`` only if ``finish`` was called. Left with an exception it is ``failed``, and
    ``interrupted`` where that is Ctrl-C or there was none.
    """

    def __init__(self, database: Database, identity: UUID) -> None:
        self.id = identity
        self.status = RunStatus.RUNNING
        self._database = database
        self._cpu = process_time()

    def begin(self, info: RunInfo | StreamInfo, resumed: bool) -> None:
        """Writes that the run begins, or continues.

        Raises:
            StoreError: if that cannot be written.
        """
        with self.writing() as connection:
            start_run(connection, self.id, info, resumed)

    def record_pipeline(self, stages: str) -> None:
        """Writes the stages that run, as JSON.

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

    def finish(self, write: Write) -> None:
        """Ends the run as ``done``, together with what ``write`` writes.

        Raises:
            StoreError: if it cannot be written.
            ValueError: if the run has ended already.
        """
        self.check_running()
        self._end(RunStatus.DONE, None, write)

    def fail(self, reason: str, write: Write) -> None:
        """Ends the run as ``failed`` for that reason, together with what ``write`` writes.

        Raises:
            StoreError: if it cannot be written.
            ValueError: if the run has ended already.
        """
        self.check_running()
        self._end(RunStatus.FAILED, reason, write)

    def leave(self, error: BaseException | None, missing: str, write: Write) -> None:
        """Ends a run that was left before it had ``missing``; does nothing if it has ended."""
        if self.status is not RunStatus.RUNNING:
            return
        if error is None:
            self._end(RunStatus.INTERRUPTED, f"left before it had {missing}", write)
            return
        status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
        with suppress(StoreError):  # the error that is on its way says more
            self._end(status, str(error) or type(error).__name__, write)

    def _end(self, status: RunStatus, reason: str | None, write: Write) -> None:
        def ended() -> None:
            self.status = status

        forget_run(self.id)
        with self.writing(ended) as connection:
            write(connection)
            end_run(connection, self.id, status, reason, process_time() - self._cpu)
