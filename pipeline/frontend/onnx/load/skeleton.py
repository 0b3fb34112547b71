"""Copies an ONNX model without the data of its weights, which shapes do not depend on."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final, final

import onnx

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.onnx_file import locate_errors
from nestmap.pipeline.frontend.onnx.load.opsets import as_text, operator_sets, plain_domain
from nestmap.pipeline.frontend.onnx.load.shapes import clear_negative_sizes

SMALL: Final = 1024
"""The largest number of elements of a constant that keeps its data. The shapes, scales and axes
that Reshape, Resize or Slice read are not larger."""


@final
@dataclass(frozen=True)
class Skeleton:
    """A model without the data of large tensors, and the names of all its stored tensors.

    ``trusts_shapes``: what it states of shapes is true where something else follows.
    """

    model: onnx.ModelProto
    constants: frozenset[str]
    trusts_shapes: bool = False


def skeleton(model: onnx.ModelProto, where: str) -> Skeleton:
    """A small copy of the model, in which every operator domain has a version.

    Large stored tensors keep only type and dimensions: shape inference needs no more, and the copy
    stays below protobuf's size limit.

    Args:
        model: the model, left unchanged.
        where: the model, for messages.

    Raises:
        InputError: if a name is not text, or an operator set version is missing or unknown.
    """
    small = onnx.ModelProto(ir_version=model.ir_version)
    with locate_errors(where, "reading it"):
        _copy_graph(model.graph, small.graph, where)
        for function in model.functions:
            _copy_function(function, small.functions.add(), where)
        domains = {plain_domain(node.domain) for node in all_nodes(small.graph)}
        domains.update(e.domain for f in small.functions for e in f.opset_import)
        small.opset_import.extend(operator_sets(model, sorted(domains), where))
    stored = {tensor.name for tensor in model.graph.initializer}
    stored.update(sparse.values.name for sparse in model.graph.sparse_initializer)
    return Skeleton(small, frozenset(stored))


def all_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph or function, including those of its subgraphs."""
    for node in graph.node:
        yield node
        for body in subgraphs(node):
            yield from all_nodes(body)


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs that a node holds as attributes, such as the branches of an If."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _copy_graph(graph: onnx.GraphProto, small: onnx.GraphProto, where: str) -> None:
    small.name = as_text(graph.name)
    small.input.extend(graph.input)
    small.output.extend(graph.output)
    small.value_info.extend(graph.value_info)
    for node in graph.node:
        _copy_node(node, small.node.add(), where)
    for tensor in graph.initializer:
        _copy_tensor(tensor, small.initializer.add())
    for sparse in graph.sparse_initializer:
        dense = small.initializer.add()
        dense.CopyFrom(_without_data(sparse.values))
        dense.dims[:] = sparse.dims
    for tensor in small.initializer:
        _check_name(tensor.name, where)
    for values in (small.input, small.output, small.value_info):
        for value in values:
            _check_name(value.name, where)
            clear_negative_sizes(value.type)


def _copy_node(node: onnx.NodeProto, small: onnx.NodeProto, where: str) -> None:
    for name in (*node.input, *node.output):
        _check_name(name, where)
    small.name, small.op_type = as_text(node.name), _word(as_text(node.op_type))
    small.domain, small.overload = _word(plain_domain(node.domain)), as_text(node.overload)
    small.input.extend(node.input)
    small.output.extend(node.output)
    for attribute in node.attribute:
        _copy_attribute(attribute, small, where)


def _word(text: str) -> str:
    """The text with nonprintable characters replaced, because messages show it unquoted."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _copy_attribute(attribute: onnx.AttributeProto, small: onnx.NodeProto, where: str) -> None:
    if not (attribute.HasField("t") or attribute.HasField("g") or attribute.graphs):
        small.attribute.append(attribute)
        return
    copy = small.attribute.add(
        name=attribute.name, type=attribute.type, ref_attr_name=attribute.ref_attr_name
    )
    if attribute.HasField("t"):
        _copy_tensor(attribute.t, copy.t)
    if attribute.HasField("g"):
        _copy_graph(attribute.g, copy.g, where)
    for graph in attribute.graphs:
        _copy_graph(graph, copy.graphs.add(), where)


def _copy_function(function: onnx.FunctionProto, small: onnx.FunctionProto, where: str) -> None:
    small.name, small.domain = as_text(function.name), plain_domain(function.domain)
    small.overload = as_text(function.overload)
    small.input.extend(function.input)
    small.output.extend(function.output)
    small.attribute.extend(function.attribute)
    small.attribute_proto.extend(function.attribute_proto)
    small.opset_import.extend(function.opset_import)
    small.value_info.extend(function.value_info)
    for node in function.node:
        _copy_node(node, small.node.add(), where)


def _copy_tensor(tensor: onnx.TensorProto, small: onnx.TensorProto) -> None:
    inside = tensor.data_location != onnx.TensorProto.EXTERNAL
    is_small = inside and prod(tensor.dims) <= SMALL
    small.CopyFrom(tensor if is_small else _without_data(tensor))


def _without_data(tensor: onnx.TensorProto) -> onnx.TensorProto:
    return onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)


def _check_name(name: str | bytes, where: str) -> None:
    if isinstance(name, bytes):
        raise InputError(where, f"the tensor name {name!r}", "names in UTF-8")
