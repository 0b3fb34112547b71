"""Inlines the nodes of a subgraph into the enclosing graph, under unique names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import onnx

from nestmap.pipeline.frontend.onnx.load.graph import GraphNode, Names, graph_node, sort_nodes
from nestmap.pipeline.frontend.onnx.load.skeleton import subgraphs
from nestmap.pipeline.frontend.onnx.resolve.inference import TensorKnowledge

MOST_NODES: Final = 100_000
"""The largest number of nodes inlined from the bodies of If, Loop and Scan."""


class CannotExpandError(Exception):
    """Raised if a node with a body cannot be expanded; ``found`` and ``expected`` say why."""

    def __init__(self, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(found)


@final
@dataclass
class Scope:
    """The enclosing graph of a subgraph: known types and values, and used names.

    ``constants`` are the stored tensors, ``makers`` the nodes so far by the tensors they compute.
    """

    where: str
    known: TensorKnowledge
    names: Names
    tensors: Names
    constants: set[str]
    makers: dict[str, GraphNode] = field(default_factory=dict[str, GraphNode])
    nodes_left: int = field(default_factory=lambda: MOST_NODES)

    def node(
        self, name: str, operator: str, reads: Sequence[str], writes: Sequence[str]
    ) -> GraphNode:
        """A node that only moves data, under a new name."""
        proto = onnx.NodeProto(op_type=operator, input=reads, output=writes)
        made = graph_node(self.names.fresh(name), proto)
        return made if operator == "Identity" else replace(made, synthetic=True)

    def count_nodes(self, count: int) -> None:
        """Counts inlined nodes.

        Raises:
            CannotExpandError: if there are more than :data:`MOST_NODES`.
        """
        self.nodes_left -= count
        if self.nodes_left < 0:
            raise CannotExpandError(
                f"more than {MOST_NODES} nodes in all iterations", "fewer iterations"
            )


@final
@dataclass(frozen=True)
class Body:
    """A subgraph that is inlined once or several times."""

    graph: onnx.GraphProto
    scope: Scope

    def inline(self, prefix: str, bound: Mapping[str, str]) -> tuple[list[GraphNode], list[str]]:
        """Inlines the subgraph; returns its nodes and the new names of its outputs.

        Args:
            prefix: a prefix for the names of nodes and tensors.
            bound: names for tensors of the subgraph; all others get new names.

        Raises:
            InputError: if the nodes form a cycle or two of them compute the same tensor.
            CannotExpandError: if there are too many nodes.
        """
        scope, graph = self.scope, self.graph
        scope.count_nodes(len(graph.node))
        called = dict(bound)
        for tensor in graph.initializer:
            self._store(tensor, called, prefix)
        for name in (name for node in graph.node for name in node.output if name):
            if name not in called:
                called[name] = scope.tensors.fresh(prefix + name)
        for value in graph.value_info:
            if value.name in called and value.name not in bound:
                scope.known.stated.add(called[value.name], value.type)
        protos = [rename_tensors(node, called) for node in graph.node]
        nodes = sort_nodes(protos, scope.where, scope.names, prefix)
        return list(nodes), [called.get(value.name, value.name) for value in graph.output]

    def _store(self, tensor: onnx.TensorProto, called: dict[str, str], prefix: str) -> None:
        name = self.scope.tensors.fresh(prefix + tensor.name)
        called[tensor.name] = name
        self.scope.constants.add(name)
        self.scope.known.store(tensor, name)


def identity_nodes(
    node: GraphNode, outputs: Sequence[str], values: Sequence[str], scope: Scope
) -> Iterator[GraphNode]:
    """Nodes that copy the results of the last body to the outputs of a node."""
    for name, value in zip(outputs, values, strict=False):
        if name:
            yield scope.node(f"{node.name}/{name}", "Identity", [value], [name])


def rename_tensors(node: onnx.NodeProto, called: Mapping[str, str]) -> onnx.NodeProto:
    """A copy of a node with tensors renamed, also in its subgraphs."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    _rename(copy, called)
    return copy


def inner_tensors(graph: onnx.GraphProto) -> Iterator[str]:
    """The tensors defined in a subgraph, which hide those of the enclosing graph."""
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    for node in graph.node:
        yield from node.output


def _rename(node: onnx.NodeProto, called: Mapping[str, str]) -> None:
    node.input[:] = _new(node.input, called)
    node.output[:] = _new(node.output, called)
    for graph in subgraphs(node):
        hidden = set(inner_tensors(graph))
        seen = {old: new for old, new in called.items() if old not in hidden}
        for inner in graph.node:
            _rename(inner, seen)
        for value in graph.output:
            value.name = seen.get(value.name, value.name)


def _new(names: Iterable[str], called: Mapping[str, str]) -> list[str]:
    return [called.get(name, name) for name in names]
