"""A run of several cores being recorded: costs of nodes, each generation, at the end a schedule."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import process_time
from types import TracebackType
from typing import final
from uuid import UUID

import duckdb

from nestmap.model import StoreError
from nestmap.model.multicore.bound import StreamBound
from nestmap.model.multicore.cn_costs import KnownCost
from nestmap.model.multicore.population import Generation, Individual
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.store.connection.connect import transaction
from nestmap.store.connection.database import Database
from nestmap.store.record.run import AfterCommit, no_more
from nestmap.store.rows.core_costs import link_costs, read_costs, write_costs
from nestmap.store.rows.generations import (
    read_bound,
    read_generation,
    read_scheduled,
    write_bound,
    write_generation,
)
from nestmap.store.rows.run_records import RunStatus, StreamInfo
from nestmap.store.rows.runs import begin_run, end_run, let_go
from nestmap.store.rows.schedules import write_problem, write_schedule


@final
class StreamRun:
    """A run that is being recorded; :meth:`nestmap.store.Store.start_stream` gives one.

    As a context manager it is ``done`` only if ``finish`` was called inside. Left with an
    exception it is ``failed``, and ``interrupted`` where that is Ctrl-C or there was none. What
    was recorded before is kept in each case, and :meth:`nestmap.store.Store.resume_stream` goes on.
    """

    def __init__(
        self,
        database: Database,
        info: StreamInfo,
        identity: UUID,
        resumed: bool = False,
        after_commit: AfterCommit = no_more,
    ) -> None:
        self.id = identity
        self.info = info
        self.status = RunStatus.RUNNING
        self._database = database
        self._after_commit = after_commit
        self._cpu = process_time()
        with self._writing() as connection:
            begin_run(connection, self.id, info, resumed)

    def recall(self, keys: Sequence[str]) -> Mapping[str, KnownCost]:
        """What nodes cost on cores, of those keys that any run has found before.

        Raises:
            StoreError: if the store cannot be read or written.
        """
        with self._writing() as connection:
            known = read_costs(connection, keys)
            link_costs(connection, self.id, list(known), recalled=True)
        return known

    def keep(self, costs: Mapping[str, KnownCost]) -> None:
        """Writes what nodes cost on cores.

        Raises:
            StoreError: if they cannot be written.
        """
        if not costs:
            return
        with self._writing() as connection:
            write_costs(connection, costs)
            link_costs(connection, self.id, list(costs), recalled=False)

    def begin(self, problem: ScheduleProblem) -> None:
        """Writes what is scheduled: the layers, and what their nodes cost.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._writing() as connection:
            write_problem(connection, self.id, problem)

    def newest(self) -> Generation | None:
        """The generation that was recorded last, if there is one."""
        with self._database.use() as connection:
            return read_generation(connection, self.id)

    def scheduled(self) -> tuple[Individual, ...]:
        """All allocations that were scheduled in the recorded generations."""
        with self._database.use() as connection:
            return read_scheduled(connection, self.id)

    def record(self, generation: Generation) -> None:
        """Writes a generation that has come to its end.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._writing() as connection:
            write_generation(connection, self.id, generation)

    def bound(self) -> StreamBound | None:
        """What the search by constraints has found, if it has come to its end."""
        with self._database.use() as connection:
            return read_bound(connection, self.id)

    def record_bound(self, found: StreamBound) -> None:
        """Writes what the search by constraints has found.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._writing() as connection:
            write_bound(connection, self.id, found)

    def finish(self, schedule: Schedule) -> None:
        """Writes the schedule that is reported, and ends the run as ``done``.

        Raises:
            StoreError: if it cannot be written.
            ValueError: if the run has ended already.
        """
        if self.status is not RunStatus.RUNNING:
            raise ValueError(f"run {self.id} is {self.status}; expected a run that is running")
        self._end(RunStatus.DONE, None, schedule)

    def __enter__(self) -> StreamRun:
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
            self._end(RunStatus.INTERRUPTED, "left before it had a schedule", None)
            return
        status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
        with suppress(StoreError):  # the error that is on its way says more
            self._end(status, str(error) or type(error).__name__, None)

    def _end(self, status: RunStatus, reason: str | None, schedule: Schedule | None) -> None:
        let_go(self.id)
        with self._writing() as connection:
            if schedule is not None:
                write_schedule(connection, self.id, schedule)
            end_run(connection, self.id, status, reason, process_time() - self._cpu)
        self.status = status

    @contextmanager
    def _writing(self) -> Generator[duckdb.DuckDBPyConnection]:
        with self._database.use() as connection:
            with transaction(connection):
                yield connection
            self._after_commit(connection)
