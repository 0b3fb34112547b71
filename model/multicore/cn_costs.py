"""Costs of computation nodes on cores: a table with one row per kind of node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from nestmap.model.arrays import Floats, Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand
from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.units import Bits, Cycles, PicoJoules

INFEASIBLE: Final = -1
"""The runtime of a node on a core that cannot run it."""


class CnCost(Frozen, frozen=True):
    """The cost of a computation node on a core.

    Attributes:
        runtime: cycles from its start, when its inputs are available, to its end, with on-loading.
        onchip_energy: pJ in the core.
        offchip_energy: pJ in the off-chip memory, for streamed operands.
        streamed: operands too large for the core's memory: they pass between the core and the
            off-chip memory while the node runs.
        read_rate, write_rate: bit/cycle from and to the off-chip memory while it runs.
    """

    runtime: Cycles
    onchip_energy: PicoJoules
    offchip_energy: PicoJoules = 0.0
    streamed: tuple[LayerOperand, ...] = ()
    read_rate: Bits = 0
    write_rate: Bits = 0


class RecordedCost(Frozen, frozen=True):
    """The cost of a kind of node on a core, as recorded for reuse.

    ``cost`` is ``None`` if the core cannot run it. ``cme`` is the evaluation of the mapping behind
    it, if any.
    """

    cost: CnCost | None
    cme: CostModelEvaluation | None = None


@final
@dataclass(frozen=True, eq=False)
class CnCosts:
    """The costs of all nodes of a workload; nodes of one kind cost the same on the same core.

    Arrays have one row per kind and one column per core; ``kind`` is the row of each node,
    ``cores`` are the ids of the columns. Runtimes are in cycles, energies in pJ, rates in
    bit/cycle. ``streamed`` is a bit mask: bit 0 is set if the output is streamed, bit ``1 + i`` if
    input ``i`` is.
    """

    kind: Ints
    cores: tuple[CoreId, ...]
    runtime: Ints
    onchip: Floats
    offchip: Floats
    streamed: Ints
    read_rate: Ints
    write_rate: Ints

    def column(self, core: CoreId) -> int:
        """The column of a core.

        Raises:
            ValueError: if there is none.
        """
        return self.cores.index(core)

    def is_feasible(self, kind: int, core: CoreId) -> bool:
        """Whether nodes of that kind can run on a core."""
        return bool(self.runtime[kind, self.column(core)] != INFEASIBLE)
