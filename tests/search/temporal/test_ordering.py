"""Temporal orderings: what they pin, what they leave, and when they cannot hold."""

from collections.abc import Callable
from itertools import permutations as all_orders

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestmap.model import InputError, LayerConstraints, Loop, OrderedLoop, SpatialProblem
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.ordering import (
    PinnedOrder,
    complete_order,
    explicit_ordering,
    pinned_orders,
)
from nestmap.search.temporal.permutations import count_permutations, encode, permutations
from tests.costmodel.machines import loops, machine, mapped, matmul, memory
from tests.properties.variants import examples
from tests.search.temporal.orderings import Levels, constrained, items, with_ordering
from tests.strategies import spatial_problems

PLAIN = mapped(matmul(k=4, c=6), machine(memory("top", served="D1")))
UNROLLED = mapped(
    matmul(k=8, c=6, b=2),
    machine(memory("top", served="D1 D2"), sides={"D1": 4, "D2": 2}),
    {"D1": "K 4", "D2": "B 2"},
)


def texts(order: PinnedOrder) -> str:
    return " | ".join(
        " ".join(str(loop) for loop in part) for part in (order.inner, order.free, order.outer)
    )


@pytest.mark.parametrize(
    ("ordering", "expected"),
    [
        ("", {" | K 2 K 2 C 2 C 3 | "}),
        ("|", {" | K 2 K 2 C 2 C 3 | "}),
        ("C 2", {"C 2 | K 2 K 2 C 3 | "}),
        ("| C 2", {" | K 2 K 2 C 3 | C 2"}),
        ("C 2 | C 3 K 2", {"C 2 | K 2 | C 3 K 2"}),
        ("C * | C *", {"C 2 | K 2 K 2 | C 3", "C 3 | K 2 K 2 | C 2"}),
        ("| C *", {" | K 2 K 2 C 3 | C 2", " | K 2 K 2 C 2 | C 3"}),
        ("K 4 | C 6", {"K 4 |  | C 6"}),
        ("K 2 C 3 K 2 C 2", {"K 2 C 3 K 2 C 2 |  | "}),
        ("B 7 C 6 | B *", {"C 6 | K 2 K 2 | "}),  # B has size 1: met by itself
    ],
)
def test_items_pin_from_both_sides(ordering: str, expected: set[str]) -> None:
    orders = list(pinned_orders(with_ordering(PLAIN, ordering), None))
    assert {texts(order) for order in orders} == expected
    assert len(orders) == len(expected)


@pytest.mark.parametrize("limit", [1, 2, 3, None])
@pytest.mark.parametrize("ordering", ["K 2 C 3 K 2 C 2", "K 2 C 3 | K 2 C 2", "| K 2 C 3 K 2 C 2"])
def test_a_complete_ordering_is_taken_as_it_is(ordering: str, limit: int | None) -> None:
    spatial = with_ordering(PLAIN, ordering)
    (order,) = pinned_orders(spatial, limit)
    assert order.loops == loops("K 2 C 3 K 2 C 2") == complete_order(spatial)


@pytest.mark.parametrize("ordering", ["", "K 4", "K 4 C 2", "K 4 C *", "| C 6", "K 1 C 6"])
def test_other_orderings_are_not_complete(ordering: str) -> None:
    assert complete_order(with_ordering(PLAIN, ordering)) is None


def test_with_nothing_to_order_nothing_is_left_open() -> None:
    idle = mapped(matmul(k=1, c=1), machine(memory("top", served="D1")))
    for ordering in ("", "B 1", "K * C 2 | B 5"):
        assert complete_order(with_ordering(idle, ordering)) == loops("B 1")
        (order,) = pinned_orders(with_ordering(idle, ordering), 3)
        assert order.loops == loops("B 1")


def test_the_limit_counts_pinned_loops() -> None:
    (order,) = pinned_orders(with_ordering(PLAIN, "C 2 | K 2"), 3)
    assert texts(order) == "C 2 | K 2 C 3 | K 2"  # each dimension keeps a factor
    (order,) = pinned_orders(with_ordering(mapped(matmul(k=16, c=3), MACHINE), "K 2 | "), 3)
    assert texts(order) == "K 2 | K 8 C 3 | "


MACHINE = machine(memory("top", served="D1"))


@pytest.mark.parametrize(
    ("ordering", "found", "expected"),
    [
        ("K 2 G 2", "item 2, [G, 2]", "a loop dimension of the layer: B, K, C"),
        ("| G *", "item 2, [G, *]", "a loop dimension of the layer: B, K, C"),
        ("C 4", "item 1, [C, 4]", "a divisor of 6: C has size 6"),
        (
            "K 4",
            "item 1, [K, 4]",
            "a divisor of 2: K has size 8, is unrolled 4 times and iterates 2 times",
        ),
        (
            "C 2 C 6",
            "item 2, [C, 6]",
            "a divisor of 3: C has size 6, and the items before it take 2",
        ),
        (
            "C 2 | K 2 C 2",
            "item 4, [C, 2]",
            "a divisor of 3: C has size 6, and the items before it take 2",
        ),
        ("B 2", "item 1, [B, 2]", "a divisor of 1: B has size 2, is unrolled 2 times"),
        ("C 6 C *", "item 2, [C, *]", "at most 0 such items: 0 factors are left of C"),
        ("C * C 3 | C *", "item 4, [C, *]", "at most 1 such items: 1 factors are left of C"),
    ],
)
def test_orderings_that_cannot_hold_are_wrong_input(
    ordering: str, found: str, expected: str
) -> None:
    spatial = with_ordering(UNROLLED, ordering)
    attempts: tuple[Callable[[SpatialProblem], object], ...] = (
        explicit_ordering,
        complete_order,
        lambda spatial: list(pinned_orders(spatial, None)),
    )
    for attempt in attempts:
        with pytest.raises(InputError) as caught:
            attempt(spatial)
        assert caught.value.where == "temporal_ordering for layer layer"
        assert caught.value.found == found
        assert caught.value.expected.startswith(expected)


def test_more_items_than_the_limit_leaves_factors_are_wrong_input() -> None:
    spatial = with_ordering(PLAIN, "C * C *")
    assert len(list(pinned_orders(spatial, 4))) == 2
    with pytest.raises(
        InputError, match=r"item 2, \[C, \*\].*at most 1.*larger lpf_limit"
    ) as caught:
        list(pinned_orders(spatial, 2))
    assert caught.value.found == "item 2, [C, *]"


LEVELS: Levels = {"W": {"top": 4, "x": 3, "y": 2, "z": 0}}


def test_items_that_are_met_by_themselves_are_left_out() -> None:
    given = with_ordering(UNROLLED, "B * K 2 | B 1 C 6", LEVELS)
    explicit = explicit_ordering(given)
    assert (explicit.temporal_ordering, explicit.outer_ordering) == (items("K 2"), items("C 6"))
    (levels,) = explicit.memory_levels
    assert [entry.loops for entry in levels.memories] == [2, 1, 1, 0]
    again = constrained(UNROLLED, explicit)
    assert explicit_ordering(again) is again.problem.constraints


@st.composite
def asked(draw: st.DrawFn) -> tuple[SpatialProblem, int | None]:
    """A problem with an ordering over its dimensions, and a limit.

    Where sizes are asked for they are prime, and so are all factors: otherwise what is pinned
    would be cut differently from what is not.
    """
    spatial = draw(spatial_problems(2**9))
    limit = draw(st.none() | st.integers(1, 6))
    sizes = st.none() if limit else st.sampled_from((None, None, 2, 3, 5))
    wanted = st.builds(
        OrderedLoop, dimension=st.sampled_from(list(spatial.layer.sizes)), size=sizes
    )
    inner, outer = (tuple(draw(st.lists(wanted, max_size=3))) for _ in range(2))
    constraints = LayerConstraints(temporal_ordering=inner, outer_ordering=outer)
    return constrained(spatial, constraints), limit


def holds(
    order: tuple[Loop, ...], constraints: LayerConstraints, open_dimensions: set[str]
) -> bool:
    """Whether an order meets the constraints, looked at item by item from both ends."""
    inner, outer = (
        [x for x in ordering if x.dimension in open_dimensions]
        for ordering in (constraints.temporal_ordering, constraints.outer_ordering)
    )
    if len(inner) + len(outer) > len(order):
        return False
    pairs = [*zip(inner, order, strict=False), *zip(outer[::-1], order[::-1], strict=False)]
    return all(
        item.dimension == loop.dimension and item.size in (None, loop.size) for item, loop in pairs
    )


def asks_for_too_much(spatial: SpatialProblem, item: OrderedLoop) -> bool:
    """Whether an item wants a loop of a dimension that is unrolled as a whole."""
    size = spatial.layer.sizes[item.dimension]
    return spatial.temporal_sizes[item.dimension] == 1 and size > 1 and item.size is not None


@examples
@given(asked())
def test_pinned_orders_are_those_that_meet_the_ordering(
    case: tuple[SpatialProblem, int | None],
) -> None:
    spatial, limit = case
    factors = loop_factors(spatial, limit)
    assume(len(factors) <= 7 and count_permutations(factors) <= 1000)
    constraints = spatial.problem.constraints
    iterating = {d for d, n in spatial.temporal_sizes.items() if n > 1}
    given = (*constraints.temporal_ordering, *constraints.outer_ordering)
    expected = {order for order in set(all_orders(factors)) if holds(order, constraints, iterating)}
    if not expected or any(asks_for_too_much(spatial, item) for item in given):
        with pytest.raises(InputError):
            list(pinned_orders(spatial, limit))
        return
    found = [order for pinned in pinned_orders(spatial, limit) for order in unfolded(pinned)]
    assert len(found) == len(set(found))
    assert set(found) == expected


def unfolded(pinned: PinnedOrder) -> list[tuple[Loop, ...]]:
    """All orders, made as the search makes them."""
    factors, codes = encode(pinned.loops)
    chunks = permutations(codes, inner=len(pinned.inner), outer=len(pinned.outer), chunk=100)
    return [tuple(factors[int(code)] for code in row) for rows in chunks for row in rows]
