"""Loop factors: their product is kept, their number limited."""

from collections import Counter
from math import ceil, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import SpatialProblem
from nestmap.search.temporal.loop_factors import (
    idle_loop,
    loop_factors,
    prime_factors,
    split_loops,
    temporal_sizes,
)
from tests.costmodel.machines import loops, machine, mapped, matmul, memory
from tests.properties.variants import examples
from tests.strategies import spatial_problems

TOP = memory("top")


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, number))


@examples
@given(st.integers(1, 3000))
def test_prime_factors(number: int) -> None:
    factors = prime_factors(number)
    assert prod(factors) == number
    assert factors == sorted(factors)
    assert all(is_prime(factor) for factor in factors)


def test_large_primes_take_no_time() -> None:
    assert prime_factors(2**31 - 1) == [2**31 - 1]
    assert prime_factors(2**30) == [2] * 30


def test_what_is_left_in_time_is_rounded_up() -> None:
    spatial = mapped(
        matmul(k=7, c=8, b=3),
        machine(TOP, sides={"D1": 4, "D2": 8}),
        {"D1": "K 2", "D2": "C 4 K 2"},
    )
    assert temporal_sizes(spatial) == {"B": 3, "K": 2, "C": 2}


def test_dimensions_without_iterations_are_left_out() -> None:
    spatial = mapped(matmul(k=4, c=6), machine(TOP, sides={"D1": 4}), {"D1": "K 4"})
    assert temporal_sizes(spatial) == {"C": 6}


@examples
@given(spatial_problems(2**16), st.none() | st.integers(1, 9))
def test_factors_multiply_to_the_iterations(spatial: SpatialProblem, limit: int | None) -> None:
    factors = loop_factors(spatial, limit)
    sizes = temporal_sizes(spatial)
    for dimension, size in spatial.layer.sizes.items():
        mine = [loop.size for loop in factors if loop.dimension == dimension]
        assert prod(mine) == ceil(size / spatial.spatial_mapping.factor_of(dimension))
        assert mine == sorted(mine)
    if limit is not None:
        assert len(factors) <= max(limit, len(sizes), 1)
    if limit is None and sizes:
        assert all(is_prime(loop.size) for loop in factors)


@examples
@given(spatial_problems(2**16), st.integers(1, 9))
def test_no_more_factors_are_joined_than_needed(spatial: SpatialProblem, limit: int) -> None:
    every = len(loop_factors(spatial, None))
    dimensions = max(1, len(temporal_sizes(spatial)))
    assert len(loop_factors(spatial, limit)) == min(every, max(limit, dimensions))


def factored(limit: int | None) -> Counter[str]:
    spatial = mapped(matmul(k=48, c=20, b=3), machine(TOP))
    return Counter(str(loop) for loop in loop_factors(spatial, limit))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, "B 3, K 2, K 2, K 2, K 2, K 3, C 2, C 2, C 5"),
        (9, "B 3, K 2, K 2, K 2, K 2, K 3, C 2, C 2, C 5"),
        (8, "B 3, K 2, K 2, K 3, K 4, C 2, C 2, C 5"),  # K has most: 2 x 2
        (7, "B 3, K 3, K 4, K 4, C 2, C 2, C 5"),  # K has most: 2 x 2
        (6, "B 3, K 4, K 12, C 2, C 2, C 5"),  # as many each: K stands first, 3 x 4
        (5, "B 3, K 4, K 12, C 4, C 5"),  # C has most
        (4, "B 3, K 48, C 4, C 5"),
        (3, "B 3, K 48, C 20"),
        (2, "B 3, K 48, C 20"),  # each dimension keeps one
        (1, "B 3, K 48, C 20"),
    ],
)
def test_the_smallest_two_of_the_dimension_with_most_are_joined(
    limit: int | None, expected: str
) -> None:
    assert factored(limit) == Counter(expected.split(", "))


def test_splitting_leaves_what_it_was_given() -> None:
    given = {"K": 12, "C": 1}
    assert split_loops(given, 1) == loops("K 12")
    assert split_loops(given, 2) == loops("K 3 K 4")
    assert given == {"K": 12, "C": 1}


def test_nothing_left_to_iterate_is_one_loop_of_size_one() -> None:
    spatial = mapped(
        matmul(k=4, c=2), machine(TOP, sides={"D1": 4, "D2": 2}), {"D1": "K 4", "D2": "C 2"}
    )
    assert loop_factors(spatial, 6) == (idle_loop(spatial),) == loops("B 1")
