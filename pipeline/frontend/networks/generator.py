"""The generator of a network: its open dimensions and the function that builds its graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from nestmap.pipeline.frontend.networks.builder import Graph
from nestmap.pipeline.frontend.networks.dims import Dim, Dims


@final
@dataclass(frozen=True)
class Generator:
    """The open dimensions of a network, and the function that adds its nodes to a graph."""

    dims: tuple[Dim, ...]
    build: Callable[[Graph, Dims], object]


def with_block(
    name: str,
    dims: tuple[Dim, ...],
    network: Callable[[Graph, Dims], object],
    block: Callable[[Graph, Dims], object],
) -> dict[str, Generator]:
    """The generators of a network and, as ``NAME-block``, of a single block of it."""
    return {name: Generator(dims, network), f"{name}-block": Generator(dims, block)}
