"""What a run records in a store, and whether it reuses earlier results."""

from __future__ import annotations

from enum import StrEnum

from nestmap.model.base import Frozen
from nestmap.model.units import PositiveCount


class RecordMode(StrEnum):
    """Which evaluations a store records.

    ``best`` records the Pareto front of each search in energy and latency.
    """

    ALL = "all"
    BEST = "best"
    NONE = "none"


class Recording(Frozen, frozen=True):
    """How a run uses a store.

    ``record`` selects the evaluations to record; after ``limit`` of them, only the best of each
    search are recorded. A ``fresh`` run recomputes everything, including what the store has
    already. Results, and what later runs need for reuse, are recorded in any mode.
    """

    record: RecordMode = RecordMode.ALL
    limit: PositiveCount | None = None
    fresh: bool = False

    @property
    def needs(self) -> RecordMode:
        """The least that must be recorded of an earlier search for it to be reused."""
        return RecordMode.BEST if self.limit and self.record is RecordMode.ALL else self.record
