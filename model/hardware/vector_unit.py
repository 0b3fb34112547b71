"""The vector unit beside the array: what it can do, and what an operator on it costs."""

from __future__ import annotations

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.units import Area, Bits, Count, Cycles, PicoJoules, Size


class VectorUnit(Frozen, frozen=True):
    """Scalar units that compute pooling, activations, normalizations and the like.

    Each of the ``lanes`` does one scalar operation a cycle for ``operation_energy`` pJ. The unit
    reads from and writes to ``memory``; ``None``: the outermost memory that holds outputs.
    ``area`` is that of all lanes.
    """

    lanes: Size
    operation_energy: PicoJoules
    memory: str | None = None
    area: Area = 0.0


class VectorEvaluation(Frozen, frozen=True):
    """What one vector operator costs: operations, traffic with a memory, pJ and cycles.

    Words are accesses of a port's full width. Without a vector unit ``operation_energy`` and
    ``compute_cycles`` are 0: only the traffic counts. ``static_energy`` is what leaks meanwhile,
    where the accelerator counts it.
    """

    node: str = Field(min_length=1)
    operator: str = Field(min_length=1)
    memory: str
    operations: Count
    bits_read: Bits
    bits_written: Bits
    words_read: Count
    words_written: Count
    operation_energy: PicoJoules
    memory_energy: PicoJoules
    compute_cycles: Cycles
    traffic_cycles: Cycles
    static_energy: PicoJoules = 0.0

    @property
    def energy(self) -> PicoJoules:
        """Energy of operations and traffic, and what leaks where that counts, in pJ."""
        return self.operation_energy + self.memory_energy + self.static_energy

    @property
    def latency(self) -> Cycles:
        """Cycles of computation and traffic, which overlap."""
        return max(self.compute_cycles, self.traffic_cycles)
