"""The tensors that use each channel, depending on the allocation, for a constraint program."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, final

import numpy as np

from nestmap.model.arrays import Flags
from nestmap.search.multicore.allocation.core_distances import cycles, to_lists
from nestmap.search.multicore.allocation.lower_bounds import Bounds
from nestmap.search.multicore.allocation.requirements import Requirements

Columns = tuple[int, ...]
"""The columns of the cores of some node groups."""


class Condition(NamedTuple):
    """A condition on the cores of one or two node groups; ``columns`` are the combinations."""

    genes: tuple[int, ...]
    columns: frozenset[Columns]


class LinkUse(NamedTuple):
    """If a condition holds, a tensor uses a channel before a node starts (``None``.

    At any time).
    """

    condition: Condition
    node: int | None


class SentTensor(NamedTuple):
    """A tensor that may use a channel: after a node (``None``: from the start), for its uses."""

    maker: int | None
    time: int
    uses: tuple[LinkUse, ...]

    @property
    def conditions(self) -> frozenset[Condition]:
        """The tensor uses the channel if one of these conditions holds."""
        return frozenset(use.condition for use in self.uses)


@final
class LinkTraffic:
    """The possible traffic of a channel over all allocations of a problem."""

    def __init__(self, demands: Requirements) -> None:
        self.demands = demands
        self._genes = to_lists(demands.gene)
        self._kinds = to_lists(demands.kind)

    def sent(self, wire: int) -> tuple[SentTensor, ...]:
        """The tensors that use a channel under some allocation, each with all its uses."""
        width = self.demands.wires[wire]
        uses: dict[tuple[int | None, int, int], dict[LinkUse, None]] = {}
        for tensor, use in (*self._supplied(wire), *self._written(wire)):
            uses.setdefault(tensor, {})[use] = None
        return tuple(
            SentTensor(maker, cycles(bits, width), tuple(found))
            for (maker, _, bits), found in uses.items()
        )

    def is_certain(self, condition: Condition) -> bool:
        """Whether a condition holds for all allocations."""
        count = int(np.prod([len(self.demands.columns[gene]) for gene in condition.genes]))
        return len(condition.columns) == count

    def _supplied(self, wire: int) -> Iterator[tuple[tuple[int | None, int, int], LinkUse]]:
        @cache
        def condition_of(gene: int, kind: int, read: int) -> Condition:
            return self._condition((gene,), self.demands.supply_crosses(kind, read, wire))

        for node, supplies in enumerate(self.demands.supplies):
            for part, read, bits in supplies:
                condition = condition_of(self._genes[node], self._kinds[node], read)
                if condition.columns:
                    yield (None, part, bits), LinkUse(condition, node)

    def _written(self, wire: int) -> Iterator[tuple[tuple[int | None, int, int], LinkUse]]:
        demands = self.demands
        conditions = [
            self._condition((x.producer, x.consumer), demands.crosses(x, wire))
            for x in demands.flows
        ]
        for maker, node, flow in demands.edges:
            if conditions[flow].columns:
                yield (maker, maker, demands.flows[flow].bits), LinkUse(conditions[flow], node)
        for maker, bits in demands.results.items():
            crosses = demands.result_crosses(self._kinds[maker], wire)
            condition = self._condition((self._genes[maker],), crosses)
            if condition.columns:
                yield (maker, maker, bits), LinkUse(condition, None)

    def _condition(self, genes: tuple[int, ...], flags: Flags) -> Condition:
        """The flagged combinations among the cores that the node groups may use."""
        places = np.ix_(*(self.demands.columns[gene] for gene in genes))
        chosen = np.argwhere(flags[places])
        columns = [self.demands.columns[gene] for gene in genes]
        found = (tuple(columns[i][at] for i, at in enumerate(row)) for row in chosen.tolist())
        return Condition(genes, frozenset(found))


def remaining_uses(sent: SentTensor, bounds: Bounds) -> int:
    """The least time in cycles from the transfer of a tensor over a channel to the end of all."""
    ends = (use.node for use in sent.uses)
    return min(0 if x is None else bounds.runtimes[x] + bounds.tails[x] for x in ends)


def arrival_time(sent: SentTensor, bounds: Bounds) -> int:
    """The least time in cycles at which a tensor can use a channel."""
    return 0 if sent.maker is None else bounds.heads[sent.maker] + bounds.runtimes[sent.maker]
