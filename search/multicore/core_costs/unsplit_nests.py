"""The loops and operands of nodes before splitting: layers and vector operators.

Each iteration of a vector operator counts as one operation of a core's array, times the operations
per iteration of the node. It reads one element of each input that its loops index, and accumulates
or writes its output at the precision of the output. If it needs an entire axis, as a softmax needs
rows, it reads each element once, so the input is indexed as the output. An input that is read as a
whole, because the elements are unknown, is spread evenly over all iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import final

from nestmap.model import AffineIndex, InputOperand, LayerNode, Loop, OutputOperand, VectorNode
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.model.multicore.cn_layer import LayerNest
from nestmap.model.units import Bits
from nestmap.model.workload.access import AxisIndex
from nestmap.model.workload.affine import Term
from nestmap.model.workload.tensor import Tensor

Indices = tuple[AffineIndex, ...]
Sizes = dict[Dimension, int]


@final
@dataclass(frozen=True)
class WholeNest:
    """All loops of a node with its operands; indices with two loops have the length of their axis.

    ``spread`` are the bits of inputs that are read as a whole, by position.
    """

    loops: tuple[Loop, ...]
    output: OutputOperand
    inputs: tuple[InputOperand, ...]
    spread: dict[int, Bits]
    operations: int = 1
    vector: bool = False


def whole_nest(node: LayerNode | VectorNode, nest: LayerNest) -> WholeNest:
    """The loops and operands of a node, whose tiles the nest divides."""
    if isinstance(node, LayerNode):
        return _of_layer(node)
    return _of_vector(node, nest)


def _of_layer(node: LayerNode) -> WholeNest:
    layer = node.layer
    sizes = layer.sizes
    return WholeNest(
        loops=layer.loops,
        output=copy_with(layer.output, {"indices": _measured(layer.output.indices, sizes)}),
        inputs=tuple(
            copy_with(x, {"indices": _measured(x.indices, sizes), "source": None})
            for x in layer.inputs
        ),
        spread={},
    )


def _measured(indices: Sequence[AffineIndex], sizes: Sizes) -> Indices:
    """The indices, with axis lengths for sums of two loops."""
    return tuple(
        copy_with(index, {"size": index.axis_length(tuple(sizes[d] for d in index.dimensions))})
        if index.terms[1:]
        else index
        for index in indices
    )


def _of_vector(node: VectorNode, nest: LayerNest) -> WholeNest:
    loops = node.nest.loops if node.nest and node.nest.loops else _numbered(node.iterations)
    made = node.outputs[0]
    output = _digits(node.nest.output) if node.nest else _all(loops)
    reads = _reads(node)
    return WholeNest(
        loops=loops,
        output=OutputOperand(
            name=nest.output.operand,
            indices=output,
            precision=made.precision,
            partial_precision=made.precision,
        ),
        inputs=tuple(
            InputOperand(
                name=use.operand,
                indices=_all(loops) if axes is None else _read(axes, tensor, node),
                precision=tensor.precision,
                constant=tensor.constant,
            )
            for use, tensor, axes in zip(nest.inputs, node.inputs, reads, strict=True)
        ),
        spread={place: node.inputs[place].bits for place, axes in enumerate(reads) if axes is None},
        operations=max(1, node.operations),
        vector=True,
    )


def _numbered(iterations: Sequence[int]) -> tuple[Loop, ...]:
    """Loops without names, numbered."""
    return tuple(Loop(dimension=f"D{i}", size=n) for i, n in enumerate(iterations or (1,)))


def _reads(node: VectorNode) -> list[tuple[AxisIndex, ...] | None]:
    """The indices of each input; ``None``: read as a whole."""
    if node.nest is None:
        return [None] * len(node.inputs)
    return [access.axes if access else None for access in node.nest.inputs]


def _all(loops: Sequence[Loop]) -> Indices:
    return tuple(_single(loop.dimension) for loop in loops)


def _single(dimension: Dimension) -> AffineIndex:
    return AffineIndex(terms=(Term(dimension=dimension),))


def _digits(indices: Sequence[AffineIndex]) -> Indices:
    """The indices of an output: two loops that count an axis like digits become one index each."""
    return tuple(_single(d) for index in indices for d in index.dimensions)


def _read(axes: Sequence[AxisIndex], tensor: Tensor, node: VectorNode) -> Indices:
    """The indices of an input; each loop counts once."""
    found: list[AffineIndex] = []
    taken: set[Dimension] = set()
    for index in _indexed(axes, tensor, node):
        if taken.isdisjoint(index.dimensions):
            found.append(index)
            taken.update(index.dimensions)
    return tuple(found)


def _indexed(axes: Sequence[AxisIndex], tensor: Tensor, node: VectorNode) -> Iterator[AffineIndex]:
    assert node.nest is not None
    assert tensor.sizes is not None
    sizes = {loop.dimension: loop.size for loop in node.nest.loops}
    output = node.nest.output
    offset = len(output) - len(axes)
    for place, (index, extent) in enumerate(zip(axes, tensor.sizes, strict=True)):
        if index is not None:
            yield copy_with(index, {"size": max(1, extent)}) if index.terms[1:] else index
        elif 0 <= place + offset < len(output):
            across = output[place + offset].dimensions
            if prod(sizes[d] for d in across) == extent:
                yield from (_single(d) for d in across)
