"""Memory allocation against a search through all cuts, and its rule for ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.problem import flatten
from nestmap.costmodel.record import new_record
from nestmap.costmodel.report import factor_table
from nestmap.model import (
    Cuts,
    Loop,
    MappingBatch,
    MappingType,
    MemoryLevel,
    OutputOperand,
    Relevance,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.search.allocate import Failures, allocate_rows
from nestmap.search.factors import loop_factors
from nestmap.search.permutations import encode
from tests.costmodel.test_footprint import is_exact, iterations, touched
from tests.properties.variants import examples
from tests.strategies import Case, spatial_problems

Order = tuple[Loop, ...]
Allocation = dict[str, tuple[int, ...]]
"""Cuts of each operand, level by level."""


def allocated(
    spatial: SpatialProblem, order: Order, mapping_type: MappingType
) -> Allocation | None:
    """What is to be tested; ``None`` if the order does not fit."""
    factors, codes = encode(order)
    rows, cuts = allocate_rows(
        flatten(spatial),
        factor_table(spatial, factors),
        codes.reshape(1, -1),
        mapping_type is MappingType.EVEN,
        new_record(Failures),
    )
    if not len(rows):
        return None
    mapping = MappingBatch(spatial, factors, rows, cuts).row(0)
    assert mapping.order == order
    return {x.name: mapping.cuts_of(x.name) for x in spatial.layer.operands}


@dataclass(frozen=True)
class Offer:
    """What a memory may hold of an operand, given the cuts of the memories below."""

    spatial: SpatialProblem
    order: Order
    memory: MemoryLevel
    operand: str
    taken: tuple[int, ...]

    @property
    def is_top(self) -> bool:
        return self.memory is self.spatial.problem.levels(self.operand)[-1]

    @property
    def cuts(self) -> range:
        """Any slice of the loops that are left; the top memory takes them all."""
        lowest = len(self.order) if self.is_top else (0, *self.taken)[-1]
        return range(lowest, len(self.order) + 1)

    def elements(self, cut: int, level: int) -> int:
        positions = (*self.taken[:level], *[cut] * (level + 1 - len(self.taken[:level])))
        cuts = Cuts(operand=self.operand, positions=(*positions, len(self.order)))
        case = Case(self.spatial, TemporalMapping(order=self.order, cuts=(cuts,)))
        layer = self.spatial.layer
        return touched(layer, layer.operand(self.operand), iterations(case, self.operand, level))

    def held(self, cut: int) -> int:
        """Bits of the slice."""
        return self.elements(cut, len(self.taken)) * self.precision

    def room(self, cut: int) -> int:
        """Bits that it takes: twice as many where another slice is to be loaded meanwhile."""
        top = len(self.spatial.problem.levels(self.operand)) - 1
        whole = self.elements(len(self.order), top)
        last = cut == len(self.order) or self.elements(cut, len(self.taken)) == whole
        return self.held(cut) * (2 if self.memory.instance.double_buffered and not last else 1)

    def accesses(self, cut: int) -> int:
        """Bits that the memory above sends: nothing where there is none."""
        return 0 if self.is_top else self.held(cut) * prod(x.size for x in self.order[cut:])

    @property
    def precision(self) -> int:
        """Bits of an element: of partial sums while a reduction is left, in time or in space."""
        layer, mapping = self.spatial.layer, self.spatial.spatial_mapping
        operand = layer.operand(self.operand)
        if not isinstance(operand, OutputOperand):
            return operand.precision
        below = self.spatial.problem.levels(self.operand)[: len(self.taken) + 1]
        served = {side for level in below for side in level.served_dimensions}
        above = [side for side in self.spatial.accelerator.array.sizes if side not in served]
        left = [loop for side in above for loop in mapping.on(side)]
        reducing = [
            loop
            for loop in (*left, *self.order[(0, *self.taken)[-1] :])
            if layer.relevance(self.operand, loop.dimension) is Relevance.IRRELEVANT
        ]
        return (
            operand.partial_precision if prod(x.size for x in reducing) > 1 else operand.precision
        )


def expected(spatial: SpatialProblem, order: Order, mapping_type: MappingType) -> Allocation | None:
    """The allocation found by trying every combination of cuts, memory by memory."""
    taken: Allocation = {operand.name: () for operand in spatial.layer.operands}
    by_memory_operand = {m: operand for operand, m in spatial.problem.links.items()}
    for level in spatial.accelerator.memories:
        names = [by_memory_operand[m] for m in level.operands if m in by_memory_operand]
        offers = [Offer(spatial, order, level, name, taken[name]) for name in names]
        fitting = list(combinations(offers, level.instance.size, mapping_type))
        if not fitting:
            return None
        # fewest accesses; of equals the last one, operands as the memory names them
        _, cuts = max(
            (-sum(o.accesses(c) for o, c in zip(offers, cuts, strict=True)), cuts)
            for cuts in fitting
        )
        for name, cut in zip(names, cuts, strict=True):
            taken[name] += (cut,)
    return taken


def combinations(
    offers: list[Offer], size: int, mapping_type: MappingType
) -> Iterator[tuple[int, ...]]:
    """The cuts, one of each offer, that fit the memory together."""
    for cuts in product(*(offer.cuts for offer in offers)):
        even = len(set(cuts)) <= 1 or mapping_type is MappingType.UNEVEN
        if even and sum(o.room(cut) for o, cut in zip(offers, cuts, strict=True)) <= size:
            yield cuts


@st.composite
def orders(draw: st.DrawFn, spatial: SpatialProblem) -> Order:
    return tuple(draw(st.permutations(loop_factors(spatial, 5))))


@examples
@given(spatial_problems(2**8).filter(is_exact), st.data(), st.sampled_from(MappingType))
def test_no_other_allocation_is_better(
    spatial: SpatialProblem, data: st.DataObject, mapping_type: MappingType
) -> None:
    order = data.draw(orders(spatial))
    assert allocated(spatial, order, mapping_type) == expected(spatial, order, mapping_type)
