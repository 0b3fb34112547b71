"""What vector operators do: the loops they run through and the operations they do each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, text, whole_sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader


@final
@dataclass(frozen=True)
class Work:
    """The sizes of an operator's loops and its scalar operations in each iteration.

    A loop of size 0 says that there is nothing to do.
    """

    iterations: Sizes
    operations: int


Rule = Callable[[NodeReader], Work]
"""From an ONNX node whose tensors are of known sizes to its work."""


def over_output(operations: int) -> Rule:
    """The rule of operators that make each element of their output by so many operations."""
    return lambda reader: Work(output_sizes(reader), operations)


def over_input(operations: int) -> Rule:
    """The rule of operators that do so many operations with each element of their first input."""
    return lambda reader: Work(input_sizes(reader), operations)


def output_sizes(reader: NodeReader) -> Sizes:
    """The sizes of the first output."""
    return reader.outputs[0].sizes or ()


def input_sizes(reader: NodeReader, position: int = 0) -> Sizes:
    """The sizes of an input.

    Raises:
        InputError: where there is no such input.
    """
    return whole_sizes(reader.shape(position)) or ()


def axis_of(reader: NodeReader, default: int) -> int:
    """Attribute ``axis`` for the first input, counted from the first axis.

    Raises:
        InputError: where the input has no such axis.
    """
    rank = len(input_sizes(reader))
    axis = reader.integer("axis", default, least=-rank)
    if not -rank <= axis < rank:
        raise reader.error(f"axis {axis} of {rank} axes", "an axis of the input")
    return axis % rank


def before_and_after(reader: NodeReader) -> tuple[tuple[int, int], ...]:
    """The sizes of each axis in the first input and the first output.

    Raises:
        InputError: where one of them has more axes.
    """
    before, after = input_sizes(reader), output_sizes(reader)
    if len(before) != len(after):
        raise reader.error(f"input {text(before)} and output {text(after)}", "as many axes in both")
    return tuple(zip(before, after, strict=True))


def steps_of_halving(size: int) -> int:
    """How often so many things are halved until one is left: log2, rounded up; at least 1."""
    return max(1, (size - 1).bit_length())
