"""Memory allocation against a search through all cuts, and its rule for ties."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
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
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.memory_allocation import Failures, allocate_rows
from nestmap.search.temporal.permutations import encode
from tests.costmodel.machines import convolution, loops, machine, mapped, matmul, memory
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
    def lowest(self) -> int:
        """The loops that memories below have."""
        return (0, *self.taken)[-1]

    @property
    def cuts(self) -> list[int]:
        """Any slice of the loops that are left; the top memory takes them all.

        Slices grow loop by loop until one does not fit, as in the reference: none beyond it is
        tried, though with double buffering the whole tensor may need less room than a part of it.
        """
        size = self.memory.instance.size
        cuts = range(len(self.order) if self.is_top else self.lowest, len(self.order) + 1)
        return list(takewhile(lambda cut: self.room(cut) <= size, cuts))

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
        """Bits that the memory above sends: nothing where there is none.

        What is there twice counts twice, as in the reference.
        """
        return 0 if self.is_top else self.room(cut) * prod(x.size for x in self.order[cut:])

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
            for loop in (*left, *self.order[self.lowest :])
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
        bits = sum(offer.room(cut) for offer, cut in zip(offers, cuts, strict=True))
        even = mapping_type is MappingType.UNEVEN or is_even([o.lowest for o in offers], cuts)
        if bits <= size and even:
            yield cuts


def is_even(starts: Sequence[int], cuts: Sequence[int]) -> bool:
    """Whether those that take loops stop at one, and no other is still below it.

    One that is at its top level takes all loops: the others then have to as well.
    """
    common = {cut for start, cut in zip(starts, cuts, strict=True) if cut > start}
    return len(common) <= 1 and all(cut >= min(common, default=0) for cut in cuts)


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


def doubled(level: MemoryLevel) -> MemoryLevel:
    return copy_with(level, {"instance": copy_with(level.instance, {"double_buffered": True})})


TOP = memory("top", served="D1")
PRODUCT = matmul(k=4, c=6)


def cuts(spatial: SpatialProblem, order: str, operand: str) -> tuple[int, ...] | None:
    """The operand's cuts where memories may be uneven."""
    allocation = allocated(spatial, loops(order), MappingType.UNEVEN)
    return None if allocation is None else allocation[operand]


@pytest.mark.parametrize(
    ("size", "expected_cuts"),
    [
        (7, None),  # not even one weight of 8 bit
        (8, (0, 3)),
        (32, (1, 3)),  # 4 of them
        (4 * 3 * 8 - 1, (1, 3)),
        (4 * 3 * 8, (2, 3)),
        (4 * 6 * 8, (3, 3)),  # all
    ],
)
def test_a_memory_takes_as_many_loops_as_it_has_room_for(
    size: int, expected_cuts: tuple[int, ...] | None
) -> None:
    small = memory("small", size=size, operands="I2", served="D1")
    spatial = mapped(PRODUCT, machine(small, TOP))
    assert cuts(spatial, "K 4 C 3 C 2", "W") == expected_cuts


@pytest.mark.parametrize(
    ("size", "expected_cuts"),
    [
        (15, None),  # two weights need 16 bit
        (16, (0, 3)),
        (4 * 8 * 2, (1, 3)),
        (4 * 6 * 8, (3, 3)),  # the whole tensor is needed once only
    ],
)
def test_double_buffering_needs_twice_the_room(
    size: int, expected_cuts: tuple[int, ...] | None
) -> None:
    small = doubled(memory("small", size=size, operands="I2", served="D1"))
    spatial = mapped(PRODUCT, machine(small, TOP))
    assert cuts(spatial, "K 4 C 3 C 2", "W") == expected_cuts


def test_no_slice_is_tried_beyond_one_that_does_not_fit() -> None:
    # 4 of 6 inputs, twice, need 64 bit; all 6, once, would need 48
    small = doubled(memory("small", size=50, operands="I1", served="D1"))
    layer = convolution({"K": 1, "C": 1, "OX": 4, "FX": 3})
    spatial = mapped(layer, machine(small, TOP))
    assert cuts(spatial, "OX 4 FX 3", "I") == (0, 2)
    assert cuts(spatial, "FX 3 OX 4", "I") == (2, 2)


def test_loops_that_do_not_index_an_operand_come_for_free() -> None:
    small = memory("small", size=8, operands="I2", served="D1")
    spatial = mapped(matmul(k=4, c=6, b=3), machine(small, TOP))
    assert cuts(spatial, "B 3 K 4 C 6", "W") == (1, 3)


@pytest.mark.parametrize(("order", "bits"), [("K 4 C 6", 16), ("C 6 K 4", 16), ("K 4", 8)])
def test_outputs_need_room_for_partial_sums_while_a_reduction_is_left(
    order: str, bits: int
) -> None:
    layer = matmul(k=4, c=6 if "C" in order else 1)
    for size, fits in ((bits - 1, False), (bits, True)):
        small = memory("small", size=size, operands="O", served="D1")
        spatial = mapped(layer, machine(small, TOP))
        assert (cuts(spatial, order, "O") is not None) is fits


def test_of_equal_allocations_the_last_one_wins() -> None:
    # Weights and inputs are used once each: any slice sends as much. Both orders of naming them
    # give what is named first the longest slice that leaves room for the other.
    layer = layer_from_equation("O[b][k]+=W[b][k]*I[b][k]", {"B": 4, "K": 4}, name="layer")
    for operands, expected_allocation in (
        ("I1 I2", {"I": (1, 2), "W": (0, 2)}),
        ("I2 I1", {"I": (0, 2), "W": (1, 2)}),
    ):
        small = memory("small", size=5 * 8, operands=operands, served="D1")
        spatial = mapped(layer, machine(small, TOP))
        allocation = allocated(spatial, loops("K 4 B 4"), MappingType.UNEVEN)
        assert allocation is not None
        assert {name: allocation[name] for name in "IW"} == expected_allocation


@pytest.mark.parametrize(("size", "even"), [(8 + 17 * 16, True), (7 + 17 * 16, False)])
def test_an_operand_at_its_top_level_makes_even_ones_take_all_loops(size: int, even: bool) -> None:
    # A weight and 17 inputs, of 8 bit, are at home beside outputs that have more room above:
    # zigzag-dse 3.9.1 finds no even mapping either where those do not fit at once.
    shared = memory("shared", size=size, served="")
    above = memory("above", operands="O", served="D1")
    layer = matmul(k=1, c=1, b=17)
    spatial = mapped(layer, machine(shared, above))
    cut = 1 if even else 0
    expected_cuts = {"O": (cut, 1), "W": (1,), "I": (1,)}
    assert allocated(spatial, loops("B 17"), MappingType.UNEVEN) == expected_cuts
    even_cuts = allocated(spatial, loops("B 17"), MappingType.EVEN)
    assert even_cuts == (expected_cuts if even else None)


@examples
@given(spatial_problems(2**10), st.data())
def test_even_cuts_are_equal_in_every_memory(spatial: SpatialProblem, data: st.DataObject) -> None:
    order = data.draw(orders(spatial))
    allocation = allocated(spatial, order, MappingType.EVEN)
    assume(allocation is not None)
    assert allocation is not None
    for level in spatial.accelerator.memories:
        starts, ends = list[int](), list[int]()
        for operand, positions in allocation.items():
            memories = spatial.problem.levels(operand)
            if level in memories:
                place = memories.index(level)
                starts.append((0, *positions)[place])
                ends.append(positions[place])
        assert is_even(starts, ends)


@pytest.mark.parametrize(
    ("starts", "cuts", "even"),
    [
        ((0, 0), (2, 2), True),
        ((0, 0), (2, 1), False),
        ((0, 0), (0, 0), True),
        ((0, 0), (0, 2), False),  # the first one is still below
        ((3, 0), (3, 2), True),  # the first one is above already
        ((1, 0), (1, 2), False),
        ((1, 0), (2, 2), True),
    ],
)
def test_what_even_means(starts: Sequence[int], cuts: Sequence[int], even: bool) -> None:
    assert is_even(starts, cuts) is even
