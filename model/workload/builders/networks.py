"""The builder for networks: layers and nodes, connected by the sources they name."""

from __future__ import annotations

from nestmap.model.workload.builders.operands import NetworkPart
from nestmap.model.workload.graph import Workload


def network(name: str, *parts: NetworkPart | tuple[NetworkPart, ...]) -> Workload:
    """A network of layers and nodes, in any order, connected by their sources.

    >>> from nestmap.model.workload.builders import conv2d
    >>> c1 = conv2d("c1", (1, 3, 32, 32), (16, 3, 3, 3), padding=1)
    >>> c2 = conv2d("c2", (1, 16, 32, 32), (32, 16, 3, 3), padding=1, source=c1)
    >>> mine = network("mine", c1, c2)
    >>> mine.macs, mine.readers
    (5160960, {'c1': ('c2',), 'c2': ()})

    Raises:
        pydantic.ValidationError: if two parts have the same name, or a source is missing.
    """
    flat = (part for given in parts for part in (given if isinstance(given, tuple) else (given,)))
    return Workload.of(*flat, name=name)
