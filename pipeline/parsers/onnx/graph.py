"""The nodes of an ONNX graph in an order in which they can run, and where tensors come from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import final

import onnx

from nestmap.model import InputError

_STANDARD_DOMAINS = ("", "ai.onnx")


@final
@dataclass(frozen=True)
class GraphNode:
    """A node with a name of its own and the tensors it reads, those of its subgraphs included.

    ``operator`` is its type; outside the ONNX standard with the domain: ``com.acme.Conv``.
    """

    name: str
    operator: str
    proto: onnx.NodeProto
    reads: tuple[str, ...]

    def __str__(self) -> str:
        return f"node {self.name!r} ({self.operator})"


@final
@dataclass(frozen=True)
class Origin:
    """The node that makes a tensor (``None``: outside), and whether it is known beforehand."""

    node: str | None
    constant: bool


def nodes_in_order(graph: onnx.GraphProto, where: str) -> tuple[GraphNode, ...]:
    """All nodes, each after those it reads from, else as they stand in the graph.

    Raises:
        InputError: where nodes form a cycle or two of them make the same tensor.
    """
    nodes = _named(graph.node)
    makers = _makers(nodes, where)
    sorter = TopologicalSorter(
        {i: [makers[x] for x in node.reads if x in makers] for i, node in enumerate(nodes)}
    )
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]
        text = " -> ".join(repr(nodes[i].name) for i in cycle)
        raise InputError(where, f"a cycle of nodes {text}", "an acyclic graph") from None
    return tuple(nodes[i] for i in _smallest_first(sorter))


def _smallest_first(sorter: TopologicalSorter[int]) -> Iterator[int]:
    """The topological order that keeps positions as they are wherever it can."""
    ready = list(sorter.get_ready())
    heapify(ready)
    while ready:
        position = heappop(ready)
        yield position
        sorter.done(position)
        for freed in sorter.get_ready():
            heappush(ready, freed)


def tensor_origins(
    graph: onnx.GraphProto, nodes: Iterable[GraphNode], constants: Collection[str], where: str
) -> Mapping[str, Origin]:
    """Where each tensor comes from.

    Constant are the stored tensors and whatever nodes make of nothing but constants.

    Args:
        graph: the graph.
        nodes: its nodes in an order in which they can run.
        constants: the names of the tensors that are stored in the model.
        where: the model, for messages.

    Raises:
        InputError: where a node reads a tensor that nothing produces.
    """
    origins = {value.name: Origin(None, constant=False) for value in graph.input}
    origins.update((name, Origin(None, constant=True)) for name in constants)
    for node in nodes:
        for name in node.reads:
            if name not in origins:
                raise InputError(
                    f"{where}: {node}",
                    f"input {name!r}, which nothing produces",
                    "the output of a node, an input of the graph or an initializer",
                )
        origin = Origin(node.name, all(origins[name].constant for name in node.reads))
        origins.update((name, origin) for name in node.proto.output if name)
    return origins


def _makers(nodes: Sequence[GraphNode], where: str) -> dict[str, int]:
    makers: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in filter(None, node.proto.output):
            if name in makers:
                found = f"output {name!r}, which {nodes[makers[name]]} makes as well"
                raise InputError(f"{where}: {node}", found, "one node for each tensor")
            makers[name] = i
    return makers


def _named(protos: Sequence[onnx.NodeProto]) -> tuple[GraphNode, ...]:
    given = [_text(proto.name) for proto in protos]
    taken = set(given)
    used = {""}
    nodes: list[GraphNode] = []
    for i, (name, proto) in enumerate(zip(given, protos, strict=True)):
        own = _free(f"{_text(proto.op_type)}_{i}", taken) if name in used else name
        taken.add(own)
        used.add(own)
        nodes.append(GraphNode(own, _operator(proto), proto, tuple(dict.fromkeys(_reads(proto)))))
    return tuple(nodes)


def _operator(proto: onnx.NodeProto) -> str:
    domain, operator = _text(proto.domain), _text(proto.op_type)
    return operator if domain in _STANDARD_DOMAINS else f"{domain}.{operator}"


def _text(value: str | bytes) -> str:
    """A text field; protobuf hands it out as bytes where it is not UTF-8."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _reads(proto: onnx.NodeProto) -> Iterator[str]:
    yield from filter(None, proto.input)
    for attribute in proto.attribute:
        if attribute.HasField("g"):
            yield from _captured(attribute.g)
        for graph in attribute.graphs:
            yield from _captured(graph)


def _captured(graph: onnx.GraphProto) -> Iterator[str]:
    """The tensors of the enclosing graphs that a subgraph reads."""
    inside = {value.name for value in graph.input} | {x.name for x in graph.initializer}
    inside.update(sparse.values.name for sparse in graph.sparse_initializer)
    for proto in graph.node:
        yield from (name for name in _reads(proto) if name not in inside)
        inside.update(proto.output)
    yield from (value.name for value in graph.output if value.name and value.name not in inside)
