"""Groups computation nodes with equal loops, operands, bits and dataflows into kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import final

import numpy as np

from nestmap.model import (
    AffineIndex,
    Dataflow,
    InputOperand,
    LayerNode,
    Loop,
    NoCostNode,
    OutputOperand,
    VectorNode,
)
from nestmap.model.arrays import Ints
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.model.multicore.cn_kinds import CnKind, CnKinds
from nestmap.model.multicore.cn_layer import CnLayer
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, WITHIN_GROUP, CnWorkload
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.multicore.split_options import Convention
from nestmap.model.workload.graph import Workload
from nestmap.search.multicore.core_costs.unsplit_nests import Indices, WholeNest, whole_nest

Margins = dict[AffineIndex, Ints]
"""Elements outside an axis that each node touches: padding, which no memory holds."""


def cn_kinds(workload: Workload, nodes: CnWorkload, mapping: CoreMapping) -> CnKinds:
    """The kinds of all nodes: nodes with equal loops, operands, bits and dataflows, across layers.

    Args:
        workload: the network.
        nodes: the computation nodes of the network.
        mapping: the dataflow of each layer.
    """
    by_name = {node.name: node for node in workload.nodes}
    numbers: dict[CnKind, int] = {}
    first: list[int] = []
    columns: list[Ints] = []
    fed = _fed_bits(nodes)
    for layer, start, end in zip(
        nodes.layers, nodes.first_nodes, nodes.first_nodes[1:], strict=False
    ):
        node = by_name[layer.nest.name]
        assert not isinstance(node, NoCostNode)
        flow = mapping.of(node.name, node.operator).dataflow if node.kind == "layer" else None
        tiles = _tiles_of(node, layer, fed[start:end], nodes.convention, flow)
        rows, which = _different(list(tiles.columns))
        own: list[int] = []
        for row in rows.tolist():
            kind = tiles.kind(row)
            if kind not in numbers:
                numbers[kind] = len(numbers)
                first.append(int(start) + row)
            own.append(numbers[kind])
        columns.append(np.array(own, dtype=np.int64)[which])
    return CnKinds(tuple(numbers), np.concatenate(columns), np.array(first, dtype=np.int64))


def _fed_bits(nodes: CnWorkload) -> Ints:
    """Bits that other nodes produce for each operand of each node: [node, operand].

    For its output these are the partial sums that the node continues.
    """
    edges, count = nodes.edges, len(nodes)
    operands = 1 + max((len(layer.nest.inputs) for layer in nodes.layers), default=0)
    real = edges.read != WITHIN_GROUP
    slots = np.where(edges.read == PARTIAL_SUMS, 0, 1 + edges.read)[real]
    places = edges.consumer[real] * operands + slots
    bits = np.bincount(places, edges.bits[real].astype(np.float64), minlength=count * operands)
    return bits.astype(np.int64).reshape(count, operands)


def _different(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first row of each distinct kind, in order, and the kind of each row."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if column.min() != column.max():
            _, values = np.unique(column, return_inverse=True)
            mixed = codes * (values.max() + 1) + values
            _, codes = np.unique(mixed, return_inverse=True)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[codes]


@final
@dataclass(frozen=True, eq=False)
class _Tiles:
    """The nodes of a layer as columns."""

    operator: str
    whole: WholeNest
    layer: CnLayer
    sizes: dict[Dimension, Ints]
    margins: Margins
    held: tuple[Ints, ...]
    convention: Convention
    dataflow: Dataflow | None

    @property
    def columns(self) -> Iterator[Ints]:
        """All columns in which nodes may differ."""
        yield from self.sizes.values()
        yield from self.margins.values()
        yield from self.held

    def kind(self, row: int) -> CnKind:
        """The kind of one of the nodes."""
        whole = self.whole
        sizes = {d: int(column[row]) for d, column in self.sizes.items()}
        sizes = sizes or {loop.dimension: loop.size for loop in whole.loops}
        exact = self.convention is Convention.EXACT
        return CnKind(
            operator=self.operator,
            loops=tuple(Loop(dimension=d, size=n) for d, n in sizes.items()),
            output=self._output(sizes, row),
            inputs=tuple(self._input(i, sizes, row) for i in range(len(whole.inputs))),
            held=tuple(int(column[row]) for column in self.held),
            operations=whole.operations if exact else 1,
            vector=whole.vector,
            dataflow=self.dataflow,
        )

    def _output(self, sizes: Mapping[Dimension, int], row: int) -> OutputOperand:
        output = self.whole.output
        indices = self._cut(output.indices, sizes, row)
        return copy_with(output, {"indices": indices})

    def _input(self, place: int, sizes: Mapping[Dimension, int], row: int) -> InputOperand:
        read = self.whole.inputs[place]
        changed: dict[str, object] = {"indices": self._cut(read.indices, sizes, row)}
        if place in self.whole.spread:
            changed["precision"] = -(-self.whole.spread[place] // prod(sizes.values()))
        return copy_with(read, changed)

    def _cut(self, indices: Indices, sizes: Mapping[Dimension, int], row: int) -> Indices:
        return tuple(
            self._axis(index, sizes, row) if index.terms[1:] else index for index in indices
        )

    def _axis(self, index: AffineIndex, sizes: Mapping[Dimension, int], row: int) -> AffineIndex:
        """The index on a part of its axis, with all padding before it: its position has no cost.

        In Stream's convention padding is a part of the axis like any other.
        """
        if self.convention is Convention.STREAM:
            return copy_with(index, {"size": None, "padding": (0, 0)})
        padding = int(self.margins[index][row])
        reach = 1 + sum(t.coefficient * (sizes[t.dimension] - 1) for t in index.terms)
        return copy_with(index, {"size": max(1, reach - padding), "padding": (padding, 0)})


def _tiles_of(
    node: LayerNode | VectorNode,
    layer: CnLayer,
    fed: Ints,
    convention: Convention,
    dataflow: Dataflow | None,
) -> _Tiles:
    whole, tiling = whole_nest(node, layer.nest), layer.tiling
    operands: tuple[InputOperand | OutputOperand, ...] = (whole.output, *whole.inputs)
    sums = [index for x in operands for index in x.indices if index.terms[1:]]
    exact = convention is Convention.EXACT
    return _Tiles(
        operator=node.operator,
        whole=whole,
        layer=layer,
        sizes={d: tiling.ends(d) - tiling.starts(d) for d in tiling.sizes},
        margins={index: _margins(index, layer) for index in sums} if exact else {},
        held=tuple(_held(layer, fed, convention)),
        convention=convention,
        dataflow=dataflow,
    )


def _margins(index: AffineIndex, layer: CnLayer) -> Ints:
    """The elements that each node touches before and after an axis."""
    tiling, length = layer.tiling, index.size
    assert length is not None, "indices with two loops have an axis length"
    first = np.full(tiling.count, -index.padding[0], dtype=np.int64)
    last = first.copy()
    for term in index.terms:
        first += term.coefficient * tiling.starts(term.dimension)
        last += term.coefficient * (tiling.ends(term.dimension) - 1)
    return np.maximum(0, -first) + np.maximum(0, last + 1 - length)


def _held(layer: CnLayer, fed: Ints, convention: Convention) -> Iterator[Ints]:
    """Bits of each operand that a core holds while a node runs, output first.

    Partial sums from another node are held in addition to the output.
    """
    yield layer.bits_of(layer.nest.output, convention) + fed[:, 0]
    for place, read in enumerate(layer.nest.inputs, 1):
        own, made = layer.bits_of(read, convention), fed[:, place]
        if convention is Convention.STREAM:
            yield np.where(made > 0, made, own)
        else:
            yield np.maximum(own, made)
