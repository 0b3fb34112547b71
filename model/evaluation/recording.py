"""What a run keeps of what it evaluates."""

from __future__ import annotations

from enum import StrEnum

from nestmap.model.base import Frozen
from nestmap.model.units import PositiveCount


class RecordMode(StrEnum):
    """Which evaluations a store keeps.

    ``best`` are, of each search, those that no other one beats in energy and latency at once.
    """

    ALL = "all"
    BEST = "best"
    NONE = "none"


class Recording(Frozen, frozen=True):
    """How a run uses a store.

    ``record`` says which evaluations it keeps; once it has kept ``limit`` of them, only the best of
    each search. A ``fresh`` run computes everything anew, also what the store knows already.
    Results, and what is needed to do nothing twice, are kept in any case.
    """

    record: RecordMode = RecordMode.ALL
    limit: PositiveCount | None = None
    fresh: bool = False

    @property
    def needs(self) -> RecordMode:
        """What must have been recorded of a search that need not be done again."""
        return RecordMode.BEST if self.limit and self.record is RecordMode.ALL else self.record
