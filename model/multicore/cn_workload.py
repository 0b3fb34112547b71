"""The graph of computation nodes that the layers of a network are split into.

:class:`CnWorkload` stores nodes and edges as columns; single rows are read as
:class:`ComputationNode` and :class:`CnEdge`.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, final

import numpy as np
from pydantic import Field

from nestmap.model.arrays import Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import Dimension, LayerOperand
from nestmap.model.hardware.accelerator import Counting
from nestmap.model.multicore.cn_layer import CnLayer, LayerNumber, TensorUse
from nestmap.model.units import Bits, Count

WITHIN_GROUP: Final = -1
"""In place of an input: the edge only keeps the order within a group."""

PARTIAL_SUMS: Final = -2
"""In place of an input: the consumer accumulates onto the producer's partial sums."""

CnNumber = Annotated[int, Field(ge=0)]
"""The index of a computation node within its layer, from 0."""


class CnId(Frozen, frozen=True):
    """The id of a computation node: the number of its layer, and its index within that layer."""

    layer: LayerNumber
    node: CnNumber

    def __str__(self) -> str:
        return f"{self.layer}.{self.node}"


class DimensionRange(Frozen, frozen=True):
    """The iterations of a loop dimension that a node runs: ``first`` to ``end`` (exclusive)."""

    dimension: Dimension
    first: Count
    end: Count


class CnTensor(Frozen, frozen=True):
    """The part of a tensor that a node reads or writes: a range (end exclusive) per axis, and bits.

    In the reference's counting a range may start before the tensor and end beyond it.
    """

    operand: LayerOperand
    ranges: tuple[tuple[int, int], ...]
    bits: Bits
    constant: bool


class ComputationNode(Frozen, frozen=True):
    """A computation node: the part of a layer within a range of each loop dimension.

    ``group``: nodes of a layer that read the same part of its constants; they run on one core.
    ``final``: whether its outputs are finished, not partial sums.
    """

    id: CnId
    layer: str
    operator: str
    group: Count
    final: bool
    ranges: tuple[DimensionRange, ...]
    output: CnTensor
    inputs: tuple[CnTensor, ...]


class CnEdge(Frozen, frozen=True):
    """A dependency: ``producer`` must end before ``consumer`` starts.

    ``operand`` is the operand of the consumer that reads ``bits`` of the producer's output: one of
    its inputs, or its output, if it accumulates onto partial sums. ``None``: the edge only keeps
    the order within a group.
    """

    producer: CnId
    consumer: CnId
    operand: LayerOperand | None
    bits: Bits


@final
@dataclass(frozen=True, eq=False)
class CnEdges:
    """Edges as columns: producer and consumer as node indices, ``read`` as the index of the input.

    Instead of an index, ``read`` may be :data:`WITHIN_GROUP` or :data:`PARTIAL_SUMS`.
    """

    producer: Ints
    consumer: Ints
    read: Ints
    bits: Ints

    def __len__(self) -> int:
        return len(self.producer)


@final
@dataclass(frozen=True, eq=False)
class CnWorkload:
    """The computation nodes of a network, layer by layer, and the edges between them.

    The index of a node is that of the first node of its layer plus its number within the layer.
    """

    name: str
    layers: tuple[CnLayer, ...]
    edges: CnEdges
    counting: Counting

    def __len__(self) -> int:
        return int(self.first_nodes[-1])

    @cached_property
    def first_nodes(self) -> Ints:
        """The index of the first node of each layer, followed by the total number of nodes."""
        counts = [layer.tiling.count for layer in self.layers]
        return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))

    @cached_property
    def content_hash(self) -> str:
        """32 hex digits determined by layers, edges and counting."""
        digest = hashlib.sha256(self.counting.encode())
        for layer in self.layers:
            digest.update(layer.content_hash.encode())
        edges = self.edges
        for column in (edges.producer, edges.consumer, edges.read, edges.bits):
            digest.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        return digest.hexdigest()[:32]

    def layer_of(self, place: int) -> tuple[CnLayer, int]:
        """The layer of the node with index ``place``, and its number within that layer."""
        layer = int(np.searchsorted(self.first_nodes, place, side="right")) - 1
        return self.layers[layer], place - int(self.first_nodes[layer])

    def id_of(self, place: int) -> CnId:
        """The id of the node with index ``place``."""
        layer, number = self.layer_of(place)
        return CnId(layer=layer.nest.number, node=number)

    def node(self, place: int) -> ComputationNode:
        """The node with index ``place``."""
        layer, number = self.layer_of(place)
        nest, tiling = layer.nest, layer.tiling
        return ComputationNode(
            id=CnId(layer=nest.number, node=number),
            layer=nest.name,
            operator=nest.operator,
            group=int(layer.groups[number]),
            final=bool(layer.is_final[number]),
            ranges=tuple(
                DimensionRange(
                    dimension=dimension,
                    first=int(tiling.starts(dimension)[number]),
                    end=int(tiling.ends(dimension)[number]),
                )
                for dimension in tiling.sizes
            ),
            output=self._tensor_of(nest.output, layer, number),
            inputs=tuple(self._tensor_of(use, layer, number) for use in nest.inputs),
        )

    def _tensor_of(self, use: TensorUse, layer: CnLayer, number: int) -> CnTensor:
        ranges = (layer.range_of(axis, self.counting) for axis in use.axes)
        return CnTensor(
            operand=use.operand,
            ranges=tuple((int(first[number]), int(end[number])) for first, end in ranges),
            bits=int(layer.bits_of(use, self.counting)[number]),
            constant=use.constant,
        )

    def nodes(self) -> Iterator[ComputationNode]:
        """All nodes in index order."""
        return map(self.node, range(len(self)))

    def edge(self, row: int) -> CnEdge:
        """The edge of one row."""
        edges, consumer = self.edges, int(self.edges.consumer[row])
        nest, read = self.layer_of(consumer)[0].nest, int(edges.read[row])
        operands = {PARTIAL_SUMS: nest.output.operand, WITHIN_GROUP: None}
        return CnEdge(
            producer=self.id_of(int(edges.producer[row])),
            consumer=self.id_of(consumer),
            operand=nest.inputs[read].operand if read >= 0 else operands[read],
            bits=int(edges.bits[row]),
        )
