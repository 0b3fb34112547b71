"""The part of an ONNX model that shapes depend on: everything but the weights' data."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import final

import onnx
from onnx import helper, inliner

from nestmap.pipeline.parsers.onnx.faults import located

# Small constants are kept: the shapes, scales and axes that Reshape, Resize or Slice read are
# among them, and none of those has more elements than this.
_KEPT_ELEMENTS = 1024


@final
@dataclass(frozen=True)
class Skeleton:
    """A model without large tensors' data, and the names of all tensors that are stored in it."""

    model: onnx.ModelProto
    constants: frozenset[str]


def skeleton(model: onnx.ModelProto, where: str) -> Skeleton:
    """A small copy of the model; calls of its local functions are replaced by their bodies.

    A large stored tensor becomes an input of the graph with the same type and dimensions, so
    shape inference sees all it needs and no size limit of protobuf matters.

    Args:
        model: the model, which is not changed.
        where: the model, for messages.

    Raises:
        InputError: where a name is not text or a local function cannot be put in place.
    """
    small = onnx.ModelProto(ir_version=model.ir_version)
    small.opset_import.extend(model.opset_import)
    small.functions.extend(model.functions)
    with located(where, "reading it"):
        _copy_graph(model.graph, small.graph)
    stored = {tensor.name for tensor in model.graph.initializer}
    stored.update(sparse.values.name for sparse in model.graph.sparse_initializer)
    if small.functions:
        small = _inlined(small, where)
    return Skeleton(small, frozenset(stored))


def _inlined(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    # A function of another operator set version would be left as it is, and the layers in it
    # overlooked. Layers are the same in all versions, so it gets the version of the model.
    versions = {entry.domain: entry.version for entry in model.opset_import}
    for function in model.functions:
        for entry in function.opset_import:
            entry.version = versions.get(entry.domain, entry.version)
    with located(where, "putting its local functions in place"):
        return inliner.inline_local_functions(model)


def _copy_graph(graph: onnx.GraphProto, small: onnx.GraphProto) -> None:
    small.input.extend(graph.input)
    small.output.extend(graph.output)
    small.value_info.extend(graph.value_info)
    for node in graph.node:
        _drop_large_constants(_appended(small, node))
    given = {value.name for value in graph.input}
    for tensor in graph.initializer:
        if _is_small(tensor):
            small.initializer.append(tensor)
        elif tensor.name not in given:
            _declare(small, tensor.name, tensor.data_type, tuple(tensor.dims))
    for sparse in graph.sparse_initializer:
        values = sparse.values
        if values.name not in given:
            _declare(small, values.name, values.data_type, tuple(sparse.dims))


def _appended(graph: onnx.GraphProto, node: onnx.NodeProto) -> onnx.NodeProto:
    graph.node.append(node)
    return graph.node[-1]


def _declare(graph: onnx.GraphProto, name: str, data_type: int, dims: tuple[int, ...]) -> None:
    graph.input.append(helper.make_tensor_value_info(name, data_type, dims))


def _is_small(tensor: onnx.TensorProto) -> bool:
    inside = tensor.data_location != onnx.TensorProto.EXTERNAL
    return inside and prod(tensor.dims) <= _KEPT_ELEMENTS


def _drop_large_constants(node: onnx.NodeProto) -> None:
    for attribute in node.attribute:
        if attribute.HasField("t") and not _is_small(attribute.t):
            empty = onnx.TensorProto(data_type=attribute.t.data_type, dims=attribute.t.dims)
            attribute.t.CopyFrom(empty)
