"""Checks what the shape inference of the onnx package does not: whether a node's tensors fit.

The package infers the sizes of an output from those inputs that determine them and ignores others.
"""

from collections.abc import Callable, Iterable
from math import prod
from typing import Final, NamedTuple

from onnx import TensorProto

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.shapes import (
    Shape,
    TypedNode,
    element_text,
    shape_text,
    whole_sizes,
)

_FIRST_BROADCAST: Final = 7
"""The first version of the standard operators in which shapes broadcast without attributes."""

_NOT_NUMBERS: Final = frozenset((TensorProto.STRING, TensorProto.BOOL))


class Contradiction(NamedTuple):
    """What is wrong with a node, and what is expected; ``output`` names the tensor, if any."""

    found: str
    expected: str
    output: str = ""

    def error(self, where: str) -> InputError:
        """The error, located at the node."""
        place = f"{where}: output {self.output!r}" if self.output else where
        return InputError(place, self.found, self.expected)


Check = Callable[[TypedNode], Contradiction | None]
"""The first contradiction between the tensors of a node; unknown sizes contradict nothing."""

Lengths = Callable[[TypedNode], Iterable[int | None]]
"""The lengths that an input may have; ``None``: any."""


def broadcast(positions: Iterable[int] | None = None) -> Check:
    """Inputs (default: all) that broadcast to each other."""

    def rule(node: TypedNode) -> Contradiction | None:
        if node.version < _FIRST_BROADCAST:
            return None
        places = range(len(node.proto.input)) if positions is None else positions
        shapes = [shape for i in places if (shape := node.shape(i)) is not None]
        columns: dict[int, set[int]] = {}
        for shape in shapes:
            for i, size in enumerate(reversed(shape)):
                if isinstance(size, int) and size != 1:
                    columns.setdefault(i, set()).add(size)
        if all(len(sizes) == 1 for sizes in columns.values()):
            return None
        found = f"inputs of shapes {' and '.join(map(shape_text, shapes))}"
        return Contradiction(found, "shapes that broadcast to each other")

    return rule


def spreads(position: int, what: str, to: Callable[[TypedNode], Shape | None]) -> Check:
    """An input that broadcasts to a shape without changing it."""

    def rule(node: TypedNode) -> Contradiction | None:
        own, whole = node.shape(position), to(node)
        if own is None or whole is None or node.version < _FIRST_BROADCAST:
            return None
        pairs = zip(reversed(own), reversed(whole), strict=False)
        if len(own) <= len(whole) and not any(
            isinstance(a, int) and isinstance(b, int) and a not in (1, b) for a, b in pairs
        ):
            return None
        found = f"{what} of shape {shape_text(own)}"
        return Contradiction(found, f"a shape that broadcasts to {shape_text(whole)}")

    return rule


def one_axis(position: int, what: str, lengths: Lengths) -> Check:
    """An input with one axis of one of the given lengths (``None``: any)."""

    def rule(node: TypedNode) -> Contradiction | None:
        own, allowed = node.shape(position), list(lengths(node))
        if own is None or not allowed or None in allowed:
            return None
        if len(own) == 1 and (not isinstance(own[0], int) or own[0] in allowed):
            return None
        choices = " or ".join(f"[{length}]" for length in dict.fromkeys(allowed))
        return Contradiction(f"{what} of shape {shape_text(own)}", f"shape {choices}")

    return rule


def extent(position: int, axis: int) -> Lengths:
    """The size of an axis of an input."""
    return lambda node: [size_at(node, position, axis)]


def size_at(node: TypedNode, position: int, axis: int) -> int | None:
    """The size of an axis of an input; ``None`` if unknown or missing."""
    shape = node.shape(position)
    size = shape[axis] if shape is not None and axis < len(shape) else None
    return size if isinstance(size, int) else None


def numbers(*positions: int) -> Check:
    """Inputs with elements that can be multiplied."""

    def rule(node: TypedNode) -> Contradiction | None:
        for position in positions:
            if node.element(position) in _NOT_NUMBERS:
                found = f"elements of type {element_text(node.element(position))}"
                name = node.proto.input[position]
                return Contradiction(f"input {name!r} with {found}", "numbers")
        return None

    return rule


def first_shape(node: TypedNode) -> Shape | None:
    """The shape of the first input."""
    return node.shape(0)


def one_number(position: int, what: str) -> Check:
    """An input of one element."""

    def rule(node: TypedNode) -> Contradiction | None:
        sizes = whole_sizes(node.shape(position))
        if sizes is None or prod(sizes) == 1:
            return None
        return Contradiction(f"{what} of shape {shape_text(sizes)}", "one number")

    return rule
