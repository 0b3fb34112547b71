"""A run of several cores being recorded: costs of nodes, each generation, at the end a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final
from uuid import UUID

import duckdb

from nestmap.model.multicore.allocation import Generation, Individual, StreamBound
from nestmap.model.multicore.cn_costs import RecordedCost
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.store.connection.database import Database
from nestmap.store.record.lifecycle import StartedRun
from nestmap.store.rows.core_costs import link_costs, read_costs, write_costs
from nestmap.store.rows.generations import (
    read_bound,
    read_generation,
    read_scheduled,
    write_bound,
    write_generation,
)
from nestmap.store.rows.run_records import StreamInfo
from nestmap.store.rows.schedules import write_problem, write_schedule


@final
class StreamRun(StartedRun):
    """A run on several cores that is being recorded: costs of nodes, generations, a schedule."""

    MISSING = "a schedule"

    def __init__(
        self, database: Database, info: StreamInfo, identity: UUID, resumed: bool = False
    ) -> None:
        super().__init__(database, info, identity, resumed)
        self.info = info

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """What nodes cost on cores, of those keys that any run has found before.

        Raises:
            StoreError: if the store cannot be read or written.
        """
        with self.writing() as connection:
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
        with self.writing() as connection:
            write_costs(connection, costs)
            link_costs(connection, self.id, list(costs), recalled=False)

    def record_problem(self, problem: ScheduleProblem) -> None:
        """Writes what is scheduled: the layers, and what their nodes cost.

        Raises:
            StoreError: if it cannot be written.
        """
        with self.writing() as connection:
            write_problem(connection, self.id, problem)

    def newest_generation(self) -> Generation | None:
        """The generation that was recorded last, if there is one."""
        with self.reading() as connection:
            return read_generation(connection, self.id)

    def scheduled_individuals(self) -> tuple[Individual, ...]:
        """All allocations that were scheduled in the recorded generations."""
        with self.reading() as connection:
            return read_scheduled(connection, self.id)

    def record_generation(self, generation: Generation) -> None:
        """Writes a generation that has come to its end.

        Raises:
            StoreError: if it cannot be written.
        """
        with self.writing() as connection:
            write_generation(connection, self.id, generation)

    def bound(self) -> StreamBound | None:
        """What the search by constraints has found, if it has come to its end."""
        with self.reading() as connection:
            return read_bound(connection, self.id)

    def record_bound(self, found: StreamBound) -> None:
        """Writes what the search by constraints has found.

        Raises:
            StoreError: if it cannot be written.
        """
        with self.writing() as connection:
            write_bound(connection, self.id, found)

    def finish(self, schedule: Schedule) -> None:
        """Writes the schedule that is reported, and ends the run as ``done``.

        Raises:
            StoreError: if it cannot be written.
            ValueError: if the run has ended already.
        """
        self._finish(lambda connection: write_schedule(connection, self.id, schedule))

    def _write_rest(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Nothing waits."""
