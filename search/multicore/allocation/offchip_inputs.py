"""The parts of tensors that come from off the chip, since no node writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nestmap.model.multicore.cn_layer import CnLayer, TensorUse
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.split_options import Convention
from nestmap.search.multicore.allocation.core_distances import listed


class Supply(NamedTuple):
    """A part of a tensor that comes from off the chip, and which input of a node it is."""

    part: int
    read: int
    bits: int


def supplies_of(nodes: CnWorkload) -> tuple[tuple[Supply, ...], ...]:
    """For each node the parts that it needs from off the chip."""
    found: list[list[Supply]] = [[] for _ in range(len(nodes))]
    count = 0
    for place, layer in enumerate(nodes.layers):
        first = int(nodes.first[place])
        for read in _from_offchip(nodes, place):
            parts, bits = _parts(layer, layer.nest.inputs[read], nodes.convention)
            for number, (part, size) in enumerate(zip(parts, bits, strict=True)):
                found[first + number].append(Supply(count + part, read, size))
            count += max(parts) + 1
    return tuple(map(tuple, found))


def _from_offchip(nodes: CnWorkload, place: int) -> Iterator[int]:
    """The inputs of a layer that no node writes."""
    consumer, read = nodes.edges.consumer, nodes.edges.read
    here = (consumer >= nodes.first[place]) & (consumer < nodes.first[place + 1])
    written = set(listed(read[here]))
    yield from (i for i in range(len(nodes.layers[place].nest.inputs)) if i not in written)


def _parts(layer: CnLayer, use: TensorUse, convention: Convention) -> tuple[list[int], list[int]]:
    """Which part of a tensor each node of a layer reads, and how many bits that has."""
    ranges = [x for axis in use.axes for x in layer.range_of(axis, convention)]
    bits = layer.bits_of(use, convention)
    rows = np.stack([*ranges, bits], axis=1)
    _, parts = np.unique(rows, axis=0, return_inverse=True)
    return listed(parts.reshape(-1)), listed(bits)
