"""What the search of a layer may spend: work, and time if the user limits it."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import final

from nestmap.costmodel.kernel.jit import seconds_compiling

LABELS_OF_A_SEARCH = 3_000
"""Labels that take as long as the tables of a spatial mapping that is searched on its own."""

LABELS_OF_A_ROW = 300
"""The same of one that kernels search."""

LABELS_OF_AN_ENERGY_ROW = 100
"""The same where energy is all that counts, and a sum: it has one table instead of many."""


@final
class SearchClock:
    """Tells when a limit of seconds is over; without one, never.

    Compiling kernels does not count: a first search has as much time as a later one.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = inf if seconds is None else seconds
        self._began = self._now

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self._seconds < inf and self.left <= 0

    @property
    def left(self) -> float:
        """The seconds left."""
        return self._seconds - (self._now - self._began)

    def part(self, parts: int) -> SearchClock:
        """A clock for one of so many equal parts of the seconds left."""
        return SearchClock(self.left / parts)

    @property
    def _now(self) -> float:
        return monotonic() - seconds_compiling()


@final
class Effort:
    """The work and the time that the searches of a layer may still take together.

    Work is counted in labels of the exact search, so where it ends does not depend on the machine.
    """

    def __init__(self, labels: int, seconds: float | None = None) -> None:
        self.labels = labels
        self.clock = SearchClock(seconds)

    def spend(self, labels: int) -> None:
        """Counts work."""
        self.labels -= labels

    @property
    def is_spent(self) -> bool:
        """Whether no further search may begin."""
        return self.labels <= 0 or self.clock.is_late
