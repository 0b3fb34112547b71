"""Mappings that are given: taken exactly, checked for what they are and whether they fit."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestmap.model import InputError, MappingType, SpatialProblem, TemporalMapping
from nestmap.search import loma
from nestmap.search.temporal.pinned import pinned_mapping, place_pinned_levels
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered
from tests.costmodel.test_footprint import is_exact
from tests.properties.variants import examples, with_memory
from tests.search.temporal.orderings import Levels, with_ordering
from tests.search.temporal.test_memory_allocation import Offer
from tests.strategies import spatial_problems, temporal_mappings

MACHINE = machine(
    memory("rf", size=64, operands="I2", served="D1"),
    memory("sram", size=512, served="D1"),
    memory("dram", served="D1"),
)
PLAIN = mapped(matmul(k=4, c=6), MACHINE)
ORDER = "C 6 K 4"
BOTH = {"sram": 1, "dram": 2}
LEVELS: Levels = {"O": BOTH, "W": {"rf": 1, "sram": 2, "dram": 2}, "I": BOTH}


def test_levels_pin_the_mapping() -> None:
    pinned = with_ordering(PLAIN, ORDER, LEVELS)
    expected = ordered(ORDER, {"O": (1, 2), "W": (1, 2, 2), "I": (1, 2)})
    assert pinned_mapping(pinned) == expected
    for mapping_type in MappingType:
        (batch,) = loma(pinned, 1, mapping_type)
        assert [batch.row(i) for i in range(len(batch))] == [expected]


def test_without_levels_nothing_is_pinned() -> None:
    assert pinned_mapping(with_ordering(PLAIN, ORDER)) is None


def test_levels_may_come_in_any_order_and_count_outer_items() -> None:
    mixed: Levels = {
        "I": {"dram": 2, "sram": 1},
        "W": {"dram": 2, "rf": 1, "sram": 2},
        "O": {"dram": 2, "sram": 1},
    }
    one = pinned_mapping(with_ordering(PLAIN, ORDER, LEVELS))
    assert pinned_mapping(with_ordering(PLAIN, "C 6 | K 4", mixed)) == one


def test_items_met_by_themselves_do_not_count() -> None:
    top = {"sram": 2, "dram": 3}
    levels: Levels = {"O": top, "W": {"rf": 2, "sram": 3, "dram": 3}, "I": top}
    pinned = with_ordering(PLAIN, "B 1 C 6 K 4", levels)
    assert pinned_mapping(pinned) == pinned_mapping(with_ordering(PLAIN, ORDER, LEVELS))


def test_a_layer_without_loops_is_where_the_search_puts_it() -> None:
    idle = mapped(matmul(k=1, c=1), MACHINE)
    (searched, _) = loma(idle, 3, MappingType.UNEVEN)
    top = {"sram": 0, "dram": 1}
    levels: Levels = {"O": top, "W": {"rf": 0, "sram": 1, "dram": 1}, "I": top}
    assert pinned_mapping(with_ordering(idle, "B 1", levels)) == searched.row(0)


@pytest.mark.parametrize(
    ("ordering", "levels", "where", "found", "expected"),
    [
        (
            "C 6",
            {**LEVELS, "O": {"sram": 0, "dram": 1}},
            "temporal",
            "leaves loops open",
            "K 4, C 6",
        ),
        ("C 6 K *", LEVELS, "temporal", "leaves loops open", "K 4, C 6"),
        (ORDER, {**LEVELS, "X": BOTH}, "memory_levels", "levels of X", "each of O, W, I"),
        (ORDER, {"O": BOTH, "I": BOTH}, "memory_levels", "no levels of W", "each of O, W, I"),
        (
            ORDER,
            {**LEVELS, "I": {"rf": 1, **BOTH}},
            "memory_levels",
            "rf for I",
            "I once: sram, dram",
        ),
        (
            ORDER,
            {**LEVELS, "I": {"dram": 2}},
            "memory_levels",
            "no sram for I",
            "I once: sram, dram",
        ),
        (
            ORDER,
            {**LEVELS, "W": {"rf": 2, "sram": 1, "dram": 2}},
            "memory_levels",
            "2 loops of W in rf and 1 in sram",
            "as many or more in sram",
        ),
        (
            ORDER,
            {**LEVELS, "O": {"sram": 1, "dram": 1}},
            "memory_levels",
            "1 loops of O in dram",
            "all 2 there",
        ),
    ],
)
def test_levels_that_do_not_suit_are_wrong_input(
    ordering: str, levels: Levels, where: str, found: str, expected: str
) -> None:
    spatial = with_ordering(PLAIN, ordering, _within(levels, len(ordering.split()) // 2))
    with pytest.raises(InputError) as caught:
        list(loma(spatial, 6, MappingType.UNEVEN))
    assert caught.value.where.startswith(where)
    assert caught.value.where.endswith("for layer layer")
    assert found in caught.value.found
    assert expected in caught.value.expected


def _within(levels: Levels, items: int) -> Levels:
    """The levels with no more loops than there are items."""
    return {x: {m: min(n, items) for m, n in held.items()} for x, held in levels.items()}


def test_a_mapping_that_does_not_fit_is_counted_with_its_reason() -> None:
    small = with_memory(PLAIN, 0, {"size": 40})
    (batch,) = loma(with_ordering(small, ORDER, LEVELS), 6, MappingType.UNEVEN)
    assert len(batch) == 0
    (entry,) = batch.statistics.infeasible
    assert (entry.count, entry.reason) == (1, "rf too small for W: needs at least 48 bit, has 40")


@pytest.mark.parametrize(
    ("double", "size", "is_room"), [(False, 48, 1), (True, 95, 0), (True, 96, 1)]
)
def test_double_buffering_asks_for_two_copies(double: bool, size: int, is_room: int) -> None:
    spatial = with_memory(PLAIN, 0, {"size": size, "double_buffered": double})
    (batch,) = loma(with_ordering(spatial, ORDER, LEVELS), 6, MappingType.UNEVEN)
    assert len(batch) == is_room


def test_one_copy_is_enough_where_the_whole_tensor_lies() -> None:
    spatial = with_memory(PLAIN, 0, {"size": 4 * 6 * 8, "double_buffered": True})
    whole = {**LEVELS, "W": {"rf": 2, "sram": 2, "dram": 2}}
    (batch,) = loma(with_ordering(spatial, ORDER, whole), 6, MappingType.UNEVEN)
    assert len(batch) == 1


def test_operands_that_do_not_fit_together_are_named_together() -> None:
    spatial = with_memory(PLAIN, 1, {"size": 6 * 8 + 4 * 6 * 8 + 16 - 1})
    (batch,) = loma(with_ordering(spatial, ORDER, LEVELS), 6, MappingType.UNEVEN)
    (entry,) = batch.statistics.infeasible
    assert entry.reason.startswith("sram too small for I and W and O: needs at least ")


def test_a_mapping_of_another_problem_is_wrong_input() -> None:
    with pytest.raises(InputError, match="12 iterations of C"):
        place_pinned_levels(PLAIN, ordered("C 12 K 4", {"O": (1, 2), "W": (1, 2, 2), "I": (1, 2)}))


@examples
@given(st.data(), spatial_problems(2**8).filter(is_exact))
def test_a_mapping_fits_where_every_memory_has_room(
    data: st.DataObject, spatial: SpatialProblem
) -> None:
    mapping = data.draw(temporal_mappings(spatial))
    assume(spatial.temporal_sizes and all(loop.size > 1 for loop in mapping.order))
    assert (len(place_pinned_levels(spatial, mapping)) == 1) is has_room(spatial, mapping)


def has_room(spatial: SpatialProblem, mapping: TemporalMapping) -> bool:
    """Whether the slices that the cuts leave fit each memory, counted element by element."""
    by_memory_operand = {m: operand for operand, m in spatial.problem.links.items()}
    for level in spatial.accelerator.memories:
        room = 0
        for name in (by_memory_operand[m] for m in level.operands if m in by_memory_operand):
            below = spatial.problem.levels(name).index(level)
            cuts = mapping.cuts_of(name)
            offer = Offer(spatial, mapping.order, level, name, cuts[:below])
            room += offer.room(cuts[below])
        if room > level.instance.size:
            return False
    return True
