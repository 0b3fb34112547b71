"""The result of the constraint engine: a lower bound on latency, and the best allocation."""

from __future__ import annotations

from nestmap.model.base import Frozen
from nestmap.model.multicore.population import Individual
from nestmap.model.units import Count, Cycles


class StreamBound(Frozen, frozen=True):
    """The best allocation that was scheduled, and how far from the optimum it may be.

    Attributes:
        best: the one of least latency; ``None``: none of those that were tried can be scheduled.
        bound: no allocation has a lower latency (cycles).
        proven: whether no allocation has a lower latency than ``best``, or none can be scheduled.
        evaluations: how many allocations were scheduled.
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
