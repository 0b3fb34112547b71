"""The nodes of a workload that an ONNX node becomes: its products, and what stands between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final, final

from nestmap.model import (
    InputOperand,
    Layer,
    LayerNode,
    NoCostNode,
    OutputOperand,
    Tensor,
    VectorNode,
)
from nestmap.model.base import replaced
from nestmap.model.dims import LayerOperand
from nestmap.model.workload.access import Route, VectorNest
from nestmap.model.workload.layer import MAX_MACS
from nestmap.model.workload.loop_nests import Access, Indices, LoopNest
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.precision import UNSTATED
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader

ACCUMULATOR: Final = 32
"""Bits of a sum of products of quantized integers, as ONNX has it."""


@final
@dataclass(frozen=True)
class Value:
    """A tensor, the node of the workload that makes it, and whether it holds quantized integers."""

    tensor: Tensor
    source: str | None
    quantized: bool = False

    def of_bits(self, bits: int) -> Value:
        """The same tensor, quantized to so many bits."""
        return replace(self, tensor=replaced(self.tensor, {"precision": bits}), quantized=True)


def value(reader: NodeReader, position: int) -> Value:
    """An input of the ONNX node.

    Raises:
        InputError: where there is no such input.
    """
    quantized = reader.input(position) in reader.graph.quantized
    return Value(reader.tensor(position), reader.source(position), quantized)


def between(reader: NodeReader, suffix: str, sizes: Sizes, precision: int) -> Value:
    """A tensor inside of the ONNX node, and the node that is to make it, both of that name."""
    name = reader.part(suffix)
    return Value(Tensor(name=name, sizes=sizes, precision=precision), name)


def layer_node(
    reader: NodeReader,
    nest: LoopNest,
    values: Mapping[LayerOperand, Value],
    made: Value | None = None,
) -> LayerNode:
    """The layer of that nest.

    Args:
        reader: the ONNX node.
        nest: loops and indices.
        values: what the operands of the nest read.
        made: what it makes; ``None``: all that the ONNX node makes.

    Raises:
        InputError: where it multiplies more than can be counted.
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


def single(
    reader: NodeReader, nest: LoopNest, values: Mapping[LayerOperand, Value]
) -> tuple[LayerNode]:
    """The layer of an ONNX node that is nothing else.

    Raises:
        InputError: where it multiplies more than can be counted.
    """
    node = layer_node(reader, nest, values)
    names = [tensor.name for tensor in reader.inputs]
    positions = tuple(names.index(values[access.operand].tensor.name) for access in nest.inputs)
    return (replaced(node, {"inputs": reader.inputs, "positions": positions}),)


def vector_part(
    reader: NodeReader,
    operator: str,
    work: tuple[Sizes, int],
    values: Sequence[Value],
    made: Value | None = None,
    nest: VectorNest | None = None,
) -> VectorNode:
    """Work of a vector unit inside of the ONNX node.

    Args:
        reader: the ONNX node.
        operator: what it is.
        work: the sizes of its loops, and operations in each iteration.
        values: what it reads.
        made: what it makes; ``None``: all that the ONNX node makes.
        nest: which elements it reads, where that is known.
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
    routes: tuple[Route, ...] | None = None,
) -> NoCostNode:
    """Data movement inside of the ONNX node, where ``routes`` lead.

    The other arguments are as those of :func:`vector_part`.
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


def _input(reader: NodeReader, access: Access, read: Value) -> InputOperand:
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
    """The output ``O``: finished in ``act_size`` bits, partial sums in ``output_size``."""
    bits = reader.integer("act_size", outputs[0].precision if outputs else UNSTATED)
    exact = all(each.quantized for each in read)
    partial = reader.integer("output_size", max(ACCUMULATOR, bits) if exact else _doubled(bits))
    return OutputOperand(name="O", indices=indices, precision=bits, partial_precision=partial)


def _doubled(bits: int) -> int:
    """Twice the bits of an activation, but no more than accumulators have."""
    return max(bits, min(2 * bits, ACCUMULATOR))
