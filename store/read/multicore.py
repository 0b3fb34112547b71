"""Multi-core runs read back: the state of their search."""

from __future__ import annotations

from uuid import UUID

import duckdb

from nestmap.model import Frozen
from nestmap.model.multicore.allocation import Allocation, Generation, Individual, StreamBound
from nestmap.store.rows.generations import read_bound, read_generation
from nestmap.store.rows.runs import read_stream_info

_REPORTED = "SELECT allocation FROM schedules WHERE run = ?"


class RecordedStream(Frozen, frozen=True):
    """The state of the search of a multi-core run.

    ``generation`` is the newest one; if only the constraint engine ran, it holds the result of that
    engine. ``bound`` is the result of the constraint engine, ``reported`` the allocation whose
    schedule is recorded once the run is done.
    """

    generation: Generation
    bound: StreamBound | None
    reported: Allocation | None

    @property
    def front(self) -> tuple[Individual, ...]:
        """The Pareto-optimal allocations."""
        return self.generation.front


def read_stream(connection: duckdb.DuckDBPyConnection, run: UUID) -> RecordedStream:
    """The state of the search of a multi-core run.

    Raises:
        StoreError: if there is no such run, or it is a single-core run.
    """
    read_stream_info(connection, run)
    bound = read_bound(connection, run)
    reported: list[tuple[list[int]]] = connection.execute(_REPORTED, [run]).fetchall()
    return RecordedStream(
        generation=read_generation(connection, run) or _constraint_generation(bound),
        bound=bound,
        reported=tuple(reported[0][0]) if reported else None,
    )


def _constraint_generation(bound: StreamBound | None) -> Generation:
    best = (bound.best,) if bound and bound.best else ()
    evaluations = bound.evaluations if bound else 0
    return Generation(number=0, population=best, front=best, evaluations=evaluations)
