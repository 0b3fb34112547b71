"""Operators that compute each element of their output from one element of each broadcast input."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from math import prod
from typing import Final

from onnx import helper

from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.operation_counts import OPERATIONS
from nestmap.pipeline.frontend.onnx.load.opsets import MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, TypedNode
from nestmap.pipeline.frontend.onnx.node import broadcast_axes as repeats
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    axis_at,
    check_fits,
    input_sizes,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.operators import axis_reads as reads
from nestmap.pipeline.frontend.onnx.operators import checks
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators import work as counts
from nestmap.pipeline.frontend.onnx.operators.output_shapes import ElementSource
from nestmap.pipeline.frontend.onnx.operators.record import Bits, Folding, Operator, Vector

# --- what an element takes ---


def _gelu_work(reader: NodeReader) -> counts.Work:
    # x/2 * (1 + erf(x / sqrt 2)): divide, erf, add, two products; with tanh instead of erf
    # x/2 * (1 + tanh(c * (x + d * x^3))): power, four products, two sums, tanh.
    tanh = reader.text("approximate", "none") == "tanh"
    return counts.Work(counts.output_sizes(reader), 8 if tanh else 5)


def _fast_gelu_work(reader: NodeReader) -> counts.Work:
    return counts.Work(counts.output_sizes(reader), 8 + reader.has(1))


def _rotary_work(reader: NodeReader) -> counts.Work:
    """Each element of a rotated pair is a sum of two products."""
    *stack, width = counts.output_sizes(reader) or (1,)
    rotated = reader.integer("rotary_embedding_dim", 0, least=0)
    if not rotated:
        return counts.Work((*stack, width), OPERATIONS["RotaryEmbedding"])
    heads = (reader.integer("num_heads", 1),) if len(stack) == 2 else ()
    return counts.Work((*stack, *heads, rotated), OPERATIONS["RotaryEmbedding"])


def _all_but_one_work(reader: NodeReader) -> counts.Work:
    """Operators that combine any number of inputs by one operation."""
    return counts.Work(counts.output_sizes(reader), max(1, _given(reader) - 1))


def _mean_work(reader: NodeReader) -> counts.Work:
    # The additions, and one division.
    return counts.Work(counts.output_sizes(reader), _given(reader))


def _given(reader: NodeReader) -> int:
    return sum(map(bool, reader.node.proto.input))


def _quantize_work(reader: NodeReader) -> counts.Work:
    # Divide, round, saturate; add the zero point.
    return counts.Work(counts.output_sizes(reader), 3 + reader.has(2))


def _dequantize_work(reader: NodeReader) -> counts.Work:
    # Multiply; subtract the zero point.
    return counts.Work(counts.output_sizes(reader), 1 + reader.has(2))


# --- what an element reads ---


def pointwise(*positions: int) -> reads.ReadRule:
    """The rule of operators that read one element of each of these inputs (default: all)."""

    def rule(reader: NodeReader) -> reads.VectorReads:
        output = output_sizes(reader)
        names = reads.names_of(len(output))
        chosen = positions or range(len(reader.node.proto.input))
        given = [position for position in chosen if reader.has(position)]
        return reads.VectorReads(
            names,
            {i: reads.broadcast_indices(names, output, input_sizes(reader, i)) for i in given},
        )

    return rule


def _scaled_reads(reader: NodeReader) -> reads.VectorReads:
    """Scales and zero points: a single one, one per index along an axis, or one per block."""
    output = output_sizes(reader)
    names = reads.names_of(len(output))
    given = [position for position in (1, 2) if reader.has(position)]
    scales = {i: _scale(reader, names, output, input_sizes(reader, i)) for i in given}
    return reads.VectorReads(
        names, {0: reads.broadcast_indices(names, output, input_sizes(reader)), **scales}
    )


def _scale(reader: NodeReader, names: reads.Names, output: Sizes, sizes: Sizes) -> reads.Axes:
    if prod(sizes) == 1:
        return (None,) * len(sizes)
    if len(sizes) == 1 != len(output):
        axis = axis_at(reader, 1, len(output))
        check_fits(reader, sizes[0] == output[axis])
        return (reads.loop_index(names[axis]),)
    check_fits(reader, len(sizes) == len(output))
    pairs = enumerate(zip(sizes, output, strict=True))
    return reads.output_indices(names, (axis for axis, (own, size) in pairs if own != size))


def _concatenated_reads(reader: NodeReader) -> reads.VectorReads:
    """QLinearConcat: every third input, starting with the third, concatenated."""
    output = output_sizes(reader)
    names = reads.names_of(len(output))
    axis = axis_at(reader, 0, len(output))
    positions = range(2, len(reader.node.proto.input), 3)
    lengths = [input_sizes(reader, position)[axis] for position in positions]
    starts = accumulate(lengths, initial=0)
    inputs = dict[int, reads.Axes]()
    for position, length, start in zip(positions, lengths, starts, strict=False):
        part = AffineIndex(
            terms=(Term(dimension=names[axis]),),
            size=length,
            padding=(start, output[axis] - start - length),
        )
        inputs[position] = tuple(
            part if i == axis else x for i, x in enumerate(reads.output_indices(names))
        )
    return reads.VectorReads(names, inputs)


def _rotary_reads(reader: NodeReader) -> reads.VectorReads:
    """The elements of a row are rotated in pairs, by angles that depend on the row."""
    output = output_sizes(reader)
    last = len(output) - 1
    names = reads.row_names(len(output))
    return reads.VectorReads(
        names, {0: reads.output_indices(names, {last}), **dict(_angles(reader, names))}
    )


def _angles(reader: NodeReader, names: reads.Names) -> Iterator[tuple[int, reads.Axes]]:
    microsoft = reader.node.proto.domain != ""
    places, tables = (1, (2, 3)) if microsoft else (3, (1, 2))
    rows = reads.loop_index("B"), reads.loop_index("D")
    if reader.has(places):
        if len(input_sizes(reader, places)) == 2 and "B" in names:
            yield places, rows
    elif "B" in names:
        yield from ((i, (*rows, None)) for i in tables if len(input_sizes(reader, i)) == 3)


def _concatenated_shape(node: TypedNode) -> Iterator[shapes.ShapeSurrogate]:
    # Scale and zero point of the output, then each tensor with its own scale and zero point.
    names, made = node.proto.input[2::3], node.proto.output[:1]
    axis = node.integer("axis", 1)
    yield shapes.ShapeSurrogate(helper.make_node("Concat", names, made, axis=axis))


_ONE: Final = Vector(counts.over_output(1), pointwise())
_FIRST: Final = Vector(counts.over_output(1), pointwise(0), operands=1)
_SAME: Final = shapes.as_inputs(0)
_BROADCAST: Final = (checks.broadcast(),)
_OF_BOTH: Final = (checks.broadcast((0, 3)),)
_QUANTIZE: Final = Vector(_quantize_work, _scaled_reads)
_DEQUANTIZE: Final = Vector(_dequantize_work, _scaled_reads)


def _several(operations: int, *positions: int) -> Vector:
    return Vector(counts.over_output(operations), pointwise(*positions))


_STANDARD: Final[Mapping[str, Operator]] = {
    # one function of a number
    **dict.fromkeys(("Abs", "Neg", "Sign", "Ceil", "Floor"), Operator(_ONE, folds=Folding.VALUES)),
    **dict.fromkeys(
        ("Round", "Reciprocal", "Sqrt", "Exp", "Log", "IsInf", "IsNaN", "Not", "BitwiseNot"),
        Operator(_ONE, folds=Folding.VALUES),
    ),
    **dict.fromkeys(
        ("Erf", "Sigmoid", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan"), Operator(_ONE)
    ),
    **dict.fromkeys(("Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"), Operator(_ONE)),
    "Relu": Operator(_ONE, bits=Bits.KEPT),
    # one of two numbers: arithmetic, comparisons, logic, bits
    **dict.fromkeys(
        (
            *("Add", "Sub", "Mod", "Pow", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
            *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor"),
            "Where",
        ),
        Operator(_ONE, checks=_BROADCAST, folds=Folding.VALUES),
    ),
    **dict.fromkeys(
        ("Mul", "Div"),
        Operator(_ONE, checks=_BROADCAST, folds=Folding.VALUES, repeats=repeats.scaled),
    ),
    # converts values, which is work (BitCast only reinterprets them)
    "Cast": Operator(_FIRST, folds=Folding.VALUES, repeats=repeats.reshaped),
    "CastLike": Operator(_FIRST, folds=Folding.VALUES),
    # a comparison with a random number, which is not counted
    "Bernoulli": Operator(_FIRST),
    # any number of inputs
    "Sum": Operator(Vector(_all_but_one_work, pointwise()), checks=_BROADCAST),
    **dict.fromkeys(
        ("Max", "Min"),
        Operator(Vector(_all_but_one_work, pointwise()), checks=_BROADCAST, folds=Folding.VALUES),
    ),
    "Mean": Operator(Vector(_mean_work, pointwise()), checks=_BROADCAST),
    # several functions of a number
    "Clip": Operator(  # a comparison with each bound
        _several(2),
        checks=(checks.one_number(1, "a minimum"), checks.one_number(2, "a maximum")),
        folds=Folding.VALUES,
        bits=Bits.KEPT,
    ),
    "ThresholdedRelu": Operator(_several(2)),  # compare, select
    "LeakyRelu": Operator(_several(3)),  # compare, multiply, select
    "PRelu": Operator(_several(3), checks=(checks.spreads(1, "a slope", checks.first_shape),)),
    "Softplus": Operator(_several(3)),  # exp, add, log
    "Softsign": Operator(_several(3)),  # absolute value, add, divide
    "Swish": Operator(_several(OPERATIONS["Swish"])),
    "SwiGLU": Operator(_several(4)),  # Swish, multiply
    "HardSigmoid": Operator(_several(4)),  # multiply, add, Clip
    "HardSwish": Operator(_several(5)),  # HardSigmoid, multiply
    "Mish": Operator(_several(5)),  # Softplus, tanh, multiply
    "Elu": Operator(_several(5)),  # compare, exp, subtract, multiply, select
    "Celu": Operator(_several(7)),  # divide, Elu, multiply
    "Selu": Operator(_several(7)),  # compare, exp, multiply, subtract, twice multiply, select
    "Shrink": Operator(_several(6)),  # on each side: compare, add, select
    "Gelu": Operator(Vector(_gelu_work, pointwise())),
    "RotaryEmbedding": Operator(Vector(_rotary_work, _rotary_reads)),
    "QuantizeLinear": Operator(_QUANTIZE, bits=Bits.QUANTIZED),
    "DequantizeLinear": Operator(_DEQUANTIZE, bits=Bits.DEQUANTIZED),
}

_OF_RUNTIME: Final[Mapping[str, Operator]] = {
    "Gelu": Operator(_several(5), _SAME),
    "BiasGelu": Operator(_several(6), _SAME),  # add, Gelu
    "QuickGelu": Operator(_several(3), _SAME),  # as Swish
    "FastGelu": Operator(Vector(_fast_gelu_work, pointwise()), _SAME),
    "BiasAdd": Operator(_several(2), _SAME),  # bias, skip connection
    "RotaryEmbedding": Operator(Vector(_rotary_work, _rotary_reads), _SAME),
    "QuantizeLinear": Operator(
        _QUANTIZE, shapes.like("QuantizeLinear", 0, 1, 2), bits=Bits.QUANTIZED
    ),
    "DequantizeLinear": Operator(
        _DEQUANTIZE, shapes.like("DequantizeLinear", 0, 1, 2), bits=Bits.DEQUANTIZED
    ),
    # two of dequantize (2), add, quantize (4)
    "QLinearAdd": Operator(
        _several(9, 0, 3), shapes.like("Add", 0, 3), ElementSource(7), checks=_OF_BOTH
    ),
    "QLinearMul": Operator(
        _several(9, 0, 3), shapes.like("Mul", 0, 3), ElementSource(7), checks=_OF_BOTH
    ),
    "QLinearSigmoid": Operator(_several(7, 0), _SAME, ElementSource(4)),
    "QLinearLeakyRelu": Operator(_several(9, 0), _SAME, ElementSource(4)),
    "QLinearWhere": Operator(_several(7, 0, 1, 4), shapes.like("Where", 0, 1, 4), ElementSource(8)),
    # every input has its own scale
    "QLinearConcat": Operator(
        Vector(counts.over_output(6), _concatenated_reads), _concatenated_shape, ElementSource(1)
    ),
}

_GRADIENTS: Final[Mapping[str, Operator]] = {
    "ReluGrad": Operator(_several(2), _SAME),  # compare, select
    "LeakyReluGrad": Operator(_several(3), _SAME),  # compare, multiply, select
    "SigmoidGrad": Operator(_several(3), _SAME),  # y (1 - y) dy
    "TanhGrad": Operator(_several(3), _SAME),  # (1 - y^2) dy
    "DropoutGrad": Operator(_several(2), _SAME),  # mask, scale
    "BitmaskDropoutGrad": Operator(_several(2), _SAME),
    # the sum of y dy over the axis; y (dy - sum), or dy - exp(y) sum
    **{
        f"{operator}Grad{form}": Operator(_several(4), _SAME)
        for operator in ("Softmax", "LogSoftmax")
        for form in ("", "_13")
    },
    **dict.fromkeys(("GeluGrad", "FastGeluGrad", "QuickGeluGrad"), Operator(shapes=_SAME)),
    **dict.fromkeys(("BiasGeluGrad_dX", "BiasFastGeluGrad_dX"), Operator(shapes=_SAME)),
    **{
        f"SoftmaxCrossEntropy{kind}Grad": Operator(shapes=shapes.as_inputs(1))
        for kind in ("", "Loss", "LossInternal")
    },
    **dict.fromkeys(
        ("LayerNormalizationGrad", "InvertibleLayerNormalizationGrad", "BatchNormalizationGrad"),
        Operator(shapes=shapes.as_inputs(1, 2, 2)),
    ),
    **dict.fromkeys(
        ("SimplifiedLayerNormalizationGrad", "ConvGrad"), Operator(shapes=shapes.as_inputs(1, 2))
    ),
}

ELEMENTWISE: Final[Mapping[str, Operator]] = {
    **_STANDARD,
    **{f"{MICROSOFT}.{name}": x for name, x in _OF_RUNTIME.items()},
}
"""The operators of elements."""

GRADIENTS: Final[Mapping[str, Operator]] = {
    f"{MICROSOFT}.{name}": x for name, x in _GRADIENTS.items()
}
"""What training graphs have for gradients; of some only the sizes are known."""
