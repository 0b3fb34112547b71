"""What computation nodes cost on the cores: a table with a row for each kind of node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from nestmap.model.arrays import Floats, Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand
from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.units import Bits, Cycles, PicoJoules

IMPOSSIBLE: Final = -1
"""The runtime of a node on a core that it cannot run on."""


class CnCost(Frozen, frozen=True):
    """What a computation node costs on a core.

    Attributes:
        runtime: cycles from its start, when its inputs are there, to its end, with on-loading.
        onchip_energy: pJ in the core.
        offchip_energy: pJ in the memory off the chip, for operands that are streamed.
        streamed: operands that are too large for the core's memory: they pass between the core and
            the memory off the chip while the node runs.
        read_rate, write_rate: bit/cycle from and to the memory off the chip while it runs.
    """

    runtime: Cycles
    onchip_energy: PicoJoules
    offchip_energy: PicoJoules = 0.0
    streamed: tuple[LayerOperand, ...] = ()
    read_rate: Bits = 0
    write_rate: Bits = 0


class KnownCost(Frozen, frozen=True):
    """What is known of a kind of node on a core, to be kept for later explorations.

    Without a ``cost`` it cannot run there. ``cme`` is the mapping behind it, if there is one.
    """

    cost: CnCost | None
    cme: CostModelEvaluation | None = None


@final
@dataclass(frozen=True, eq=False)
class CnCosts:
    """The costs of all nodes of a workload: nodes of one kind cost the same on the same core.

    ``kind`` is the row of each node, ``cores`` are the numbers of the columns' cores. ``streamed``
    has bits: bit 0 is set where the output is streamed, bit ``1 + i`` where input ``i`` is.
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
            ValueError: where there is none.
        """
        return self.cores.index(core)

    def is_possible(self, kind: int, core: CoreId) -> bool:
        """Whether nodes of that kind can run on a core."""
        return bool(self.runtime[kind, self.column(core)] != IMPOSSIBLE)
