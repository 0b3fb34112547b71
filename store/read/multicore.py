"""Runs of several cores read back: what they have found so far."""

from __future__ import annotations

from uuid import UUID

import duckdb

from nestmap.model import Frozen
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.bound import StreamBound
from nestmap.model.multicore.population import Generation, Individual
from nestmap.store.rows.generations import read_bound, read_generation
from nestmap.store.rows.runs import read_stream_info

_REPORTED = "SELECT allocation FROM schedules WHERE run = ?"


class RecordedStream(Frozen, frozen=True):
    """What a run of several cores has found so far.

    ``generation`` is the newest one; where nothing but constraints has searched, it has what these
    have found. ``bound`` is what they say, ``reported`` the allocation whose schedule is recorded,
    once the run is done.
    """

    generation: Generation
    bound: StreamBound | None
    reported: Allocation | None

    @property
    def front(self) -> tuple[Individual, ...]:
        """The allocations that no other one beats."""
        return self.generation.front


def read_stream(connection: duckdb.DuckDBPyConnection, run: UUID) -> RecordedStream:
    """What a run of several cores has found so far.

    Raises:
        StoreError: if there is no such run, or it is one of one core.
    """
    read_stream_info(connection, run)
    bound = read_bound(connection, run)
    reported: list[tuple[list[int]]] = connection.execute(_REPORTED, [run]).fetchall()
    return RecordedStream(
        generation=read_generation(connection, run) or _of_constraints(bound),
        bound=bound,
        reported=tuple(reported[0][0]) if reported else None,
    )


def _of_constraints(bound: StreamBound | None) -> Generation:
    best = (bound.best,) if bound and bound.best else ()
    evaluations = bound.evaluations if bound else 0
    return Generation(number=0, population=best, front=best, evaluations=evaluations)
