"""Which tensors there are, and which node reads which of them: edges and constants as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from nestmap.model.arrays import Ints
from nestmap.model.multicore.cn_layer import CnLayer, TensorUse
from nestmap.model.multicore.cn_workload import WITHIN_GROUP, CnWorkload
from nestmap.model.multicore.schedule import Tensors
from nestmap.model.multicore.split_options import Convention

OUTPUT_SLOT = 0
"""The slot of a node's output, and of partial sums it adds to; input ``i`` has slot ``1 + i``."""


@final
@dataclass(frozen=True, eq=False)
class Needs:
    """All tensors, and a row for each that a node reads: which node, which tensor, which slot."""

    tensors: Tensors
    node: Ints
    tensor: Ints
    slot: Ints


def needs_of(nodes: CnWorkload) -> Needs:
    """The tensors of a workload and who reads them, node by node.

    Outputs come first, a tensor for each node. An input that no node of the workload writes is
    constant: it waits off the chip, each part of it that some node reads once. In Stream's
    convention the needs of a node are in the order of their sizes, else as they come.
    """
    constants = _Constants(nodes)
    edges = nodes.edges
    data = edges.read != WITHIN_GROUP
    written = np.concatenate([_bits(layer, layer.nest.output, nodes) for layer in nodes.layers])
    node = np.concatenate((constants.readers, edges.consumer[data]))
    tensor = np.concatenate((constants.read, edges.producer[data]))
    slot = np.concatenate((constants.slots, np.maximum(edges.read[data] + 1, OUTPUT_SLOT)))
    bits = np.concatenate((written, constants.bits))
    by_size = bits[tensor] if nodes.convention is Convention.STREAM else np.zeros_like(tensor)
    order = np.lexsort((np.where(tensor < len(nodes), tensor, -1), by_size, node))
    count = len(nodes)
    tensors = Tensors(
        node=np.concatenate((np.arange(count), constants.first)),
        operand=np.concatenate((np.zeros(count, dtype=np.int64), constants.operands)),
        bits=bits,
    )
    return Needs(tensors, node[order], tensor[order], slot[order])


def _bits(layer: CnLayer, use: TensorUse, nodes: CnWorkload) -> Ints:
    return layer.bits_of(use, nodes.convention)


@final
class _Constants:
    """The inputs that no node writes, each different part of one once, and who reads them."""

    def __init__(self, nodes: CnWorkload) -> None:
        self._count = len(nodes)
        columns = [list(column) for column in zip(*self._all(nodes), strict=True)]
        empty = np.zeros(0, dtype=np.int64)
        joined = [np.concatenate(column) for column in columns] or [empty] * 6
        self.readers, self.read, self.slots, self.first, self.operands, self.bits = joined

    def _all(self, nodes: CnWorkload) -> Iterator[tuple[Ints, ...]]:
        """For each operand: its readers, what they read, their slots; the parts that there are."""
        fed = _fed(nodes)
        for row, (layer, begin) in enumerate(zip(nodes.layers, nodes.first.tolist(), strict=False)):
            for place, use in enumerate(layer.nest.inputs):
                if (row, place) in fed:
                    continue
                first, part = _parts(layer, use, nodes.convention)
                count = layer.tiling.count
                yield (
                    begin + np.arange(count),
                    self._count + part,
                    np.full(count, 1 + place),
                    begin + first,
                    np.full(len(first), 1 + place),
                    _bits(layer, use, nodes)[first],
                )
                self._count += len(first)


def _fed(nodes: CnWorkload) -> set[tuple[int, int]]:
    """The inputs (row of the layer, place) that other nodes write."""
    edges = nodes.edges
    data = edges.read >= 0
    layer = np.searchsorted(nodes.first, edges.consumer[data], side="right") - 1
    pairs = np.unique(np.stack((layer, edges.read[data])), axis=1)
    return {(int(row), int(place)) for row, place in pairs.T}


def _parts(layer: CnLayer, use: TensorUse, convention: Convention) -> tuple[Ints, Ints]:
    """The first node that reads each different part of an operand, and the part of each node."""
    ranges = [column for axis in use.axes for column in layer.range_of(axis, convention)]
    ranges += [layer.bits_of(use, convention)]
    _, first, part = np.unique(np.stack(ranges), axis=1, return_index=True, return_inverse=True)
    return first, part.reshape(-1)
