"""The best combinations of choices: those that trying all of them would find."""

from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import Loop
from nestmap.search.spatial.combinations import Choice, best_combinations
from tests.costmodel.machines import loops
from tests.properties.variants import examples
from tests.sweeps import some_of

DIMENSIONS = ("K", "C", "OX")
LOOP = st.builds(Loop, dimension=st.sampled_from(DIMENSIONS), size=st.integers(1, 9))
CHOICE = st.lists(LOOP, max_size=2).map(tuple)
SIDES = st.lists(st.lists(CHOICE, min_size=1, max_size=7), min_size=1, max_size=4)
LEAST = st.dictionaries(st.sampled_from(DIMENSIONS), st.integers(1, 4), max_size=2)
SIZES = st.fixed_dictionaries({d: st.integers(1, 40) for d in DIMENSIONS})


def unrolled(combination: tuple[Choice, ...], dimension: str) -> int:
    """How often the combination unrolls the dimension."""
    return prod(x.size for choice in combination for x in choice if x.dimension == dimension)


def worth(combination: tuple[Choice, ...]) -> float:
    """Units, and units over the largest unrolling."""
    factors = [unrolled(combination, d) for d in DIMENSIONS]
    return prod(factors) + prod(factors) / max(factors) - 1.0


def brute_force(
    choices: list[list[Choice]], sizes: dict[str, int], count: int, least: dict[str, int]
) -> list[tuple[Choice, ...]]:
    """The best of all combinations; of equals the first."""
    possible = [
        x
        for x in product(*choices)
        if all(least.get(d, 1) <= unrolled(x, d) <= sizes[d] for d in DIMENSIONS)
    ]
    return sorted(possible, key=worth, reverse=True)[:count]


@settings(examples, max_examples=some_of(300))
@given(SIDES, SIZES, st.integers(1, 30), LEAST)
def test_the_best_are_those_of_all_combinations_in_the_same_order(
    choices: list[list[Choice]], sizes: dict[str, int], count: int, least: dict[str, int]
) -> None:
    found = best_combinations(choices, sizes, count, least)
    assert found == brute_force(choices, sizes, count, least)


@examples
@given(SIDES, SIZES, st.integers(1, 10), st.integers(1, 10))
def test_more_begin_with_the_same(
    choices: list[list[Choice]], sizes: dict[str, int], few: int, further: int
) -> None:
    more = best_combinations(choices, sizes, few + further)
    assert more[:few] == best_combinations(choices, sizes, few)


def test_asking_for_more_than_there_are_takes_no_room() -> None:
    choices, sizes = [[loops("K 4"), loops("C 4")]] * 2, {"K": 16, "C": 16}
    assert best_combinations(choices, sizes, 10**15) == best_combinations(choices, sizes, 4)


def test_different_dimensions_come_before_the_same() -> None:
    choices = [[loops("K 4"), loops("C 4")]] * 2
    sizes = {"K": 16, "C": 16}
    found = best_combinations(choices, sizes, 4)
    assert [str(" ".join(str(x) for (x,) in both)) for both in found] == [
        "K 4 C 4",
        "C 4 K 4",
        "K 4 K 4",
        "C 4 C 4",
    ]


def test_no_dimension_is_unrolled_more_often_than_it_iterates() -> None:
    choices = [[loops("K 4")], [loops("K 4"), loops("K 2")]]
    assert best_combinations(choices, {"K": 8}, 3) == [(loops("K 4"), loops("K 2"))]
    assert best_combinations(choices, {"K": 7}, 3) == []
