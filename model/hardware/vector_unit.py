"""The vector unit, and the cost of one operator on it."""

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.units import Area, Bits, Count, Cycles, PicoJoules, Size


class VectorUnit(Frozen, frozen=True):
    """SIMD lanes that execute pooling, activations, normalizations and similar operators.

    Each of the ``lanes`` executes one scalar operation per cycle for ``operation_energy`` pJ. The
    unit reads from and writes to ``memory``; ``None``: the outermost memory that holds outputs.
    ``area`` is the area of all lanes.
    """

    lanes: Size
    operation_energy: PicoJoules
    memory: str | None = None
    area: Area = 0.0


class VectorEvaluation(Frozen, frozen=True):
    """The cost of one vector operator: operations, memory traffic, pJ and cycles.

    Words are accesses of a port's full width. Without a vector unit ``operation_energy`` and
    ``compute_cycles`` are 0: only the traffic counts. ``static_energy`` is the leakage energy while
    it runs, if the accelerator counts leakage.
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
        """Energy of operations, traffic and, if it is counted, leakage, in pJ."""
        return self.operation_energy + self.memory_energy + self.static_energy

    @property
    def latency(self) -> Cycles:
        """Cycles of computation and traffic, which overlap."""
        return max(self.compute_cycles, self.traffic_cycles)
