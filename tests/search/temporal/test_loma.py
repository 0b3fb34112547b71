"""LOMA: every order is found or counted, always in the same sequence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import Loop, MappingBatch, MappingType, SpatialProblem, TemporalMapping
from nestmap.search import loma
from nestmap.search.temporal.loma import CHUNK
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.permutations import count_permutations
from nestmap.search.temporal.pinned import place_pinned_levels
from tests.costmodel.machines import loops, machine, mapped, matmul, memory
from tests.costmodel.test_footprint import is_exact
from tests.properties.variants import examples, with_memory
from tests.search.temporal.orderings import with_ordering
from tests.strategies import spatial_problems

mapping_types = st.sampled_from(MappingType)


def rows(batches: list[MappingBatch]) -> list[TemporalMapping]:
    return [batch.row(i) for batch in batches for i in range(len(batch))]


def failures(batches: list[MappingBatch]) -> int:
    return sum(entry.count for batch in batches for entry in batch.statistics.infeasible)


@examples
@given(spatial_problems(2**10), mapping_types, st.integers(1, 5))
def test_every_order_fits_or_is_counted(
    spatial: SpatialProblem, mapping_type: MappingType, limit: int
) -> None:
    batches = list(loma(spatial, limit, mapping_type))
    found = rows(batches)
    orders = [mapping.order for mapping in found]
    assert len(set(orders)) == len(orders)
    possible = count_permutations(loop_factors(spatial, limit))
    assert len(orders) + failures(batches) == possible
    everything = sorted(map(str, loop_factors(spatial, limit)))
    assert all(sorted(map(str, order)) == everything for order in orders)


@examples
@given(spatial_problems(2**10), mapping_types)
def test_the_sequence_is_always_the_same(
    spatial: SpatialProblem, mapping_type: MappingType
) -> None:
    one, other = (list(loma(spatial, 5, mapping_type)) for _ in range(2))
    assert rows(one) == rows(other)
    assert one[-1].statistics == other[-1].statistics


@examples
@given(spatial_problems(2**10), mapping_types)
def test_orders_come_in_lexicographic_order(
    spatial: SpatialProblem, mapping_type: MappingType
) -> None:
    batches = list(loma(spatial, 5, mapping_type))
    codes = [tuple(row) for batch in batches for row in batch.orders.tolist()]
    assert codes == sorted(codes)


HUGE = 10**18


@examples
@given(spatial_problems(2**10), st.data(), mapping_types, st.integers(2, 100))
def test_more_room_never_makes_fewer_orders_fit_if_all_above_have_enough(
    spatial: SpatialProblem, data: st.DataObject, mapping_type: MappingType, factor: int
) -> None:
    memories = spatial.accelerator.memories
    position = data.draw(st.integers(0, len(memories) - 1))
    for above in range(position + 1, len(memories)):
        spatial = with_memory(spatial, above, {"size": HUGE})
    larger = with_memory(spatial, position, {"size": memories[position].instance.size * factor})
    assert orders_that_fit(spatial, mapping_type) <= orders_that_fit(larger, mapping_type)


def orders_that_fit(spatial: SpatialProblem, mapping_type: MappingType) -> set[tuple[Loop, ...]]:
    return {mapping.order for mapping in rows(list(loma(spatial, 4, mapping_type)))}


def test_a_larger_memory_below_a_smaller_one_takes_more_than_can_pass() -> None:
    # memories are filled from below, each as far as it goes: no law without the one above
    layer = matmul(k=4, c=1)
    for size, fits in ((8, True), (32, False)):
        inner = memory("inner", size=size, operands="I2", served="D1")
        middle = memory("middle", size=16, operands="I2", served="D1")
        spatial = mapped(layer, machine(inner, middle, memory("top", served="D1")))
        assert bool(orders_that_fit(spatial, MappingType.UNEVEN)) is fits


@examples
@given(spatial_problems(2**10), mapping_types)
def test_what_is_found_fits(spatial: SpatialProblem, mapping_type: MappingType) -> None:
    for mapping in rows(list(loma(spatial, 3, mapping_type))):
        assert len(place_pinned_levels(spatial, mapping)) == 1
        cme = evaluate(spatial, mapping)
        for level in cme.levels:
            # the cost model rounds elements where an unrolling does not divide its loop
            assert level.shared_utilization <= 1 or not is_exact(spatial)


def test_failures_name_the_memory_the_operand_the_need_and_the_room() -> None:
    small = memory("small", size=7, operands="I2", served="D1")
    spatial = mapped(matmul(k=4, c=6), machine(small, memory("top", served="D1")))
    (batch,) = loma(spatial, 6, MappingType.UNEVEN)
    assert len(batch) == 0
    (entry,) = batch.statistics.infeasible
    assert entry.reason == "small too small for W: needs at least 8 bit, has 7"
    assert entry.count == 12  # K 2 K 2 C 2 C 3 in any order


def test_failures_of_operands_together_name_them_all() -> None:
    shared = memory("shared", size=15, operands="I1 I2", served="D1")
    spatial = mapped(matmul(k=2, c=3), machine(shared, memory("top", served="D1")))
    (batch,) = loma(spatial, 6, MappingType.UNEVEN)
    (entry,) = batch.statistics.infeasible
    assert entry.reason == "shared too small for I and W: needs at least 16 bit, has 15"


def test_the_least_need_is_told() -> None:
    # Two weights fit in the inner memory. Where K is innermost it takes both, and no room is left
    # in the next one for an input; where C is, three do not fit, and one beside an input does.
    tiny = memory("tiny", size=8 * 2, operands="I2", served="D1")
    middle = memory("middle", size=8 * 2, operands="I2 I1", served="D1")
    spatial = mapped(matmul(k=2, c=3), machine(tiny, middle, memory("top", served="D1")))
    batches = list(loma(spatial, 6, MappingType.UNEVEN))
    reasons = batches[-1].statistics.infeasible
    assert [entry.count for entry in reasons] == [1]
    assert "needs at least 24 bit, has 16" in reasons[0].reason


def test_chunks_carry_no_counts_but_the_last() -> None:
    spatial = mapped(matmul(k=4, c=6), machine(memory("top", served="D1")))
    *chunks, last = loma(spatial, 6, MappingType.UNEVEN)
    assert [len(chunk) for chunk in chunks] == [6 * 2]
    assert (len(last), last.statistics.infeasible) == (0, ())


def test_searching_is_lazy() -> None:
    # 25! / (10! 9! 6!) orders, more than 10**10
    spatial = mapped(matmul(k=2**10, c=3**6, b=2**9), machine(memory("top", served="D1")))
    first = next(loma(spatial, None, MappingType.UNEVEN))
    assert len(first) == CHUNK
    assert first.row(0).order == loops("B 2 " * 9 + "K 2 " * 10 + "C 3 " * 6)


PLAIN = mapped(matmul(k=4, c=6), machine(memory("top", served="D1")))


@pytest.mark.parametrize(
    ("ordering", "heads", "count"),
    [
        ("C 6", {"C 6"}, 1),  # K 2 K 2 are left
        ("C 3", {"C 3"}, 3),  # K 2 K 2 C 2 are left
        ("K 4 C 2", {"K 4 C 2"}, 1),
        ("K *", {"K 2"}, 6),  # whichever factor of K: they are equal
        ("C *", {"C 2", "C 3"}, 6),
        ("B 1 C 6", {"C 6"}, 1),  # B does not iterate: met by itself
        ("C * C *", {"C 2 C 3", "C 3 C 2"}, 2),
    ],
)
def test_temporal_orderings_pin_the_inner_loops(ordering: str, heads: set[str], count: int) -> None:
    found = rows(list(loma(with_ordering(PLAIN, ordering), 6, MappingType.UNEVEN)))
    length = max(len(loops(head)) for head in heads)
    assert {" ".join(str(loop) for loop in mapping.order[:length]) for mapping in found} == heads
    assert len(found) == len({mapping.order for mapping in found}) == count
