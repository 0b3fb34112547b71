"""Keeps what a model states of its tensors, and compares it with what follows from their makers."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple, final

import onnx

from nestmap.model import InputError
from nestmap.model.errors import warn_of_input
from nestmap.pipeline.frontend.onnx.load.shapes import (
    GENERATED,
    Shape,
    element_text,
    shape_text,
    tensor_facts,
)
from nestmap.pipeline.frontend.onnx.operators.checks import Contradiction

_SHAPE: Final = "shape"


@final
@dataclass(frozen=True)
class Statements:
    """The types that a model states of tensors (``value_info``, outputs), by name.

    ``where`` names the model in messages. ``are_trusted``: shapes are as stated, whatever follows.
    """

    where: str
    types: dict[str, onnx.TypeProto] = field(default_factory=dict[str, onnx.TypeProto])
    are_trusted: bool = False

    def add(self, name: str, kind: onnx.TypeProto) -> None:
        """Adds a statement about a tensor.

        Raises:
            InputError: if it contradicts another statement.
        """
        if not kind.WhichOneof("value"):
            return
        old = self.types.get(name)
        both = None if old is None else difference(kind, old)
        if both is not None:
            raise InputError(
                f"{self.where}: tensor {name!r}",
                f"the stated {both.what}s {both.one} and {both.other}",
                f"one {both.what}",
            )
        copy = onnx.TypeProto()
        copy.CopyFrom(kind)
        self.types[name] = copy if old is None else merged_type(old, copy)

    def check_source(self, name: str, kind: onnx.TypeProto, source: str) -> None:
        """Compares the statement about a tensor that no node computes with its type.

        Args:
            name: the tensor.
            kind: its type.
            source: what has this type, for messages: ``the input of the graph``.

        Raises:
            InputError: if they contradict each other.
        """
        if name in self.types:
            self.compare(name, self.types[name], kind, source)

    def compare(self, name: str, stated: onnx.TypeProto, kind: onnx.TypeProto, source: str) -> None:
        """Compares a stated type of a tensor that no node computes with its type.

        Raises:
            InputError: if they contradict each other.
        """
        both = difference(stated, kind)
        if both is not None:
            raise InputError(
                f"{self.where}: tensor {name!r}",
                f"the stated {both.what} {both.one}",
                f"{both.other}, as {source} has",
            )

    def contradiction(self, name: str, kind: onnx.TypeProto) -> Contradiction | None:
        """The contradiction between the statement about a node's output and its inferred type."""
        stated = self.types.get(name)
        both = None if stated is None or stated is kind else difference(stated, kind)
        if both is None:
            return None
        found, follows = f"the stated {both.what} {both.one}", f"{both.other}, which follows from"
        is_shape = both.what == _SHAPE
        if is_shape and self.are_trusted:
            place = f"{self.where}: tensor {name!r}"
            warn_of_input(place, found, f"{follows} its inputs; the stated one counts")
            return None
        option = " (--trust-shapes: the stated one counts)" if is_shape else ""
        return Contradiction(found, f"{follows} its inputs{option}", name)

    def settle(self, name: str, kind: onnx.TypeProto | None) -> onnx.TypeProto | None:
        """The type of a node's output, given the inferred one and what is stated of it."""
        stated = self.types.get(name)
        if stated is None:
            return kind
        if self.are_trusted and kind is not None:
            return merged_type(stated, kind)
        return merged_type(kind, stated)


def take_statements(graph: onnx.GraphProto, where: str, *, are_trusted: bool = False) -> Statements:
    """Moves the statements about tensors out of a graph; only its inputs keep their types.

    Raises:
        InputError: if two statements contradict each other.
    """
    statements = Statements(where, are_trusted=are_trusted)
    for values in (graph.value_info, graph.output):
        for value in values:
            statements.add(value.name, value.type)
            value.ClearField("type")
    del graph.value_info[:]
    return statements


class Difference(NamedTuple):
    """Two texts for what differs between types: a ``shape`` or an ``element type``."""

    what: str
    one: str
    other: str


def difference(one: onnx.TypeProto, other: onnx.TypeProto) -> Difference | None:
    """The difference between two types of tensors; what is unknown does not differ."""
    if one.WhichOneof("value") != "tensor_type" or other.WhichOneof("value") != "tensor_type":
        return None
    here, there = tensor_facts(one), tensor_facts(other)
    if here.shape is not None and there.shape is not None and _differ(here.shape, there.shape):
        return Difference(_SHAPE, shape_text(here.shape), shape_text(there.shape))
    if here.element and there.element and here.element != there.element:
        return Difference("element type", element_text(here.element), element_text(there.element))
    return None


def merged_type(first: onnx.TypeProto | None, second: onnx.TypeProto) -> onnx.TypeProto:
    """The union of what two types say; where they differ, the first one holds."""
    if first is None or not first.WhichOneof("value"):
        return second
    if first.WhichOneof("value") != "tensor_type" or not second.HasField("tensor_type"):
        return first
    if _is_complete(first.tensor_type):
        return first
    merged = onnx.TypeProto()
    merged.CopyFrom(first)
    tensor, other = merged.tensor_type, second.tensor_type
    if not tensor.elem_type:
        tensor.elem_type = other.elem_type
    if not tensor.HasField("shape"):
        if other.HasField("shape"):
            tensor.shape.CopyFrom(other.shape)
    elif len(tensor.shape.dim) == len(other.shape.dim):
        for dim, more in zip(tensor.shape.dim, other.shape.dim, strict=True):
            if not dim.HasField("dim_value") and _says_more(more, dim):
                dim.CopyFrom(more)
    return merged


def _is_complete(tensor: onnx.TypeProto.Tensor) -> bool:
    dims = tensor.shape.dim
    has_shape = tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in dims)
    return has_shape and tensor.elem_type != 0


def _says_more(
    one: onnx.TensorShapeProto.Dimension, other: onnx.TensorShapeProto.Dimension
) -> bool:
    """Whether a dimension has a size, or a name where an unknown one has none."""
    return one.HasField("dim_value") or (_has_name(one) and not _has_name(other))


def _has_name(dim: onnx.TensorShapeProto.Dimension) -> bool:
    name = str(dim.dim_param)  # bytes if not UTF-8
    return bool(name) and not name.startswith(GENERATED)


def _differ(one: Shape, other: Shape) -> bool:
    return len(one) != len(other) or any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(one, other, strict=True)
    )
