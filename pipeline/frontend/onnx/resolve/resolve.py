"""Resolves an ONNX graph to the nodes that run and the known types and values of their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import onnx

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx.load.graph import (
    GraphNode,
    Names,
    Origin,
    sort_nodes,
    tensor_origins,
)
from nestmap.pipeline.frontend.onnx.load.shapes import infer_types
from nestmap.pipeline.frontend.onnx.load.skeleton import Skeleton, all_nodes, subgraphs
from nestmap.pipeline.frontend.onnx.resolve.attributes import check_attributes
from nestmap.pipeline.frontend.onnx.resolve.control_flow import EXPANSIONS
from nestmap.pipeline.frontend.onnx.resolve.crash_guards import is_safe_in_graph
from nestmap.pipeline.frontend.onnx.resolve.decompose import decomposed_nodes
from nestmap.pipeline.frontend.onnx.resolve.equations import check_equations
from nestmap.pipeline.frontend.onnx.resolve.inference import TensorKnowledge
from nestmap.pipeline.frontend.onnx.resolve.inline_subgraphs import CannotExpandError, Scope
from nestmap.pipeline.frontend.onnx.resolve.statements import Contradiction, take_statements

_STORED: Final = "the stored tensor"


@final
@dataclass(frozen=True)
class ResolvedGraph:
    """Nodes in topological order, with If, Loop and Scan expanded where possible.

    ``constants`` are the tensors known before the network runs, stored or computed.
    """

    nodes: tuple[GraphNode, ...]
    known: TensorKnowledge
    origins: dict[str, Origin]
    constants: frozenset[str]

    @property
    def contradictions(self) -> Mapping[str, Contradiction]:
        """What is wrong with nodes, by name."""
        return self.known.contradictions


@final
@dataclass
class _Frame:
    """The remaining nodes of an expansion, the node they replace, and where they start."""

    nodes: Iterator[GraphNode]
    replaced: GraphNode | None
    start: int


def resolve_graph(
    small: Skeleton, array: frozenset[str], native: frozenset[str], where: str
) -> ResolvedGraph:
    """Resolves a model to the nodes that run.

    Shapes are inferred, and small constant tensors are computed, which gives the sizes and
    conditions that depend on them.

    Args:
        small: the model.
        array: the operators that the array computes.
        native: all operators that need no expansion; others are replaced by their ONNX definition
            if it contains operators of the array.
        where: the model, for messages.

    Raises:
        InputError: if the graph cannot run, or it is unknown how often operators of the array run.
    """
    graph = small.model.graph
    nodes = sort_nodes(graph.node, where)
    if not nodes:
        raise InputError(where, "a graph without nodes", "an ONNX model with at least one node")
    tensor_origins(graph, nodes, small.constants, where)
    check_equations(nodes, where)
    check_attributes(nodes, small.model.opset_import, where)
    known = _knowledge(small, nodes, where)
    names = Names(node.name for node in nodes)
    tensors = Names(name for node in nodes for name in (*node.reads, *node.proto.output))
    scope = Scope(where, array, native, known, names, tensors, set(small.constants))
    made = _expanded(nodes, scope)
    constants = scope.constants | scope.known.values.keys()
    origins = tensor_origins(graph, made, constants, where)
    return ResolvedGraph(tuple(made), scope.known, origins, frozenset(constants))


def _knowledge(small: Skeleton, nodes: Sequence[GraphNode], where: str) -> TensorKnowledge:
    """The types and values from one pass over the graph; the rest is inferred node by node.

    The pass knows nothing of what the model states, which may be false.
    """
    graph = small.model.graph
    stated = take_statements(graph, where)
    # Inference visits nodes in the given order.
    plain = [node.proto for node in nodes if is_safe_in_graph(node.proto)]
    del graph.node[:]
    graph.node.extend(plain)
    types = infer_types(graph, small.model)
    known = TensorKnowledge(tuple(small.model.opset_import), types, stated)
    for tensor in graph.initializer:
        known.store(tensor, tensor.name)
    _check_sources(graph, known)
    return known


def _check_sources(graph: onnx.GraphProto, known: TensorKnowledge) -> None:
    """Compares what is stated of inputs and stored tensors with their types.

    Raises:
        InputError: if they contradict each other.
    """
    stored, stated = {tensor.name for tensor in graph.initializer}, known.stated
    for value in graph.input:
        if value.name in stored:  # a default that may be replaced
            stated.compare(value.name, value.type, known.types[value.name], _STORED)
        else:
            stated.check_source(value.name, value.type, "the input of the graph")
    for name in sorted(stored & stated.types.keys()):
        stated.check_source(name, known.types[name], _STORED)


def _expanded(nodes: Sequence[GraphNode], scope: Scope) -> list[GraphNode]:
    """The nodes, with nodes that have a body or a definition expanded where possible."""
    made: list[GraphNode] = []
    stack = [_Frame(iter(nodes), None, 0)]
    while stack:
        frame = stack[-1]
        try:
            node = next(frame.nodes, None)
        except CannotExpandError as error:
            stack.pop()
            del made[frame.start :]
            if frame.replaced is not None:
                _keep(frame.replaced, error, scope)
                _take(frame.replaced, made, scope)
            continue
        if node is None:
            stack.pop()
        elif node.operator in scope.native:
            _take(node, made, scope)
        else:
            expansion = EXPANSIONS.get(node.operator, decomposed_nodes)
            stack.append(_Frame(expansion(node, scope), node, len(made)))
    return made


def _take(node: GraphNode, made: list[GraphNode], scope: Scope) -> None:
    scope.known.infer(node)
    scope.makers.update((name, node) for name in node.proto.output)
    made.append(node)


def _keep(node: GraphNode, error: CannotExpandError, scope: Scope) -> None:
    """Checks that a node that cannot be expanded contains no operators of the array."""
    inside = {n.op_type for body in subgraphs(node.proto) for n in all_nodes(body)}
    array = sorted(inside & scope.array)
    if array:
        raise InputError(
            f"{scope.where}: {node}",
            f"{error.found}, with {', '.join(array)} in its body",
            f"{error.expected}, which determines how often they run",
        )
