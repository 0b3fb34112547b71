"""The tensors that memories may hold while a node is scheduled, with unscheduled readers.

All other tensors leave when their last reader ends, so that the node eventually fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, final

from nestmap.model.multicore.cn_workload import WITHIN_GROUP
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.search.multicore.allocation.core_distances import to_lists
from nestmap.search.multicore.allocation.offchip_inputs import OffChipInput

NodeSet = int
"""A bit for each node."""

LARGEST: Final = 500
"""The largest network in nodes that is analyzed in this detail."""


class HeldTensor(NamedTuple):
    """A tensor: its bits, the nodes that bring it into a memory, and its readers."""

    bits: int
    makers: NodeSet
    readers: NodeSet


@final
class MemoryPressure:
    """The tensors of a problem, and the most bits of them held at a time.

    ``own`` are the bits that each node needs for itself, in addition to outputs of other nodes.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        supplies: tuple[tuple[OffChipInput, ...], ...],
        bits: list[int],
    ) -> None:
        self._prefetches = bool(problem.options.prefetch)
        self.own: Final = [
            made + sum(x.bits for x in read) for made, read in zip(bits, supplies, strict=True)
        ]
        self._tensors = (*self._outputs(problem, bits), *self._parts(supplies))
        self._close = len(bits) <= LARGEST

    def held(self, planned: NodeSet, waiting: NodeSet) -> int | None:
        """The most bits that a memory holds for nodes that may not be scheduled yet.

        ``planned`` are all nodes that may be scheduled by then, ``waiting`` those that may not be.
        ``None``: not analyzed.
        """
        if not self._close:
            return None
        return sum(x.bits for x in self._tensors if x.makers & planned and x.readers & waiting)

    def _outputs(self, problem: ScheduleProblem, bits: list[int]) -> Iterable[HeldTensor]:
        edges, readers = problem.nodes.edges, [0] * len(bits)
        columns = to_lists(edges.producer), to_lists(edges.consumer), to_lists(edges.read)
        for producer, consumer, read in zip(*columns, strict=True):
            if read != WITHIN_GROUP:
                readers[producer] |= 1 << consumer
        return (HeldTensor(size, 1 << x, readers[x]) for x, size in enumerate(bits))

    def _parts(self, supplies: tuple[tuple[OffChipInput, ...], ...]) -> Iterable[HeldTensor]:
        """The off-chip inputs, brought for their first reader or before the first node runs.

        An input with one reader is not held while that reader waits.
        """
        sizes: dict[int, int] = {}
        readers: dict[int, NodeSet] = {}
        for node, read in enumerate(supplies):
            for x in read:
                sizes[x.part] = x.bits
                readers[x.part] = readers.get(x.part, 0) | 1 << node
        for part, nodes in readers.items():
            if self._prefetches:
                yield HeldTensor(sizes[part], -1, nodes)
            elif nodes.bit_count() > 1:
                yield HeldTensor(sizes[part], nodes, nodes)
