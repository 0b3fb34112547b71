"""The parts of tensors that are read from off-chip memory, since no node writes them."""

from __future__ import annotations

from typing import NamedTuple

from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.search.multicore.allocation.core_distances import to_lists
from nestmap.search.multicore.schedule.node_reads import constant_reads


class OffChipInput(NamedTuple):
    """A part of a tensor in off-chip memory, and the input of a node that reads it."""

    part: int
    read: int
    bits: int


def offchip_inputs(nodes: CnWorkload) -> tuple[tuple[OffChipInput, ...], ...]:
    """For each node, the parts that it needs from off-chip memory."""
    reads = constant_reads(nodes)
    node, part, place = to_lists(reads.node), to_lists(reads.part), to_lists(reads.place)
    supplies = map(OffChipInput, part, place, to_lists(reads.bits[reads.part]))
    found: list[list[OffChipInput]] = [[] for _ in range(len(nodes))]
    for reader, supply in zip(node, supplies, strict=True):
        found[reader].append(supply)
    return tuple(map(tuple, found))
