"""Kinds of computation nodes: what those have in common that cost the same on every core."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import final

from pydantic import Field

from nestmap.model.arrays import Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand, Loop
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.cn_costs import CnCosts, KnownCost
from nestmap.model.multicore.problem import SplitProblem
from nestmap.model.units import Bits, Count, PositiveCount
from nestmap.model.workload.layer import InputOperand, OutputOperand


class CnKind(Frozen, frozen=True):
    """The loops of a node, the operands that they touch, and what a core holds while they run.

    ``held`` are bits: of the output, then of each input; of an input that other nodes make it is
    all that these make, where that is more. ``operations`` are done in each iteration. A ``vector``
    operator may have more inputs than a core has memory operands for.
    """

    operator: str = Field(min_length=1)
    loops: tuple[Loop, ...] = Field(min_length=1)
    output: OutputOperand
    inputs: tuple[InputOperand, ...] = Field(min_length=1)
    held: tuple[Bits, ...]
    operations: PositiveCount = 1
    vector: bool = False

    @property
    def operands(self) -> tuple[LayerOperand, ...]:
        """The names of the output and of the inputs."""
        return (self.output.name, *(operand.name for operand in self.inputs))

    @property
    def iterations(self) -> Count:
        """Of all loops together."""
        return prod(loop.size for loop in self.loops)


@final
@dataclass(frozen=True, eq=False)
class CnKinds:
    """The kinds of the nodes of a workload.

    ``kind`` is that of each node, ``first`` the place of the first node of each kind.
    """

    kinds: tuple[CnKind, ...]
    kind: Ints
    first: Ints

    def __len__(self) -> int:
        return len(self.kinds)


@final
@dataclass(frozen=True, eq=False)
class CoreCosts:
    """A split network and what its nodes cost on the cores, with the mappings behind that.

    ``known`` has a cost for each kind and core (its number) where there is one, ``refused`` says
    why there is none on a core that some layer with such nodes may run on.
    """

    split: SplitProblem
    kinds: CnKinds
    costs: CnCosts
    known: dict[tuple[int, CoreId], KnownCost]
    refused: dict[tuple[int, CoreId], str]

    def of(self, place: int, core: CoreId) -> KnownCost | None:
        """What the node at that place costs on a core; ``None``: it cannot run there."""
        return self.known.get((int(self.kinds.kind[place]), core))
