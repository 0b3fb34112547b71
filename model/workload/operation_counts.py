"""Scalar operations per element of vector operators, by operator name.

Covers the operators of the builders; the ONNX parser adds further ones to these.
"""

from collections.abc import Mapping
from typing import Final

SCALE_OPERATIONS: Final = 1
"""Scalar operations per score before the Softmax of attention: the scaling."""

OPERATIONS: Final[Mapping[str, int]] = {
    "Add": 1,
    "Mul": 1,
    "Tanh": 1,
    "ReduceSum": 1,
    "TopK": 2,  # a heap of the best two so far
    "Gelu": 5,  # x/2 * (1 + erf(x / sqrt 2)): two products, erf, add, product
    "Swish": 3,  # multiply, sigmoid, multiply
    "RotaryEmbedding": 3,  # each number of a pair: two products, add
    "Softmax": 5,  # maximum, subtract, exp, add, divide
    "RMSNormalization": 4,  # square, add; times the row's factor, times the scale of its own
    # mean and variance: add; subtract, square, add; times the row's factor, times the scale, bias
    "LayerNormalization": 7,
}
