"""Which tensors take a wire, as it depends on the cores: jobs for a constraint program."""

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
"""The columns of the cores of some genes."""


class Condition(NamedTuple):
    """That genes are on certain cores: one gene, or two; ``columns`` are the combinations."""

    genes: tuple[int, ...]
    columns: frozenset[Columns]


class LinkUse(NamedTuple):
    """If a condition holds, a tensor takes a wire before a node starts (``None``: at all)."""

    condition: Condition
    node: int | None


class SentTensor(NamedTuple):
    """A tensor that may take a wire: after a node (``None``: from the beginning), for its uses."""

    maker: int | None
    time: int
    uses: tuple[LinkUse, ...]

    @property
    def conditions(self) -> frozenset[Condition]:
        """It takes the wire if one of them holds."""
        return frozenset(use.condition for use in self.uses)


@final
class LinkTraffic:
    """What may take a wire, on all allocations of a problem."""

    def __init__(self, demands: Requirements) -> None:
        self.demands = demands
        self._genes = to_lists(demands.gene)
        self._kinds = to_lists(demands.kind)

    def sent(self, wire: int) -> tuple[SentTensor, ...]:
        """The tensors that take a wire on some allocation, each with all its uses."""
        width = self.demands.wires[wire]
        uses: dict[tuple[int | None, int, int], dict[LinkUse, None]] = {}
        for tensor, use in (*self._supplied(wire), *self._written(wire)):
            uses.setdefault(tensor, {})[use] = None
        return tuple(
            SentTensor(maker, cycles(bits, width), tuple(found))
            for (maker, _, bits), found in uses.items()
        )

    def is_certain(self, condition: Condition) -> bool:
        """Whether a condition holds on all allocations."""
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
        """The combinations of cores, of those that the genes may be on, with a flag."""
        places = np.ix_(*(self.demands.columns[gene] for gene in genes))
        chosen = np.argwhere(flags[places])
        columns = [self.demands.columns[gene] for gene in genes]
        found = (tuple(columns[i][at] for i, at in enumerate(row)) for row in chosen.tolist())
        return Condition(genes, frozenset(found))


def remaining_uses(sent: SentTensor, bounds: Bounds) -> int:
    """The least time from when a tensor has taken a wire to the end of all."""
    ends = (use.node for use in sent.uses)
    return min(0 if x is None else bounds.runtimes[x] + bounds.tails[x] for x in ends)


def arrival_time(sent: SentTensor, bounds: Bounds) -> int:
    """The least time at which a tensor can take a wire."""
    return 0 if sent.maker is None else bounds.heads[sent.maker] + bounds.runtimes[sent.maker]
