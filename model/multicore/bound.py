"""The result of the constraint engine: a lower bound on latency, and the best allocation."""

from __future__ import annotations

from nestmap.model.base import Frozen
from nestmap.model.multicore.population import Individual
from nestmap.model.units import Count, Cycles


class StreamBound(Frozen, frozen=True):
    """A lower bound (cycles) on the latency of every schedule, and the best allocation found.

    ``proven``: no allocation has a lower latency than ``best``. ``evaluations`` is the number of
    allocations scheduled.
    """

    best: Individual | None
    bound: Cycles
    proven: bool
    evaluations: Count

    @property
    def gap(self) -> float:
        """The largest share of the latency that a better allocation could save; 1 without any."""
        if self.proven:
            return 0.0
        if self.best is None or self.best.fitness is None:
            return 1.0
        latency = self.best.fitness.latency
        return (latency - self.bound) / latency if latency else 0.0
