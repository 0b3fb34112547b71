"""A run of several cores being recorded: costs of nodes, each generation, at the end a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import final
from uuid import UUID

from nestmap.model.multicore.allocation import Generation, Individual, StreamBound
from nestmap.model.multicore.cn_costs import RecordedCost
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.store.connection.database import Database
from nestmap.store.record.lifecycle import RunLifecycle
from nestmap.store.rows.core_costs import link_costs, read_costs, write_costs
from nestmap.store.rows.generations import (
    read_bound,
    read_generation,
    read_scheduled,
    write_bound,
    write_generation,
)
from nestmap.store.rows.run_kinds import RunStatus
from nestmap.store.rows.run_records import StreamInfo
from nestmap.store.rows.schedules import write_problem, write_schedule


@final
class StreamRun:
    """A run that is being recorded; :meth:`nestmap.store.Store.start_stream` gives one.

    As a context manager it is ``done`` only if ``finish`` was called inside. Left with an
    exception it is ``failed``, and ``interrupted`` where that is Ctrl-C or there was none. What
    was recorded before is kept in each case, and :meth:`nestmap.store.Store.resume_stream` goes on.
    """

    def __init__(
        self, database: Database, info: StreamInfo, identity: UUID, resumed: bool = False
    ) -> None:
        self.info = info
        self._lifecycle = RunLifecycle(database, identity)
        self._lifecycle.begin(info, resumed)

    @property
    def id(self) -> UUID:
        """Names the run in the store."""
        return self._lifecycle.id

    @property
    def status(self) -> RunStatus:
        """Whether the run has ended, and how."""
        return self._lifecycle.status

    def record_pipeline(self, stages: str) -> None:
        """Records the stages that run, as JSON.

        Raises:
            StoreError: if they cannot be written.
        """
        self._lifecycle.record_pipeline(stages)

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """What nodes cost on cores, of those keys that any run has found before.

        Raises:
            StoreError: if the store cannot be read or written.
        """
        with self._lifecycle.writing() as connection:
            known = read_costs(connection, keys)
            link_costs(connection, self.id, list(known), recalled=True)
        return known

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Writes what nodes cost on cores.

        Raises:
            StoreError: if they cannot be written.
        """
        if not costs:
            return
        with self._lifecycle.writing() as connection:
            write_costs(connection, costs)
            link_costs(connection, self.id, list(costs), recalled=False)

    def record_problem(self, problem: ScheduleProblem) -> None:
        """Writes what is scheduled: the layers, and what their nodes cost.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._lifecycle.writing() as connection:
            write_problem(connection, self.id, problem)

    def newest_generation(self) -> Generation | None:
        """The generation that was recorded last, if there is one."""
        with self._lifecycle.reading() as connection:
            return read_generation(connection, self.id)

    def scheduled_individuals(self) -> tuple[Individual, ...]:
        """All allocations that were scheduled in the recorded generations."""
        with self._lifecycle.reading() as connection:
            return read_scheduled(connection, self.id)

    def record_generation(self, generation: Generation) -> None:
        """Writes a generation that has come to its end.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._lifecycle.writing() as connection:
            write_generation(connection, self.id, generation)

    def bound(self) -> StreamBound | None:
        """What the search by constraints has found, if it has come to its end."""
        with self._lifecycle.reading() as connection:
            return read_bound(connection, self.id)

    def record_bound(self, found: StreamBound) -> None:
        """Writes what the search by constraints has found.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._lifecycle.writing() as connection:
            write_bound(connection, self.id, found)

    def finish(self, schedule: Schedule) -> None:
        """Writes the schedule that is reported, and ends the run as ``done``.

        Raises:
            StoreError: if it cannot be written.
            ValueError: if the run has ended already.
        """
        self._lifecycle.finish(lambda connection: write_schedule(connection, self.id, schedule))

    def __enter__(self) -> StreamRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lifecycle.leave(error, "a schedule", lambda connection: None)
