"""A workload: a directed acyclic graph of layers, vector operators and zero-cost operators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, model_validator

from nestmap.model.base import Frozen, copy_with
from nestmap.model.errors import InputError, suggestion
from nestmap.model.units import Count, Size
from nestmap.model.workload.access import AccessRoute, Position, Tensor, VectorNest
from nestmap.model.workload.layer import Layer

if TYPE_CHECKING:
    import networkx as nx


class LayerNode(Frozen, frozen=True):
    """A node that the array computes.

    ``inputs`` and ``outputs`` are its tensors if they have names (in ONNX models); the layer has
    loops, precisions and sources. ``positions`` map the input operands of the layer to ``inputs``;
    by default they have the same order.
    """

    kind: Literal["layer"] = "layer"
    layer: Layer
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    positions: tuple[Position, ...] = ()

    @property
    def name(self) -> str:
        """The layer's name."""
        return self.layer.name

    @property
    def operator(self) -> str:
        """The layer's operator."""
        return self.layer.operator

    @property
    def sources(self) -> tuple[str, ...]:
        """The nodes whose outputs the layer reads."""
        return tuple(x.source for x in self.layer.inputs if x.source is not None)

    def reading_only(self, names: Collection[str]) -> LayerNode:
        """The same, but what other nodes than these make comes from outside."""
        inputs = tuple(
            x if x.source in names else copy_with(x, {"source": None}) for x in self.layer.inputs
        )
        return copy_with(self, {"layer": copy_with(self.layer, {"inputs": inputs})})


class VectorNode(Frozen, frozen=True):
    """An operator for the vector unit: pooling, activation, normalization, addition.

    It executes ``operations`` scalar operations in each of its ``iterations`` (given as loop
    sizes), and reads every input and writes every output once. ``nest`` gives its access pattern,
    if known.
    """

    kind: Literal["vector"] = "vector"
    name: str = Field(min_length=1)
    operator: str = Field(min_length=1)
    sources: tuple[str, ...] = ()
    iterations: tuple[Size, ...]
    operations: Count = 1
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    nest: VectorNest | None = None

    @property
    def total_operations(self) -> Count:
        """Scalar operations of all iterations."""
        return prod(self.iterations) * self.operations

    @property
    def bits_read(self) -> Count:
        """Bits of all inputs."""
        return sum(tensor.bits for tensor in self.inputs)

    @property
    def bits_written(self) -> Count:
        """Bits of all outputs."""
        return sum(tensor.bits for tensor in self.outputs)


_PRODUCT: Final = re.compile("Conv(?!ert)|MatMul|Gemm|Attention|MoE")
"""Names of operators that compute products."""


class NoCostNode(Frozen, frozen=True):
    """An operator that stays in the graph at no cost.

    It only changes the shape or place of data (Reshape, Concat), or it is unrecognized (not
    ``known``). ``routes`` give the origin of each output element; ``None``: any input element.
    """

    kind: Literal["no_cost"] = "no_cost"
    name: str = Field(min_length=1)
    operator: str
    sources: tuple[str, ...] = ()
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    known: bool = True
    routes: tuple[AccessRoute, ...] | None = None

    @property
    def seems_to_multiply(self) -> bool:
        """Whether it is unrecognized, and reads weights or is called like a product."""
        has_weights = any(x.constant and len(x.sizes or ()) > 1 for x in self.inputs)
        return not self.known and (has_weights or _PRODUCT.search(self.operator) is not None)


Node = Annotated[LayerNode | VectorNode | NoCostNode, Field(discriminator="kind")]


class Workload(Frozen, frozen=True):
    """A network: an acyclic graph of nodes with unique names.

    ``outputs`` are the nodes whose results the network gives out although other nodes read them;
    what no node reads is an output in any case.
    """

    name: str = Field(min_length=1)
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_graph(self) -> Workload:
        assert self._is_graph
        return self

    @cached_property
    def _is_graph(self) -> bool:
        """Checked once: every model that takes a workload validates it again."""
        names = Counter(node.name for node in self.nodes)
        for name, count in names.items():
            if count > 1:
                raise ValueError(f"node {name!r} occurs {count} times; expected different names")
        for output in self.outputs:
            if output not in names:
                raise ValueError(
                    f"output {output!r} is not in the workload; expected the name of a node"
                )
        for node in self.nodes:
            for source in node.sources:
                if source not in names:
                    raise ValueError(
                        f"node {node.name!r} reads from {source!r}, which is not in the workload; "
                        "expected the name of a node"
                    )
        try:
            TopologicalSorter({node.name: node.sources for node in self.nodes}).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1]
            text = " -> ".join(repr(name) for name in reversed(cycle))
            raise ValueError(f"nodes {text} form a cycle; expected an acyclic graph") from None
        return True

    @classmethod
    def of(cls, *parts: Layer | Node, name: str = "workload") -> Workload:
        """A workload of the given layers and nodes."""
        nodes = (LayerNode(layer=part) if isinstance(part, Layer) else part for part in parts)
        return cls(name=name, nodes=tuple(nodes))

    @cached_property
    def in_order(self) -> tuple[Node, ...]:
        """The nodes, every node after its sources, else as given."""
        by_name = {node.name: node for node in self.nodes}
        position = {name: i for i, name in enumerate(by_name)}

        def given_order(name: str) -> int:
            return position[name]

        order: Iterable[str] = by_name
        if any(position[x] > i for i, node in enumerate(self.nodes) for x in node.sources):
            import networkx as nx  # noqa: PLC0415 (takes long to import)

            order = nx.lexicographical_topological_sort(self.graph(), key=given_order)
        return tuple(by_name[name] for name in order)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that the array computes, every layer after its sources, else as given."""
        return tuple(node.layer for node in self.in_order if isinstance(node, LayerNode))

    @property
    def vector_nodes(self) -> tuple[VectorNode, ...]:
        """The vector operators, in the given order."""
        return tuple(node for node in self.nodes if isinstance(node, VectorNode))

    @property
    def no_cost_operators(self) -> dict[str, int]:
        """The number of zero-cost nodes of each operator type."""
        return dict(Counter(n.operator for n in self.nodes if isinstance(n, NoCostNode)))

    @property
    def unknown_operators(self) -> dict[str, int]:
        """The number of nodes of each unrecognized operator type."""
        nodes = (n for n in self.nodes if isinstance(n, NoCostNode) and not n.known)
        return dict(Counter(node.operator for node in nodes))

    @property
    def uncounted_operators(self) -> dict[str, int]:
        """The number of unrecognized nodes, by type, that seem to compute products.

        They read a constant of two axes or more, or are called like an operator that does.
        """
        nodes = (n for n in self.nodes if isinstance(n, NoCostNode) and n.seems_to_multiply)
        return dict(Counter(node.operator for node in nodes))

    @property
    def macs(self) -> Count:
        """Multiply-accumulates of all layers."""
        return sum(layer.macs for layer in self.layers)

    def only(self, *names: str) -> Workload:
        """The layers of these names, in the order of the network; all else comes from outside.

        >>> from nestmap.model.workload.builders import linear, network
        >>> first = linear("first", (1, 64), 32)
        >>> net = network("net", first, linear("second", (1, 32), 10, source=first))
        >>> net.only("second").macs
        320

        Raises:
            InputError: if the network has no such layer.
        """
        known = [layer.name for layer in self.layers]
        for name in names:
            if name not in known:
                raise InputError(f"network {self.name}: layer", repr(name), suggestion(name, known))
        found = (x for x in self.nodes if isinstance(x, LayerNode) and x.name in names)
        kept = tuple(x for x in self.outputs if x in names)
        nodes = tuple(x.reading_only(names) for x in found)
        return Workload(name=self.name, nodes=nodes, outputs=kept)

    def graph(self) -> nx.DiGraph[str]:
        """The workload as a networkx graph of node names, an edge from producer to consumer."""
        import networkx as nx  # noqa: PLC0415 (takes long to import)

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(node.name for node in self.nodes)
        graph.add_edges_from((source, node.name) for node in self.nodes for source in node.sources)
        return graph

    @property
    def readers(self) -> dict[str, tuple[str, ...]]:
        """The layers that read each layer's output, directly or through other nodes."""
        graph = self.graph()
        for node in self.nodes:
            if not isinstance(node, LayerNode):
                around = product(graph.predecessors(node.name), graph.successors(node.name))
                graph.add_edges_from(list(around))
                graph.remove_node(node.name)
        return {layer.name: tuple(graph.successors(layer.name)) for layer in self.layers}
