"""Kinds of computation nodes: equivalence classes of nodes with the same costs on every core."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import final

from pydantic import Field

from nestmap.model.arrays import Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand, Loop
from nestmap.model.mapping.dataflow import Dataflow
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.cn_costs import CnCosts, RecordedCost
from nestmap.model.multicore.problem import SplitProblem
from nestmap.model.units import Bits, Count, PositiveCount
from nestmap.model.workload.layer import InputOperand, OutputOperand


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
