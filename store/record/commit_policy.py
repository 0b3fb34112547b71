"""When evaluations that wait to be written are committed."""

from __future__ import annotations

from time import monotonic
from typing import final

ROW_GROUP = 122_880
"""Evaluations committed together, or a multiple: DuckDB's row group.

It writes these straight to the file; a few rows more and it takes twice the time and the room.
"""

MIN_COMMIT_INTERVAL = 1.0
"""Seconds since the last commit after which the end of a search is committed."""

MAX_COMMIT_INTERVAL = 5.0
"""Seconds after which all that waits is committed, also in the middle of a search."""


@final
class CommitPolicy:
    """When to commit, by the number of evaluations that wait and the time since the last commit."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Something was committed."""
        self._last = monotonic()

    def due(self, waiting: int) -> int | None:
        """How many of the evaluations to commit in the middle of a search; ``None``: no commit."""
        if waiting >= ROW_GROUP:
            return waiting - waiting % ROW_GROUP
        return waiting if self._elapsed > MAX_COMMIT_INTERVAL else None

    @property
    def is_due_after_search(self) -> bool:
        """Whether to commit where a search has ended."""
        return self._elapsed > MIN_COMMIT_INTERVAL

    @property
    def _elapsed(self) -> float:
        return monotonic() - self._last
