"""What a search by constraints says of all schedules of a network on several cores."""

from __future__ import annotations

from nestmap.model.base import Frozen
from nestmap.model.multicore.population import Individual
from nestmap.model.units import Count, Cycles


class StreamBound(Frozen, frozen=True):
    """That no schedule is shorter than ``bound`` cycles, and the best that was found.

    ``proven``: no allocation has a lower latency than ``best``. So many ``evaluations`` were
    scheduled on the way.
    """

    best: Individual | None
    bound: Cycles
    proven: bool
    evaluations: Count

    @property
    def gap(self) -> float:
        """The share of the latency that a better allocation could save at most; 1 without any."""
        if self.proven:
            return 0.0
        if self.best is None or self.best.fitness is None:
            return 1.0
        latency = self.best.fitness.latency
        return (latency - self.bound) / latency if latency else 0.0
