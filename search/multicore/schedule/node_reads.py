"""The tensors of a workload and the nodes that read them, from edges and constants, as columns.

Slot 0 is a node's output, slot ``1 + i`` its input ``i``; sizes are in bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from nestmap.model import Counting
from nestmap.model.arrays import Ints
from nestmap.model.multicore.cn_layer import CnLayer, TensorUse
from nestmap.model.multicore.cn_workload import WITHIN_GROUP, CnWorkload
from nestmap.model.multicore.schedule import ScheduledTensors

OUTPUT_SLOT = 0
"""The slot of a node's output and of the partial sums it accumulates; input ``i`` has ``1 + i``."""


@final
@dataclass(frozen=True, eq=False)
class NodeReads:
    """All tensors, and one row per read: node, tensor, slot."""

    tensors: ScheduledTensors
    node: Ints
    tensor: Ints
    slot: Ints


def node_reads(nodes: CnWorkload) -> NodeReads:
    """The tensors of a workload and their readers, node by node.

    Outputs come first, one tensor for each node. An input that no node of the workload writes is a
    constant in off-chip memory, with one tensor for each distinct part that nodes read. In Stream's
    counting the needs of a node are sorted by size, otherwise by input.
    """
    constants = constant_reads(nodes)
    edges = nodes.edges
    data = edges.read != WITHIN_GROUP
    written = np.concatenate([_bits(layer, layer.nest.output, nodes) for layer in nodes.layers])
    node = np.concatenate((constants.node, edges.consumer[data]))
    tensor = np.concatenate((len(nodes) + constants.part, edges.producer[data]))
    slot = np.concatenate((1 + constants.place, np.maximum(edges.read[data] + 1, OUTPUT_SLOT)))
    bits = np.concatenate((written, constants.bits))
    by_size = bits[tensor] if nodes.counting is Counting.REFERENCE else np.zeros_like(tensor)
    order = np.lexsort((np.where(tensor < len(nodes), tensor, -1), by_size, node))
    count = len(nodes)
    tensors = ScheduledTensors(
        node=np.concatenate((np.arange(count), constants.first)),
        operand=np.concatenate((np.zeros(count, dtype=np.int64), 1 + constants.input)),
        bits=bits,
    )
    return NodeReads(tensors, node[order], tensor[order], slot[order])


def _bits(layer: CnLayer, use: TensorUse, nodes: CnWorkload) -> Ints:
    return layer.bits_of(use, nodes.counting)


@final
@dataclass(frozen=True, eq=False)
class ConstantReads:
    """The inputs that no node of a workload writes: their readers and their distinct parts.

    ``node``, ``part`` and ``place`` (which input of the node) have one item per read; ``first``
    (the first node that reads it), ``input`` (its input) and ``bits`` have one item per part.
    """

    node: Ints
    part: Ints
    place: Ints
    first: Ints
    input: Ints
    bits: Ints


def constant_reads(nodes: CnWorkload) -> ConstantReads:
    """The reads of constants, by layer and input; each distinct part occurs once."""
    columns = [list(column) for column in zip(*_constants(nodes), strict=True)]
    empty = np.zeros(0, dtype=np.int64)
    return ConstantReads(*([np.concatenate(column) for column in columns] or [empty] * 6))


def _constants(nodes: CnWorkload) -> Iterator[tuple[Ints, ...]]:
    """The columns of :class:`ConstantReads`, one input of a layer after the other."""
    fed, found = _written_inputs(nodes), 0
    for row, (layer, begin) in enumerate(
        zip(nodes.layers, nodes.first_nodes.tolist(), strict=False)
    ):
        count = layer.tiling.count
        for place, use in enumerate(layer.nest.inputs):
            if (row, place) in fed:
                continue
            first, part = _parts(layer, use, nodes.counting)
            yield (
                begin + np.arange(count),
                found + part,
                np.full(count, place),
                begin + first,
                np.full(len(first), place),
                _bits(layer, use, nodes)[first],
            )
            found += len(first)


def _written_inputs(nodes: CnWorkload) -> set[tuple[int, int]]:
    """The inputs that other nodes write, as pairs of layer row and input position."""
    edges = nodes.edges
    data = edges.read >= 0
    layer = np.searchsorted(nodes.first_nodes, edges.consumer[data], side="right") - 1
    pairs = np.unique(np.stack((layer, edges.read[data])), axis=1)
    return {(int(row), int(place)) for row, place in pairs.T}


def _parts(layer: CnLayer, use: TensorUse, counting: Counting) -> tuple[Ints, Ints]:
    """The first reader of each distinct part of an operand, and the part that each node reads."""
    ranges = [column for axis in use.axes for column in layer.range_of(axis, counting)]
    ranges += [layer.bits_of(use, counting)]
    _, first, part = np.unique(np.stack(ranges), axis=1, return_index=True, return_inverse=True)
    return first, part.reshape(-1)
