"""The generator of a network: its open dimensions and the function that makes its nodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.networks.builder import Graph
from nestmap.pipeline.frontend.networks.dims import Dim, Dims
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph


@final
@dataclass(frozen=True)
class Generator:
    """The open dimensions of a network, and the function that makes its nodes."""

    dims: tuple[Dim, ...]
    make: Callable[[Dims], tuple[Node, ...]]


def for_images(dims: tuple[Dim, ...], network: Callable[[ImageGraph, Dims], object]) -> Generator:
    """The generator of a network for images."""

    def make(asked: Dims) -> tuple[Node, ...]:
        graph = ImageGraph(asked.precision)
        network(graph, asked)
        return graph.nodes(asked.where)

    return Generator(dims, make)


def with_block(
    name: str,
    dims: tuple[Dim, ...],
    network: Callable[[Graph, Dims], object],
    block: Callable[[Graph, Dims], object],
) -> dict[str, Generator]:
    """The generators of a network and, as ``NAME-block``, of a single block of it."""
    return {name: _for_tokens(dims, network), f"{name}-block": _for_tokens(dims, block)}


def _for_tokens(dims: tuple[Dim, ...], network: Callable[[Graph, Dims], object]) -> Generator:
    def make(asked: Dims) -> tuple[Node, ...]:
        graph = Graph(asked.precision)
        network(graph, asked)
        return tuple(graph.nodes)

    return Generator(dims, make)
