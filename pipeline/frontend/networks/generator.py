"""What a network that is built from its published dimensions consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from nestmap.pipeline.frontend.networks.builder import Graph
from nestmap.pipeline.frontend.networks.dims import Dim, Dims


@final
@dataclass(frozen=True)
class Generator:
    """The dimensions that a network leaves open, and what adds its nodes to a graph."""

    dims: tuple[Dim, ...]
    build: Callable[[Graph, Dims], object]


def with_block(
    name: str,
    dims: tuple[Dim, ...],
    network: Callable[[Graph, Dims], object],
    block: Callable[[Graph, Dims], object],
) -> dict[str, Generator]:
    """A network under its name, and one of its blocks under ``NAME-block``."""
    return {name: Generator(dims, network), f"{name}-block": Generator(dims, block)}
