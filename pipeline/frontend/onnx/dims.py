"""Symbolic dimensions of an ONNX model: which there are, and sizes for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import onnx

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.opsets import as_text
from nestmap.pipeline.frontend.onnx.shapes import GENERATED, LIMIT
from nestmap.pipeline.frontend.onnx.skeleton import all_nodes, subgraphs
from nestmap.pipeline.frontend.yaml.located_node import suggestion

_Dimension = onnx.TensorShapeProto.Dimension


def free_dimensions(graph: onnx.GraphProto, stored: Collection[str]) -> tuple[str, ...]:
    """The dimensions of the graph's inputs without a size: ``batch``, nameless ones ``x[0]``."""
    return tuple(_of_inputs(graph, stored))


def set_dimensions(
    model: onnx.ModelProto, stored: Collection[str], sizes: Mapping[str, int], where: str
) -> None:
    """Give symbolic dimensions a size wherever they occur.

    Args:
        model: the model, which is changed.
        stored: the names of the tensors that are stored in the model.
        sizes: sizes by name, or by input and axis (``x[0]``) where a dimension has none.
        where: the model, for messages.

    Raises:
        InputError: where the model has no such dimension or a size is not 1 up to 2**31 - 1.
    """
    if not sizes:
        return
    places = _of_inputs(model.graph, stored)
    for value in _elsewhere(model.graph):
        for _, name, dim in _free(value):
            if name:
                places.setdefault(name, []).append(dim)
    for name, size in sizes.items():
        if not places:
            raise InputError.conflict(f"--dim {name}", where, "all its sizes are fixed")
        if name not in places:
            raise InputError(where, f"no dimension {name!r}", suggestion(name, tuple(places)))
        if not 1 <= size < LIMIT:
            found = f"size {size} for dimension {name!r}"
            raise InputError(where, found, "1 up to 2**31 - 1")
        for dim in places[name]:
            dim.dim_value = size


def _of_inputs(graph: onnx.GraphProto, stored: Collection[str]) -> dict[str, list[_Dimension]]:
    """Where the dimensions without a size stand that the graph's inputs have."""
    places: dict[str, list[_Dimension]] = {}
    for value in graph.input:
        if value.name not in stored:
            for axis, name, dim in _free(value):
                places.setdefault(name or f"{value.name}[{axis}]", []).append(dim)
    return places


def _elsewhere(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    """What is stated of all tensors but the inputs, those in subgraphs included."""
    yield from graph.value_info
    yield from graph.output
    for node in all_nodes(graph):
        for body in subgraphs(node):
            for values in (body.input, body.value_info, body.output):
                yield from values


def _free(value: onnx.ValueInfoProto) -> Iterator[tuple[int, str, _Dimension]]:
    """Axis and name (empty: none) of the dimensions without a size of a tensor."""
    for axis, dim in enumerate(_shape(value.type).dim):
        if not dim.HasField("dim_value"):
            name = as_text(dim.dim_param)
            yield axis, "" if name.startswith(GENERATED) else name, dim


def _shape(kind: onnx.TypeProto) -> onnx.TensorShapeProto:
    while True:
        match kind.WhichOneof("value"):
            case "sequence_type":
                kind = kind.sequence_type.elem_type
            case "optional_type":
                kind = kind.optional_type.elem_type
            case "sparse_tensor_type":
                return kind.sparse_tensor_type.shape
            case _:
                return kind.tensor_type.shape
