"""Defines the work of a vector operator: the sizes of its loops and operations per iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

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
