"""Expands an ONNX node into several nodes of the workload: layers, vector work, data movement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import final

from nestmap.model import (
    InputOperand,
    Layer,
    LayerNode,
    NoCostNode,
    OutputOperand,
    Tensor,
    VectorNode,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import LayerOperand
from nestmap.model.workload.access import AccessRoute, VectorNest
from nestmap.model.workload.layer import MAX_MACS
from nestmap.model.workload.loop_nests import Indices, InputIndices, LoopNest
from nestmap.model.workload.sum_bits import ASSUMED_SUMS
from nestmap.pipeline.frontend.onnx.load.shapes import UNSTATED, Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader


@final
@dataclass(frozen=True)
class Value:
    """A tensor, the workload node that computes it, and whether it holds quantized integers."""

    tensor: Tensor
    source: str | None
    quantized: bool = False

    def of_bits(self, bits: int) -> Value:
        """The same tensor, quantized to ``bits`` bits."""
        return replace(self, tensor=copy_with(self.tensor, {"precision": bits}), quantized=True)


def value(reader: NodeReader, position: int) -> Value:
    """An input of the ONNX node.

    Raises:
        InputError: if the node has no such input.
    """
    quantized = reader.input(position) in reader.graph.quantized
    return Value(reader.tensor(position), reader.source(position), quantized)


def intermediate(reader: NodeReader, suffix: str, sizes: Sizes, precision: int) -> Value:
    """An intermediate tensor of the ONNX node; the node that computes it has the same name."""
    name = reader.part(suffix)
    return Value(Tensor(name=name, sizes=sizes, precision=precision), name)


def layer_node(
    reader: NodeReader,
    nest: LoopNest,
    values: Mapping[LayerOperand, Value],
    made: Value | None = None,
) -> LayerNode:
    """A layer with the given loop nest.

    Args:
        reader: the ONNX node.
        nest: loops and indices.
        values: the tensors that the operands read.
        made: the output; ``None`` for the outputs of the ONNX node.

    Raises:
        InputError: if there are more than 2**53 multiply-accumulates.
    """
    macs = prod(loop.size for loop in nest.loops)
    if macs > MAX_MACS:
        raise reader.error(f"{macs} multiply-accumulates", f"at most 2**53 ({MAX_MACS})")
    outputs = reader.outputs if made is None else (made.tensor,)
    layer = Layer(
        name=_name(reader, made),
        operator=reader.node.operator,
        loops=nest.loops,
        output=_output(reader, nest.output, outputs, list(values.values())),
        inputs=tuple(_input(reader, access, values[access.operand]) for access in nest.inputs),
    )
    read = tuple(values[access.operand].tensor for access in nest.inputs)
    return LayerNode(layer=layer, inputs=read, outputs=outputs)


def single_layer(
    reader: NodeReader, nest: LoopNest, values: Mapping[LayerOperand, Value]
) -> tuple[LayerNode]:
    """The layer of an ONNX node that becomes a single layer.

    Raises:
        InputError: if there are more than 2**53 multiply-accumulates.
    """
    node = layer_node(reader, nest, values)
    names = [tensor.name for tensor in reader.inputs]
    positions = tuple(names.index(values[access.operand].tensor.name) for access in nest.inputs)
    return (copy_with(node, {"inputs": reader.inputs, "positions": positions}),)


def vector_part(
    reader: NodeReader,
    operator: str,
    work: tuple[Sizes, int],
    values: Sequence[Value],
    made: Value | None = None,
    nest: VectorNest | None = None,
) -> VectorNode:
    """The work of the vector unit within the ONNX node.

    Args:
        reader: the ONNX node.
        operator: the name of the operator.
        work: the sizes of its loops, and the operations of each iteration.
        values: the inputs.
        made: the output; ``None`` for the outputs of the ONNX node.
        nest: the elements that it reads, if known.
    """
    return VectorNode(
        name=_name(reader, made),
        operator=operator,
        sources=_sources(values),
        iterations=work[0],
        operations=work[1],
        inputs=tuple(each.tensor for each in values),
        outputs=reader.outputs if made is None else (made.tensor,),
        nest=nest,
    )


def movement_part(
    reader: NodeReader,
    operator: str,
    values: Sequence[Value],
    made: Value | None = None,
    routes: tuple[AccessRoute, ...] | None = None,
) -> NoCostNode:
    """The data movement within the ONNX node, along ``routes``.

    The other arguments are those of :func:`vector_part`.
    """
    return NoCostNode(
        name=_name(reader, made),
        operator=operator,
        sources=_sources(values),
        inputs=tuple(each.tensor for each in values),
        outputs=reader.outputs if made is None else (made.tensor,),
        routes=routes,
    )


def _name(reader: NodeReader, made: Value | None) -> str:
    return reader.node.name if made is None else made.tensor.name


def _sources(values: Sequence[Value]) -> tuple[str, ...]:
    makers = (each.source for each in values)
    return tuple(dict.fromkeys(maker for maker in makers if maker is not None))


def _input(reader: NodeReader, access: InputIndices, read: Value) -> InputOperand:
    attribute = "weight_size" if access.operand == "W" else "act_size"
    return InputOperand(
        name=access.operand,
        indices=access.indices,
        precision=reader.integer(attribute, read.tensor.precision),
        source=read.source,
        constant=read.tensor.constant,
    )


def _output(
    reader: NodeReader, indices: Indices, outputs: Sequence[Tensor], read: Sequence[Value]
) -> OutputOperand:
    """The output ``O``: final values have ``act_size`` bits, partial sums ``output_size`` bits."""
    bits = reader.integer("act_size", outputs[0].precision if outputs else UNSTATED)
    exact = all(each.quantized for each in read)
    usual = max(ASSUMED_SUMS, bits) if exact else _doubled(bits)
    stated = reader.integer("output_size", 0, least=bits)
    return OutputOperand(
        name="O",
        indices=indices,
        precision=bits,
        partial_precision=stated or usual,
        assumes_sums=not stated and usual >= ASSUMED_SUMS,
    )


def _doubled(bits: int) -> int:
    """Twice the bits of an activation, at most those of an accumulator."""
    return max(bits, min(2 * bits, ASSUMED_SUMS))
