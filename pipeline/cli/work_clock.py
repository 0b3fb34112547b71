"""Measures the time that is spent on work, for rates that do not count anything else."""

from __future__ import annotations

from time import perf_counter
from typing import final


@final
class WorkClock:
    """Splits time into work, compiling, and the rest, each up to the moment of a call."""

    def __init__(self) -> None:
        self._last = self._began = perf_counter()
        self.work = 0.0
        self.compiling = 0.0
        self.is_compiling = False

    def restart(self) -> None:
        """Work begins now; what went before does not count, except for compiling."""
        self._began = perf_counter()
        self._last = self._began
        self.work = 0.0

    def add_work(self) -> None:
        """The time since the last call was work."""
        self.work += self._since_last()

    def begin_compiling(self) -> None:
        """Compiling begins; the time since the last call was something else."""
        self.skip()
        self.is_compiling = True

    def end_compiling(self) -> None:
        """The time since the last call was spent on compiling, which is over."""
        seconds = self._since_last()
        self.compiling += seconds
        self._began += seconds
        self.is_compiling = False

    def skip(self) -> None:
        """The time since the last call was something else."""
        self._since_last()

    @property
    def elapsed(self) -> float:
        """Seconds since the restart, without compiling."""
        return perf_counter() - self._began

    def per_second(self, number: int) -> float | None:
        """A number per second of work; ``None`` where there was none."""
        return number / self.work if number and self.work > 0 else None

    def _since_last(self) -> float:
        now = perf_counter()
        seconds, self._last = now - self._last, now
        return seconds
