"""Shapes and element types of the tensors of an ONNX graph, stated or inferred."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import onnx
from onnx import helper, shape_inference

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.onnx_file import LIBRARY_ERRORS

Shape = tuple[int | str | None, ...]
"""For each dimension its size, its name (``N``), or ``None`` if neither is known."""

Sizes = tuple[int, ...]
"""The size of each dimension."""

Types = Mapping[str, onnx.TypeProto]
"""The types of tensors by name."""

LIMIT = 2**31
"""Exclusive upper limit of sizes."""

_LONGEST = 2**20
"""Longer vectors are not shapes."""

UNSTATED = 8
"""Default bits of types without a stated precision, as in ZigZag: frameworks export networks in
float32 and float64 whatever precision they run in."""

GENERATED = "unk__"
"""The prefix of names that shape inference gives to unknown dimensions."""


@final
@dataclass(frozen=True)
class TensorFacts:
    """The shape of a tensor (``None``: unknown) and its type as ``onnx.TensorProto.DataType``."""

    shape: Shape | None
    element: int


@final
class UnknownSizesError(InputError):
    """Raised if a tensor has unknown sizes; ``where`` names the tensor and its reader."""

    def __init__(self, where: str, shape: Shape | None, maker: str) -> None:
        found = f"{'no shape' if shape is None else f'shape {shape_text(shape)}'} ({maker})"
        super().__init__(where, found, "a size for every dimension")


def infer_types(graph: onnx.GraphProto, like: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """The types of the tensors of a graph after shape inference, as far as known.

    If the library fails on the whole graph because of one node, these are the stated types.

    Args:
        graph: a graph whose nodes are in topological order.
        like: the graph's model, for its operator versions.
    """
    model = onnx.ModelProto(ir_version=like.ir_version, opset_import=like.opset_import, graph=graph)
    _hide_long(model.graph)
    stated = _types(graph)
    long = {name: kind for name, kind in stated.items() if is_long(kind)}
    plain = stated | _inferred(model, data_prop=False) | long
    if any(is_long(kind) for kind in plain.values()):
        return plain
    return plain | _inferred(model, data_prop=True)


def _hide_long(graph: onnx.GraphProto) -> None:
    """Removes the sizes of vectors that are too long to be shapes.

    If an operator reads a shape, the library creates an object for each of its elements.
    """
    for values in (graph.value_info, graph.output, graph.input):
        for value in values:
            if is_long(value.type):
                value.type.tensor_type.shape.dim[0].Clear()
    short = [tensor for tensor in graph.initializer if not is_long(stored_type(tensor))]
    del graph.initializer[:]
    graph.initializer.extend(short)


def _inferred(model: onnx.ModelProto, *, data_prop: bool) -> dict[str, onnx.TypeProto]:
    try:
        found = shape_inference.infer_shapes(model, strict_mode=False, data_prop=data_prop)
    except LIBRARY_ERRORS:
        return {}
    return _types(found.graph)


def _types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    types = {
        value.name: value.type
        for values in (graph.value_info, graph.output, graph.input)
        for value in values
        if value.type.WhichOneof("value")
    }
    types.update((tensor.name, stored_type(tensor)) for tensor in graph.initializer)
    for kind in types.values():
        clear_negative_sizes(kind)
    return types


def clear_negative_sizes(kind: onnx.TypeProto) -> None:
    """Marks negative sizes as unknown: some exporters write -1 for them."""
    for dim in kind.tensor_type.shape.dim:
        if dim.dim_value < 0:
            dim.Clear()


def is_long(kind: onnx.TypeProto) -> bool:
    """Whether a tensor is a vector too long to be a shape."""
    dims = kind.tensor_type.shape.dim
    return len(dims) == 1 and dims[0].dim_value > _LONGEST


def stored_type(tensor: onnx.TensorProto) -> onnx.TypeProto:
    """The type of a stored tensor."""
    return helper.make_tensor_type_proto(tensor.data_type, tensor.dims)


def tensor_facts(kind: onnx.TypeProto) -> TensorFacts:
    """Shape and element type in a type; unknown for sequences and maps."""
    tensor = kind.tensor_type
    shape = tuple(_size(dim) for dim in tensor.shape.dim) if tensor.HasField("shape") else None
    return TensorFacts(shape, tensor.elem_type)


def known_sizes(shape: Shape | None, where: str, maker: str) -> Sizes:
    """The sizes of a shape, checked to be known.

    Args:
        shape: the shape; ``None`` if unknown.
        where: the node and the tensor, for messages.
        maker: the producer of the tensor, for messages.

    Raises:
        UnknownSizesError: if the shape or one of its dimensions is unknown.
        InputError: if a dimension is below 1 or too large.
    """
    sizes = tuple(size for size in shape or () if isinstance(size, int))
    for size in sizes:
        if not 1 <= size < LIMIT:
            found = f"dimension {size} in shape {shape_text(shape or ())}"
            raise InputError(where, found, "1 to 2**31 - 1")
    if shape is None or len(sizes) < len(shape):
        raise UnknownSizesError(where, shape, maker)
    return sizes


def shape_text(shape: Shape) -> str:
    """The shape as text: ``[N, 3, 224, ?]``."""
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def element_text(element: int) -> str:
    """The name of an element type: ``float16``."""
    known = onnx.TensorProto.DataType.values()
    return (
        onnx.TensorProto.DataType.Name(element).lower() if element in known else f"number {element}"
    )


def whole_sizes(shape: Shape | None) -> Sizes | None:
    """The sizes of a shape, possibly 0; ``None`` if one is unknown or too large."""
    if shape is None:
        return None
    sizes = tuple(size for size in shape if isinstance(size, int) and 0 <= size < LIMIT)
    return sizes if len(sizes) == len(shape) else None


def _size(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    name = str(dim.dim_param)  # bytes if not UTF-8
    return None if name.startswith(GENERATED) else name or None


@final
@dataclass(frozen=True)
class TypedNode:
    """A node with the types of its tensors and the version of the standard operators."""

    proto: onnx.NodeProto
    types: Types
    version: int

    def has(self, position: int) -> bool:
        """Whether the node has that input."""
        return any(self.proto.input[position : position + 1])

    def shape(self, position: int) -> Shape | None:
        """The shape of an input; ``None`` if unknown or missing."""
        names = self.proto.input
        return self._shape(names[position]) if position < len(names) else None

    def axes(self, position: int) -> Shape:
        """The shape of an input; empty if unknown or missing."""
        return self.shape(position) or ()

    def element(self, position: int) -> int:
        """The element type of an input; 0 if unknown or missing."""
        names = self.proto.input
        kind = self.types.get(names[position]) if position < len(names) else None
        return 0 if kind is None else tensor_facts(kind).element

    def output(self) -> Shape | None:
        """The shape of the first output; ``None`` if unknown."""
        return self._shape(self.proto.output[0]) if self.proto.output else None

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        return next((a.i for a in self.proto.attribute if a.name == name), default)

    def integers(self, name: str) -> Sizes | None:
        """An attribute with a list of integers; ``None`` if missing."""
        return next((tuple(a.ints) for a in self.proto.attribute if a.name == name), None)

    def _shape(self, name: str) -> Shape | None:
        kind = self.types.get(name) if name else None
        return None if kind is None else tensor_facts(kind).shape
