"""Sorts the nodes of an ONNX graph topologically and finds the origin of each tensor."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import final

import onnx

from nestmap.model import InputError


@final
@dataclass(frozen=True)
class GraphNode:
    """A node with a unique name and the tensors that it and its subgraphs read.

    ``operator`` is its type, with the domain if not in the ONNX standard: ``com.acme.Conv``.
    ``synthetic`` nodes replace others and need not have what ONNX requires of their operators.
    ``steps`` are how often the loops around it run whose equal steps are one. A ``carried`` value
    goes from step to step, so it is not constant, even if it begins as a constant.
    """

    name: str
    operator: str
    proto: onnx.NodeProto
    reads: tuple[str, ...]
    synthetic: bool = False
    steps: tuple[int, ...] = ()
    carried: bool = False

    def __str__(self) -> str:
        return f"node {self.name!r} ({self.operator})"


@final
@dataclass(frozen=True)
class Origin:
    """The node that computes a tensor (``None``: an input), and whether the tensor is constant."""

    node: str | None
    constant: bool


@final
class Names:
    """A set of used names, and a source of new ones."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def fresh(self, wish: str) -> str:
        """Returns an unused name close to the wish and marks it as used."""
        while not wish or wish in self._taken:
            wish += "_"
        self._taken.add(wish)
        return wish


def sort_nodes(
    protos: Sequence[onnx.NodeProto], where: str, names: Names | None = None, prefix: str = ""
) -> tuple[GraphNode, ...]:
    """The nodes in topological order, otherwise in the given order.

    Args:
        protos: the nodes.
        where: the model, for messages.
        names: the names of other nodes, if any.
        prefix: a prefix for the names of these nodes.

    Raises:
        InputError: if nodes form a cycle or two of them compute the same tensor.
    """
    nodes = _named(protos, names or Names(()), prefix)
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
    """The topological order that is closest to the given positions."""
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
) -> dict[str, Origin]:
    """The origin of each tensor.

    The given constants and all tensors computed only from constants are constant.

    Args:
        graph: the graph.
        nodes: its nodes in topological order.
        constants: the names of the tensors known before the network runs.
        where: the model, for messages.

    Raises:
        InputError: if a node reads an undefined tensor.
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
        constant = not node.carried and all(origins[name].constant for name in node.reads)
        for name in filter(None, node.proto.output):
            origins[name] = Origin(node.name, constant or name in constants)
    return origins


def _makers(nodes: Sequence[GraphNode], where: str) -> dict[str, int]:
    makers: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in filter(None, node.proto.output):
            if name in makers:
                found = f"output {name!r}, which {nodes[makers[name]]} computes as well"
                raise InputError(f"{where}: {node}", found, "one node for each tensor")
            makers[name] = i
    return makers


def _named(protos: Sequence[onnx.NodeProto], names: Names, prefix: str) -> list[GraphNode]:
    # The first node of a name keeps it, even if an unnamed node precedes it.
    given = {proto.name: i for i, proto in reversed(list(enumerate(protos))) if proto.name}
    kept = {i: names.fresh(prefix + name) for name, i in reversed(given.items())}
    return [
        graph_node(kept.get(i) or names.fresh(f"{prefix}{proto.op_type}_{i}"), proto)
        for i, proto in enumerate(protos)
    ]


def graph_node(name: str, proto: onnx.NodeProto) -> GraphNode:
    """The node under a unique name."""
    domain, operator = proto.domain, proto.op_type
    full = f"{domain}.{operator}" if domain else operator
    return GraphNode(name, full, proto, tuple(dict.fromkeys(_reads(proto))))


def _reads(proto: onnx.NodeProto) -> Iterator[str]:
    yield from filter(None, proto.input)
    for attribute in proto.attribute:
        if attribute.HasField("g"):
            yield from _captured(attribute.g)
        for graph in attribute.graphs:
            yield from _captured(graph)


def _captured(graph: onnx.GraphProto) -> Iterator[str]:
    """The tensors of enclosing graphs that a subgraph reads."""
    inside = {value.name for value in graph.input} | {x.name for x in graph.initializer}
    inside.update(sparse.values.name for sparse in graph.sparse_initializer)
    for proto in graph.node:
        yield from (name for name in _reads(proto) if name not in inside)
        inside.update(proto.output)
    yield from (value.name for value in graph.output if value.name and value.name not in inside)
