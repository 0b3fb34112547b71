"""Checks attributes of nodes before inference: their names, and the equations of Einsum.

The shape inference of the onnx package (1.23) never terminates on some invalid equations.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import onnx
from onnx import defs

from nestmap.model import InputError
from nestmap.model.errors import shortened, suggestion
from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.opsets import as_text, schema_of
from nestmap.pipeline.frontend.onnx.load.skeleton import all_nodes, subgraphs
from nestmap.pipeline.frontend.onnx.operators.einsum import EQUATION, terms_of

OWN_ATTRIBUTES: Final = frozenset({"weight_size", "act_size", "output_size"})
"""The attributes of nodes that ONNX does not have: the bits of operands, as ZigZag names them."""


def check_attributes(
    nodes: Iterable[GraphNode], opsets: Iterable[onnx.OperatorSetIdProto], where: str
) -> None:
    """Checks the attributes of all nodes, including those in subgraphs.

    An attribute of another version of the operator is accepted, because local functions may contain
    operators of another version than the model's.

    Args:
        nodes: the nodes of the graph.
        opsets: the versions of the operators.
        where: the model, for messages.

    Raises:
        InputError: if an operator of ONNX has no such attribute, or has it twice.
    """
    versions = tuple(opsets)
    for node in nodes:
        _check(node.proto, versions, f"{where}: {node}")
        for inner in (x for body in subgraphs(node.proto) for x in all_nodes(body)):
            _check(inner, versions, f"{where}: {node}: node {inner.name!r} ({inner.op_type})")


def check_equations(nodes: Iterable[GraphNode], where: str) -> None:
    """Checks all equations, including those in subgraphs.

    Args:
        nodes: the nodes of the graph.
        where: the model, for messages.

    Raises:
        InputError: if an equation is invalid.
    """
    for node in nodes:
        for equation in _equations(node.proto):
            if terms_of(equation) is None:
                raise InputError(f"{where}: {node}", f"equation {equation!r}", EQUATION)


def _equations(proto: onnx.NodeProto) -> Iterator[str]:
    for attribute in proto.attribute:
        if proto.op_type == "Einsum" and attribute.name == "equation":
            yield attribute.s.decode(errors="replace")
        graphs = [attribute.g] if attribute.HasField("g") else []
        for graph in (*graphs, *attribute.graphs):
            for inner in graph.node:
                yield from _equations(inner)


def _check(proto: onnx.NodeProto, opsets: tuple[onnx.OperatorSetIdProto, ...], where: str) -> None:
    schema = schema_of(proto, opsets) if proto.attribute else None
    if schema is None:
        return
    seen: set[str] = set()
    for attribute in proto.attribute:
        name = as_text(attribute.name)
        if name in seen:
            raise InputError(where, f"attribute {_shown(name)} twice", "one value for it")
        seen.add(name)
        known = name in OWN_ATTRIBUTES or name in _names(schema)
        if not known and name not in _of_all_versions(proto.op_type, proto.domain):
            choices = sorted({*schema.attributes, *OWN_ATTRIBUTES})
            raise InputError(where, f"attribute {_shown(name)}", suggestion(name, choices))


def _shown(name: str) -> str:
    return repr(shortened(name))


@cache
def _names(schema: defs.OpSchema) -> frozenset[str]:
    return frozenset(schema.attributes)  # made anew for every question


@cache
def _of_all_versions(operator: str, domain: str) -> frozenset[str]:
    """The names of an operator's attributes in any version."""
    schemas = defs.get_all_schemas_with_history()
    found = (x.attributes for x in schemas if x.name == operator and x.domain == domain)
    return frozenset(name for attributes in found for name in attributes)
