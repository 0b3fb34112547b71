"""Decomposes operators that ONNX defines by functions of other operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import onnx
from onnx import helper, inliner

from nestmap.pipeline.frontend.onnx.load.errors import LIBRARY_ERRORS
from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.opsets import schema_of
from nestmap.pipeline.frontend.onnx.load.skeleton import all_nodes, subgraphs
from nestmap.pipeline.frontend.onnx.resolve.inline_subgraphs import (
    Body,
    CannotExpandError,
    Scope,
    identity_nodes,
)

_Builder = Callable[[bytes, Sequence[bytes]], bytes]


def decomposed_nodes(node: GraphNode, scope: Scope) -> Iterator[GraphNode]:
    """The nodes of an operator's definition in the ONNX standard.

    Raises:
        CannotExpandError: if the operator has no definition, or one without array operators.
    """
    if any(True for _ in subgraphs(node.proto)):
        raise CannotExpandError("a body that runs an unknown number of times", "one run")
    function = _definition(node, scope)
    if not any(inner.op_type in scope.array for inner in all_nodes(function)):
        raise CannotExpandError("no operators of the array", "operators of the array")
    graph = _opened(node, function)
    bound = {value.name: value.name for value in graph.input}
    nodes, outputs = Body(graph, scope).inline(f"{node.name}/", bound)
    # ONNX defines them, so they fit together, in whatever version of their operators.
    yield from (replace(inner, synthetic=True) for inner in nodes)
    yield from identity_nodes(node, node.proto.output, outputs, scope)


def _definition(node: GraphNode, scope: Scope) -> onnx.FunctionProto:
    """The definition; without nodes if there is none."""
    schema = schema_of(node.proto, scope.known.opsets)
    if schema is None or schema.function_body.node:
        return onnx.FunctionProto() if schema is None else schema.function_body
    if not scope.known.is_valid(node):
        return onnx.FunctionProto()
    types = [scope.known.types.get(name, onnx.TypeProto()) for name in node.proto.input]
    values = [kind.SerializeToString() for kind in types]
    # Some definitions depend on attributes and types. (The inliner would build them itself, but
    # fails if an input is left out.)
    build = cast("_Builder", schema.get_context_dependent_function)  # type: ignore[attr-defined]
    try:
        return onnx.FunctionProto.FromString(build(node.proto.SerializeToString(), values))
    except LIBRARY_ERRORS:
        return onnx.FunctionProto()


def _opened(node: GraphNode, function: onnx.FunctionProto) -> onnx.GraphProto:
    """The definition, inlined with the inputs, outputs and attributes of the node."""
    names = dict.fromkeys(filter(None, node.proto.input))
    graph = helper.make_graph(
        [node.proto],
        "definition",
        [onnx.ValueInfoProto(name=name) for name in names],
        [onnx.ValueInfoProto(name=name) for name in node.proto.output],
    )
    versions = {entry.domain: entry.version for entry in function.opset_import}
    versions.setdefault(node.proto.domain, 1)
    opsets = [helper.make_opsetid(*entry) for entry in versions.items()]
    model = helper.make_model(graph, functions=[function], opset_imports=opsets)
    try:
        return inliner.inline_local_functions(model).graph
    except LIBRARY_ERRORS as error:
        raise CannotExpandError(str(error), "a node that fits its definition") from None
