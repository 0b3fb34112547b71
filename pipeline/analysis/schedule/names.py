"""Names the parts of a schedule: nodes, tensors, memories, kinds of transfers."""

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from nestmap.model.dims import Dimension
from nestmap.model.multicore.allocation import Allocation, AllocationSpace
from nestmap.model.multicore.cn_layer import CnLayer
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.model.multicore.top_memories import TopMemories, TopMemory
from nestmap.pipeline.analysis.schedule.tables import BarKind, StallReason
from nestmap.pipeline.format.palette import GREYS, TRANSFERS, WAITS, Look

Ints = NDArray[np.int64]

KINDS: Final = {
    TransferKind.CONSTANT: "from off the chip",
    TransferKind.ACTIVATION: "between cores",
    TransferKind.EVICTION: "evicted",
    TransferKind.RESULT: "result",
}
"""The names of the kinds of transfers."""

STREAMED: Final = "streamed"
"""The name of off-chip streaming."""


@final
class ScheduleNames:
    """The names of a schedule's nodes, tensors, memories and channels, and their layers."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        problem = schedule.problem
        self.nodes = problem.nodes
        self.homes = TopMemories(accelerator=problem.accelerator)
        self.ways = Interconnect(accelerator=problem.accelerator)

    @cached_property
    def layer_of(self) -> Ints:
        """The position of each node's layer in the list of layers."""
        first = self.nodes.first_nodes
        return np.repeat(np.arange(len(self.nodes.layers)), np.diff(first))

    def layer(self, node: int) -> CnLayer:
        """The layer of a node."""
        return self.nodes.layers[int(self.layer_of[node])]

    def number(self, node: int) -> int:
        """The number of a node in its layer."""
        return node - int(self.nodes.first_nodes[self.layer_of[node]])

    def node(self, node: int) -> str:
        """The name of a node: layer number, number in the layer, layer name."""
        nest = self.layer(node).nest
        return f"{nest.number}.{self.number(node)} {nest.name}"

    def ranges(self, node: int) -> str:
        """The range of each split loop: ``OY 4:8, K 0:32``; empty if the layer is not split."""
        tiling, number = self.layer(node).tiling, self.number(node)
        return ", ".join(
            f"{d} {tiling.starts(d)[number]}:{tiling.ends(d)[number]}"
            for d in tiling.sizes
            if tiling.tiles[d] > 1
        )

    def operand(self, tensor: int) -> str:
        """The operand of the node that a tensor is counted with."""
        operand, nest = int(self.schedule.tensors.operand[tensor]), self._owner(tensor).nest
        return nest.inputs[operand - 1].operand if operand else nest.output.operand

    def tensor(self, tensor: int) -> str:
        """The name of a tensor: an operand of a node, or of a node group that shares a constant."""
        node = int(self.schedule.tensors.node[tensor])
        layer = self._owner(tensor)
        if self.schedule.tensors.operand[tensor] == 0:
            return f"{self.operand(tensor)} of {self.node(node)}"
        group = int(layer.groups[self.number(node)])
        return f"{self.operand(tensor)} of {layer.nest.number} {layer.nest.name}, group {group}"

    def _owner(self, tensor: int) -> CnLayer:
        return self.layer(int(self.schedule.tensors.node[tensor]))

    def core(self, number: int) -> str:
        """The number and name of a core."""
        return f"{number} {self.schedule.problem.accelerator.core(number).name}"

    @property
    def memories(self) -> tuple[TopMemory, ...]:
        """The memories to which residencies and transfers refer by position."""
        return self.homes.memories

    def path(self, sending: int, receiving: int) -> tuple[int, ...]:
        """The channels between two cores; none without a route or with a shared memory."""
        return () if sending == receiving else self.ways.path(sending, receiving)

    def onchip(self, node: int) -> float:
        """The energy of a node in its core, in pJ."""
        return float(self.schedule.problem.costs.onchip[self._place(node)])

    def offchip(self, node: int) -> float:
        """The off-chip energy of a node's streamed operands, in pJ."""
        return float(self.schedule.problem.costs.offchip[self._place(node)])

    def _place(self, node: int) -> tuple[int, int]:
        costs = self.schedule.problem.costs
        return int(costs.kind[node]), costs.column(int(self.schedule.core[node]))


# --- the looks of what a schedule does: nodes, transfers by kind, idle times by reason ---

_SENT: Final = (
    BarKind.CONSTANT,
    BarKind.ACTIVATION,
    BarKind.EVICTION,
    BarKind.RESULT,
    BarKind.STREAM,
)
KIND_LOOKS: Final = {
    BarKind.NODE: Look(GREYS[0]),
    **{kind: Look(color) for kind, color in zip(_SENT, TRANSFERS, strict=True)},
}
"""Nodes without the colour of their layer are grey."""

STALL_LOOKS: Final = {reason: Look(color) for reason, color in zip(StallReason, WAITS, strict=True)}


# --- tiles of layers, and cores of allocations ---


def tiles_text(layer: CnLayer) -> str:
    """The tiling of a layer, innermost loop first: ``OY 4 of 14, last 11; K 2 of 32``."""
    cut = dict.fromkeys(loop.dimension for loop in layer.outer)
    return "; ".join(_tiles(layer, d) for d in cut if layer.tiling.tiles[d] > 1) or "whole"


def _tiles(layer: CnLayer, dimension: Dimension) -> str:
    tiling, real = layer.tiling, layer.nest.sizes[dimension]
    size, count_, whole = (x[dimension] for x in (tiling.tile_size, tiling.tiles, tiling.sizes))
    last = whole - (count_ - 1) * size
    text = f"{dimension} {count_:,} of {size:,}"
    if last < size:
        text += f", last {last:,}"
    return text + (f", padded from {real:,}" if whole > real else "")


def allocation_text(allocation: Allocation, space: AllocationSpace) -> str:
    """The cores of each layer with a choice, by its number: ``0: core 1; 4: cores 2 0 2``."""
    pairs = zip(space.groups, allocation, strict=True)
    some = ((gene.layer, core) for gene, core in pairs if len(gene.cores) > 1)
    texts: list[str] = []
    for layer, group in groupby(some, key=lambda pair: pair[0]):
        cores = [core for _, core in group]
        texts.append(f"{layer}: {_cores_text(cores)}")
    return "; ".join(texts) or "no layer has a choice"


def _cores_text(cores: Sequence[int]) -> str:
    if len(set(cores)) == 1:
        return f"core {cores[0]}"
    return f"cores {' '.join(map(str, cores))}"
