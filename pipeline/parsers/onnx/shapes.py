"""The shapes of the tensors of an ONNX graph, as far as they are written there or follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx
from onnx import shape_inference

from nestmap.model import InputError
from nestmap.pipeline.parsers.onnx.faults import located

Shape = tuple[int | str | None, ...]
"""Per dimension its size, else the name it goes by (``N``), else ``None``."""

Sizes = tuple[int, ...]
"""Per dimension its size."""

LIMIT = 2**31
"""Sizes are below this."""

_GENERATED = "unk__"
"""How the names begin that shape inference itself gives to unknown dimensions."""


def infer_shapes(model: onnx.ModelProto, where: str) -> Mapping[str, Shape]:
    """The shapes of all tensors that have one, after shape inference.

    Raises:
        InputError: where shape inference gives up on the whole model.
    """
    with located(where, "shape inference"):
        inferred = shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    return dict(_shapes(inferred.graph))


def known_sizes(shape: Shape | None, where: str, maker: str) -> Sizes:
    """The sizes of a shape whose dimensions are all known.

    Args:
        shape: the shape; ``None`` if there is none.
        where: the node and the tensor, for messages.
        maker: what makes the tensor, for messages.

    Raises:
        InputError: where the shape or one of its dimensions is unknown, below 1 or too large.
    """
    if shape is None:
        found = f"no shape ({maker}), and shape inference finds none"
        raise InputError(where, found, "a value_info entry with the tensor's shape")
    return tuple(_known(size, shape, where) for size in shape)


def text(shape: Shape) -> str:
    """A shape as one reads it: ``[N, 3, 224, ?]``."""
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _known(size: int | str | None, shape: Shape, where: str) -> int:
    if isinstance(size, int):
        if 1 <= size < LIMIT:
            return size
        raise InputError(where, f"dimension {size} in shape {text(shape)}", "1 up to 2**31 - 1")
    what = "an unknown dimension" if size is None else f"symbolic dimension {size!r}"
    raise InputError(
        where,
        f"{what} in shape {text(shape)}",
        "a number for every dimension; fix it when exporting, or with onnx.tools.update_model_dims",
    )


def _shapes(graph: onnx.GraphProto) -> Iterator[tuple[str, Shape]]:
    for values in (graph.value_info, graph.output, graph.input):
        for value in values:
            if value.type.tensor_type.HasField("shape"):
                yield value.name, tuple(_size(dim) for dim in value.type.tensor_type.shape.dim)
    for tensor in graph.initializer:
        yield tensor.name, tuple(tensor.dims)


def _size(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    name = str(dim.dim_param)  # not UTF-8: bytes
    return None if name.startswith(_GENERATED) else name or None
