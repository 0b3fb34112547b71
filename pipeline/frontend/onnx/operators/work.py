"""Defines the work of a vector operator: the sizes of its loops and operations per iteration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

from nestmap.model.workload.operation_counts import OPERATIONS
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, shape_text, whole_sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader


@final
@dataclass(frozen=True)
class Work:
    """The sizes of an operator's loops and its scalar operations per iteration.

    A loop of size 0 means that there is no work.
    """

    iterations: Sizes
    operations: int


Rule = Callable[[NodeReader], Work]
"""Computes the work of an ONNX node whose tensors have known sizes."""


def over_output(operations: int) -> Rule:
    """The rule of operators with ``operations`` per element of their output."""
    return lambda reader: Work(output_sizes(reader), operations)


def over_input(operations: int) -> Rule:
    """The rule of operators with ``operations`` per element of their first input."""
    return lambda reader: Work(input_sizes(reader), operations)


def output_sizes(reader: NodeReader) -> Sizes:
    """The sizes of the first output."""
    return reader.outputs[0].sizes or ()


def input_sizes(reader: NodeReader, position: int = 0) -> Sizes:
    """The sizes of an input.

    Raises:
        InputError: if the node has no such input.
    """
    return whole_sizes(reader.shape(position)) or ()


def axis_of(reader: NodeReader, default: int) -> int:
    """The attribute ``axis`` for the first input, counted from the first axis.

    Raises:
        InputError: if the input has no such axis.
    """
    rank = len(input_sizes(reader))
    axis = reader.integer("axis", default, least=-rank)
    if not -rank <= axis < rank:
        raise reader.error(f"axis {axis} of {rank} axes", "an axis of the input")
    return axis % rank


def before_and_after(reader: NodeReader) -> tuple[tuple[int, int], ...]:
    """The size of each axis in the first input and in the first output.

    Raises:
        InputError: if they differ in the number of axes.
    """
    before, after = input_sizes(reader), output_sizes(reader)
    if len(before) != len(after):
        raise reader.error(
            f"input {shape_text(before)} and output {shape_text(after)}",
            "the same number of axes in both",
        )
    return tuple(zip(before, after, strict=True))


def steps_of_halving(size: int) -> int:
    """The number of halvings of ``size`` until 1 is left: log2, rounded up; at least 1."""
    return max(1, (size - 1).bit_length())


# --- counts the operations of normalizations, Softmax and losses per element of their input ---

_MOMENTS: Final = 4
"""Operations per element for mean and variance: add; subtract the mean, square, add."""

_EACH: Final[Mapping[str, int]] = {
    # times the row's factor, times the scale, bias
    "InstanceNormalization": _MOMENTS + 3,
    "GroupNormalization": _MOMENTS + 3,
    "MeanVarianceNormalization": _MOMENTS + 1,
    "LpNormalization": 3,  # power, add; divide
    # square, add; times the row's factor, times the scale
    "RMSNormalization": OPERATIONS["RMSNormalization"],
    "SimplifiedLayerNormalization": 4,
    "com.microsoft.SimplifiedLayerNormalization": 4,
    "Softmax": OPERATIONS["Softmax"],
    "LogSoftmax": 5,  # maximum, subtract, exp, add, subtract
    "Hardmax": 2,  # maximum, compare
    "com.microsoft.BiasSoftmax": 6,
    "com.microsoft.QLinearSoftmax": 11,  # dequantize (2), Softmax, quantize (4)
    # smallest, largest; divide, round, add, saturate
    "DynamicQuantizeLinear": 6,
    "SoftmaxCrossEntropyLoss": 5,  # LogSoftmax
}


def _batch(reader: NodeReader) -> Work:
    # In inference, the factor and the offset of each channel are constants.
    training = reader.flag("training_mode")
    return Work(input_sizes(reader), _MOMENTS + 3 if training else 2)


def _layer(reader: NodeReader) -> Work:
    """Moments, times the row's factor, times the scale, bias."""
    return Work(input_sizes(reader), _MOMENTS + 2 + reader.has(2))


def _skip_layer(reader: NodeReader) -> Work:
    # input, skip, gamma, beta, bias
    return Work(input_sizes(reader), 1 + _MOMENTS + 2 + reader.has(3) + reader.has(4))


def _skip_simplified(reader: NodeReader) -> Work:
    # input, skip, gamma, bias
    return Work(input_sizes(reader), 1 + 4 + reader.has(3))


def _microsoft_group(reader: NodeReader) -> Work:
    # The activation is Swish with a factor of 1.
    return Work(input_sizes(reader), _MOMENTS + 3 + 2 * reader.flag("activation"))


def _local_response(reader: NodeReader) -> Work:
    # A square and a sum for each channel of the window; product, bias, power, divide.
    return Work(input_sizes(reader), 2 * reader.integer("size", 1) + 4)


def _negative_log_likelihood(reader: NodeReader) -> Work:
    """For each target: negate, multiply by its weight, add."""
    summed = reader.text("reduction", "mean") != "none"
    return Work(input_sizes(reader, 1), 1 + reader.has(2) + summed)


NORMALIZATIONS: Final[Mapping[str, Rule]] = {
    **{operator: over_input(operations) for operator, operations in _EACH.items()},
    "BatchNormalization": _batch,
    "LayerNormalization": _layer,
    "com.microsoft.SkipLayerNormalization": _skip_layer,
    "com.microsoft.SkipSimplifiedLayerNormalization": _skip_simplified,
    "com.microsoft.GroupNorm": _microsoft_group,
    "LRN": _local_response,
    "NegativeLogLikelihoodLoss": _negative_log_likelihood,
}
"""The rules of normalizations, counted over the elements of their input."""
