"""What a run records in a store, and whether it reuses earlier results."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from nestmap.model.base import Frozen
from nestmap.model.units import PositiveCount

RECORD_LIMIT: Final = 1_000_000
"""Evaluations of a search that are recorded at most unless another limit is given: 25 MB."""


class RecordMode(StrEnum):
    """Which evaluations a store records.

    ``best`` records the Pareto front of each search in energy and latency.
    """

    ALL = "all"
    BEST = "best"
    NONE = "none"


class Recording(Frozen, frozen=True):
    """How a run uses a store.

    ``record`` selects the evaluations to record; after ``limit`` of them in a search, only its best
    are recorded (``None``: no limit). A ``fresh`` run recomputes everything, including what the
    store has already. Results, and what later runs need for reuse, are recorded in any mode.
    """

    record: RecordMode = RecordMode.ALL
    limit: PositiveCount | None = RECORD_LIMIT
    fresh: bool = False
