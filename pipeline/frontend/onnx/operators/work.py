"""The work of vector operators: the sizes of their loops, and operations per iteration.

One operation is an addition, subtraction, multiplication or division; a comparison, selection or
maximum; rounding, a change of sign or of type; or a function of one or two numbers for which
hardware has an instruction or a table (exp, log, sqrt, power, sine, tanh, erf, sigmoid). A
composite operator is counted as its definition in the ONNX standard, with the maximum subtracted
before a sum of exponentials. Only operations of each iteration count: the single division, root or
logarithm at the end of a row, window or channel does not, nor do addresses, random numbers and data
movement. Networks are in inference mode: Dropout moves data, and BatchNormalization is a product
and a sum.

The iterations of an elementwise operator are the elements of its output, those of a window operator
output times kernel, and those of reductions, normalizations, scans and sorting the elements of the
input.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, shape_text
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import input_sizes


@final
@dataclass(frozen=True)
class Work:
    """The sizes of an operator's loops and its scalar operations per iteration.

    A loop of size 0 means that there is no work.
    """

    iterations: Sizes
    operations: int


WorkRule = Callable[[NodeReader], Work]
"""Computes the work of an ONNX node whose tensors have known sizes."""


def over_output(operations: int) -> WorkRule:
    """The rule of operators with ``operations`` per element of their output."""
    return lambda reader: Work(output_sizes(reader), operations)


def over_input(operations: int) -> WorkRule:
    """The rule of operators with ``operations`` per element of their first input."""
    return lambda reader: Work(input_sizes(reader), operations)


def output_sizes(reader: NodeReader) -> Sizes:
    """The sizes of the first output."""
    return reader.outputs[0].sizes or ()


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
