"""Counts the operations of elementwise operators."""

from collections.abc import Mapping
from typing import Final

from nestmap.model.workload.operation_counts import OPERATIONS
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import work as counts

_ONE: Final = (
    # arithmetic of one and of two numbers
    *("Abs", "Neg", "Sign", "Ceil", "Floor", "Round", "Reciprocal", "Add", "Sub", "Mul", "Div"),
    *("Mod", "Pow", "Sqrt", "Exp", "Log", "Erf", "Sigmoid", "Relu"),
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
    *("Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"),
    # comparisons, logic, bits
    *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsInf", "IsNaN", "Where"),
    *("And", "Or", "Xor", "Not", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"),
    # converts values, which is work (BitCast only reinterprets them)
    *("Cast", "CastLike"),
    # a comparison with a random number, which is not counted
    "Bernoulli",
)

_SEVERAL: Final[Mapping[str, int]] = {
    "Clip": 2,  # a comparison with each bound
    "ThresholdedRelu": 2,  # compare, select
    "LeakyRelu": 3,  # compare, multiply, select
    "PRelu": 3,
    "Softplus": 3,  # exp, add, log
    "Softsign": 3,  # absolute value, add, divide
    "Swish": OPERATIONS["Swish"],
    "SwiGLU": 4,  # Swish, multiply
    "HardSigmoid": 4,  # multiply, add, Clip
    "HardSwish": 5,  # HardSigmoid, multiply
    "Mish": 5,  # Softplus, tanh, multiply
    "Elu": 5,  # compare, exp, subtract, multiply, select
    "Celu": 7,  # divide, Elu, multiply
    "Selu": 7,  # compare, exp, multiply, subtract, multiply, multiply, select
    "Shrink": 6,  # on each side: compare, add, select
    "com.microsoft.Gelu": 5,
    "com.microsoft.BiasGelu": 6,  # add, Gelu
    "com.microsoft.QuickGelu": 3,  # as Swish
    "com.microsoft.BiasAdd": 2,  # bias, skip connection
    "com.microsoft.QLinearAdd": 9,  # two of dequantize (2), add, quantize (4)
    "com.microsoft.QLinearMul": 9,
    "com.microsoft.QLinearSigmoid": 7,  # dequantize, sigmoid, quantize
    "com.microsoft.QLinearLeakyRelu": 9,
    "com.microsoft.QLinearWhere": 7,
    "com.microsoft.QLinearConcat": 6,  # every input has its own scale
    "com.microsoft.ReluGrad": 2,  # compare, select
    "com.microsoft.LeakyReluGrad": 3,  # compare, multiply, select
    "com.microsoft.SigmoidGrad": 3,  # y (1 - y) dy
    "com.microsoft.TanhGrad": 3,  # (1 - y^2) dy
    "com.microsoft.DropoutGrad": 2,  # mask, scale
    "com.microsoft.BitmaskDropoutGrad": 2,
    **{  # the sum of y dy over the axis; y (dy - sum), or dy - exp(y) sum
        f"com.microsoft.{operator}Grad{form}": 4
        for operator in ("Softmax", "LogSoftmax")
        for form in ("", "_13")
    },
}


def _gelu(reader: NodeReader) -> counts.Work:
    # x/2 * (1 + erf(x / sqrt 2)): divide, erf, add, two products; with tanh instead of erf
    # x/2 * (1 + tanh(c * (x + d * x^3))): power, four products, two sums, tanh.
    tanh = reader.text("approximate", "none") == "tanh"
    return counts.Work(counts.output_sizes(reader), 8 if tanh else 5)


def _fast_gelu(reader: NodeReader) -> counts.Work:
    return counts.Work(counts.output_sizes(reader), 8 + reader.has(1))


def _rotary(reader: NodeReader) -> counts.Work:
    """Each element of a rotated pair is a sum of two products."""
    *stack, width = counts.output_sizes(reader) or (1,)
    rotated = reader.integer("rotary_embedding_dim", 0, least=0)
    if not rotated:
        return counts.Work((*stack, width), OPERATIONS["RotaryEmbedding"])
    heads = (reader.integer("num_heads", 1),) if len(stack) == 2 else ()
    return counts.Work((*stack, *heads, rotated), OPERATIONS["RotaryEmbedding"])


def _all_but_one(reader: NodeReader) -> counts.Work:
    """Operators that combine any number of inputs by one operation."""
    return counts.Work(counts.output_sizes(reader), max(1, _given(reader) - 1))


def _mean(reader: NodeReader) -> counts.Work:
    # The additions, and one division.
    return counts.Work(counts.output_sizes(reader), _given(reader))


def _given(reader: NodeReader) -> int:
    return sum(map(bool, reader.node.proto.input))


def _quantize(reader: NodeReader) -> counts.Work:
    # Divide, round, saturate; add the zero point.
    return counts.Work(counts.output_sizes(reader), 3 + reader.has(2))


def _dequantize(reader: NodeReader) -> counts.Work:
    # Multiply; subtract the zero point.
    return counts.Work(counts.output_sizes(reader), 1 + reader.has(2))


ELEMENTWISE: Final[Mapping[str, counts.Rule]] = {
    **dict.fromkeys(_ONE, counts.over_output(1)),
    **{operator: counts.over_output(operations) for operator, operations in _SEVERAL.items()},
    "Gelu": _gelu,
    "com.microsoft.FastGelu": _fast_gelu,
    **dict.fromkeys(("RotaryEmbedding", "com.microsoft.RotaryEmbedding"), _rotary),
    **dict.fromkeys(("Sum", "Max", "Min"), _all_but_one),
    "Mean": _mean,
    **dict.fromkeys(("QuantizeLinear", "com.microsoft.QuantizeLinear"), _quantize),
    **dict.fromkeys(("DequantizeLinear", "com.microsoft.DequantizeLinear"), _dequantize),
}
"""The rules of elementwise operators, counted over the elements of the broadcast output."""
