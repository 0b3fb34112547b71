"""Kinds of computation nodes, and their costs on cores: a table with one row per kind."""

from dataclasses import dataclass
from math import prod
from typing import Final, final

from pydantic import Field

from nestmap.model.arrays import Floats, Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand, Loop
from nestmap.model.evaluation.cme import CostModelEvaluation
from nestmap.model.mapping.dataflow import Dataflow
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.problem import SplitProblem
from nestmap.model.units import Bits, Count, Cycles, PicoJoules, PositiveCount
from nestmap.model.workload.layer import InputOperand, OutputOperand

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


# Kinds of computation nodes: equivalence classes of nodes with the same costs on every core


class CnKind(Frozen, frozen=True):
    """What determines the cost of a node: its loops, operands, and the bits it holds on a core.

    ``held`` are bits: of the output, then of each input; for an input that other nodes produce,
    their whole output, if that is more. Each iteration does ``operations``. A ``vector`` operator
    may have more inputs than a core has memory operands. Mappings have the ``dataflow``.
    """

    operator: str = Field(min_length=1)
    loops: tuple[Loop, ...] = Field(min_length=1)
    output: OutputOperand
    inputs: tuple[InputOperand, ...] = Field(min_length=1)
    held: tuple[Bits, ...]
    operations: PositiveCount = 1
    vector: bool = False
    dataflow: Dataflow | None = None

    @property
    def operands(self) -> tuple[LayerOperand, ...]:
        """The names of the output and of the inputs."""
        return (self.output.name, *(operand.name for operand in self.inputs))

    @property
    def iterations(self) -> Count:
        """Iterations of all loops."""
        return prod(loop.size for loop in self.loops)


@final
@dataclass(frozen=True, eq=False)
class CnKinds:
    """The kinds of the nodes of a workload.

    ``kind`` is the kind of each node, ``first`` the index of the first node of each kind.
    """

    kinds: tuple[CnKind, ...]
    kind: Ints
    first: Ints

    def __len__(self) -> int:
        return len(self.kinds)


@final
@dataclass(frozen=True, eq=False)
class CoreCosts:
    """A split network and the costs of its nodes on the cores, with the mappings behind them.

    Keys are a kind and a core id. ``known`` has the cost of each feasible pair; ``refused`` has the
    reason for infeasible pairs that the constraints allow.
    """

    split: SplitProblem
    kinds: CnKinds
    costs: CnCosts
    recorded: dict[tuple[int, CoreId], RecordedCost]
    infeasible: dict[tuple[int, CoreId], str]

    def cost_of(self, place: int, core: CoreId) -> RecordedCost | None:
        """The cost on a core of the node with index ``place``; ``None`` if it cannot run there."""
        return self.recorded.get((int(self.kinds.kind[place]), core))
