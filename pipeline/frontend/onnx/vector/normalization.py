"""Counts the operations of normalizations, Softmax and losses per element of their input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nestmap.model.workload.operation_counts import OPERATIONS
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.vector import operation_counts as counts

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


def _batch(reader: NodeReader) -> counts.Work:
    # In inference, the factor and the offset of each channel are constants.
    training = reader.flag("training_mode")
    return counts.Work(counts.input_sizes(reader), _MOMENTS + 3 if training else 2)


def _layer(reader: NodeReader) -> counts.Work:
    """Moments, times the row's factor, times the scale, bias."""
    return counts.Work(counts.input_sizes(reader), _MOMENTS + 2 + reader.has(2))


def _skip_layer(reader: NodeReader) -> counts.Work:
    # input, skip, gamma, beta, bias
    return counts.Work(counts.input_sizes(reader), 1 + _MOMENTS + 2 + reader.has(3) + reader.has(4))


def _skip_simplified(reader: NodeReader) -> counts.Work:
    # input, skip, gamma, bias
    return counts.Work(counts.input_sizes(reader), 1 + 4 + reader.has(3))


def _microsoft_group(reader: NodeReader) -> counts.Work:
    # The activation is Swish with a factor of 1.
    return counts.Work(counts.input_sizes(reader), _MOMENTS + 3 + 2 * reader.flag("activation"))


def _local_response(reader: NodeReader) -> counts.Work:
    # A square and a sum for each channel of the window; product, bias, power, divide.
    return counts.Work(counts.input_sizes(reader), 2 * reader.integer("size", 1) + 4)


def _negative_log_likelihood(reader: NodeReader) -> counts.Work:
    """For each target: negate, multiply by its weight, add."""
    summed = reader.text("reduction", "mean") != "none"
    return counts.Work(counts.input_sizes(reader, 1), 1 + reader.has(2) + summed)


NORMALIZATIONS: Final[Mapping[str, counts.Rule]] = {
    **{operator: counts.over_input(operations) for operator, operations in _EACH.items()},
    "BatchNormalization": _batch,
    "LayerNormalization": _layer,
    "com.microsoft.SkipLayerNormalization": _skip_layer,
    "com.microsoft.SkipSimplifiedLayerNormalization": _skip_simplified,
    "com.microsoft.GroupNorm": _microsoft_group,
    "LRN": _local_response,
    "NegativeLogLikelihoodLoss": _negative_log_likelihood,
}
"""The rules of normalizations, counted over the elements of their input."""
