"""Determines the bits per element of each tensor, and which tensors are quantized.

Bits follow from the types of tensors and from the quantization around them: the output of
DequantizeLinear, also after data movement, has the bits of its input, and a tensor that only
QuantizeLinear reads, also through data movement, Relu, Clip or MaxPool, has the bits of the output
of QuantizeLinear.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import onnx

from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.shapes import UNSTATED, TensorFacts
from nestmap.pipeline.frontend.onnx.operators.record import Bits, Movement
from nestmap.pipeline.frontend.onnx.operators.registry import operator_of

_T = onnx.TensorProto

BITS: Final[Mapping[int, int]] = {
    _T.BOOL: 1,
    _T.INT2: 2,
    _T.UINT2: 2,
    _T.INT4: 4,
    _T.UINT4: 4,
    _T.FLOAT4E2M1: 4,
    _T.INT8: 8,
    _T.UINT8: 8,
    _T.FLOAT8E4M3FN: 8,
    _T.FLOAT8E4M3FNUZ: 8,
    _T.FLOAT8E5M2: 8,
    _T.FLOAT8E5M2FNUZ: 8,
    _T.FLOAT8E8M0: 8,
    _T.INT16: 16,
    _T.UINT16: 16,
    _T.FLOAT16: 16,
    _T.BFLOAT16: 16,
    _T.INT32: 32,
    _T.UINT32: 32,
    _T.INT64: 64,
    _T.UINT64: 64,
    _T.COMPLEX64: 64,
    _T.COMPLEX128: 128,
}
"""Bits of an element by type; other types count as :data:`UNSTATED`."""

QUANTIZED: Final = frozenset(
    (_T.INT2, _T.UINT2, _T.INT4, _T.UINT4, _T.INT8, _T.UINT8, _T.INT16, _T.UINT16)
)
"""The integer types that represent real numbers in quantized networks."""

_BYTE: Final = 8  # default output of QuantizeLinear


class Precisions(NamedTuple):
    """The bits per element of each tensor, and the tensors that hold quantized integers."""

    bits: Mapping[str, int]
    quantized: frozenset[str]


def tensor_precisions(
    nodes: Sequence[GraphNode],
    tensors: Mapping[str, TensorFacts],
    outputs: Iterable[str],
    unstated: int = UNSTATED,
) -> Precisions:
    """The bits per element of each tensor, and the quantized tensors.

    Args:
        nodes: all nodes in topological order.
        tensors: shapes and types of their tensors.
        outputs: the outputs of the graph.
        unstated: bits of types without a stated precision (float32, float64, unknown).
    """
    bits = {name: unstated for node in nodes for name in (*node.reads, *node.proto.output)}
    bits |= {name: BITS.get(facts.element, unstated) for name, facts in tensors.items()}
    quantized = {name for name, facts in tensors.items() if facts.element in QUANTIZED}
    for name, source in _finished(nodes, frozenset(outputs)).items():
        if _is_float(tensors, name):
            bits[name] = bits.get(source, _BYTE)
            quantized.add(name)
    for node in nodes:
        source = _source(node, bits, unstated)
        followers = node.proto.output if source else ()
        for name in filter(None, followers):
            if operator_of(node.operator).bits is Bits.DEQUANTIZED or _same_type(
                tensors, name, source
            ):
                bits[name] = bits.get(source, unstated)
                (quantized.add if source in quantized else quantized.discard)(name)
    return Precisions(bits, frozenset(quantized))


def _source(node: GraphNode, bits: Mapping[str, int], unstated: int) -> str:
    """The tensor whose elements the outputs of the node hold with the same bits; "" if none."""
    read = [name for name in node.proto.input if name]
    operator = operator_of(node.operator)
    moves = isinstance(operator.becomes, Movement) or operator.bits is Bits.DEQUANTIZED
    if not read or not moves:
        return ""
    if operator.joins:
        return max(read, key=lambda name: bits.get(name, unstated))
    return read[0]


def _finished(nodes: Sequence[GraphNode], outputs: frozenset[str]) -> Mapping[str, str]:
    """The tensors that are only read to be quantized, and the quantized tensor of each."""
    readers: dict[str, list[GraphNode]] = defaultdict(list)
    for node in nodes:
        for name in node.reads:
            readers[name].append(node)
    found: dict[str, str] = {}
    for node in reversed(nodes):
        for name in filter(None, node.proto.output):
            ends = [_end(reader, name, found) for reader in readers[name]]
            if ends and None not in ends and name not in outputs:
                found[name] = next(end for end in ends if end is not None)
    return found


def _end(reader: GraphNode, name: str, found: Mapping[str, str]) -> str | None:
    """The tensor to which a reader quantizes its input, itself or through its own readers."""
    made = [output for output in reader.proto.output if output]
    first, operator = name in reader.proto.input[:1], operator_of(reader.operator)
    if not made or not (first or operator.joins):
        return None
    if operator.bits is Bits.QUANTIZED:
        return made[0]
    if operator.bits is Bits.KEPT or isinstance(operator.becomes, Movement):
        return found.get(made[0]) if all(output in found for output in made) else None
    return None


def _is_float(tensors: Mapping[str, TensorFacts], name: str) -> bool:
    facts = tensors.get(name)
    return facts is None or facts.element in (0, _T.FLOAT, _T.DOUBLE, _T.FLOAT16, _T.BFLOAT16)


def _same_type(tensors: Mapping[str, TensorFacts], name: str, other: str) -> bool:
    one, two = tensors.get(name), tensors.get(other)
    return one is None or two is None or one.element == two.element
