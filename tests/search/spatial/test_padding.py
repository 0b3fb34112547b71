"""Sizes of padded layers: composite ones, and multiples of what the array unrolls."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import LayerConstraints, MappingProblem, OrderedLoop, SpatialMapping, Unrolling
from nestmap.search.spatial.padding import MOST_LAYERS, largest_prime, padded_sizes
from tests.costmodel.machines import loops, machine, matmul, memory
from tests.properties.variants import examples
from tests.strategies import mapping_problems


def problem(
    k: int, c: int = 1, side: int = 2, constraints: LayerConstraints | None = None
) -> MappingProblem:
    top = memory("top", served="D1", width=2**12)
    return MappingProblem(
        layer=matmul(k=k, c=c),
        accelerator=machine(top, sides={"D1": side}),
        constraints=constraints or LayerConstraints(),
    )


@pytest.mark.parametrize(
    ("k", "percent", "side", "expected"),
    [
        (197, 1, 1, [198]),  # 2 x 3 x 3 x 11
        (197, 2, 1, [198, 200]),  # 2 x 2 x 2 x 5 x 5
        (197, 10, 1, [198, 200, 216]),  # 2 x 2 x 2 x 3 x 3 x 3
        (197, 30, 1, [200, 216, 256]),  # the last three
        (197, 1, 99, [198]),
        (27, 4, 14, [28]),  # 2 x 14
        (27, 3, 14, []),
        (28, 10, 14, [30]),  # 2 x 3 x 5
        (64, 50, 32, []),
        (1, 100, 4, []),
    ],
)
def test_sizes_of_one_loop(k: int, percent: float, side: int, expected: list[int]) -> None:
    found = padded_sizes(problem(k, side=side), percent)
    assert list(found) == [{"K": n} for n in expected]


def test_several_loops_are_padded_alone_and_together() -> None:
    found = padded_sizes(problem(k=7, c=11), 15)
    assert found == ({"C": 12}, {"K": 8}, {"K": 8, "C": 12})


def test_the_users_unrolling_is_a_size_to_fit() -> None:
    unrolling = Unrolling(array_dimension="D1", loops=loops("K 9"))
    constraints = LayerConstraints(spatial_mapping=SpatialMapping(unrollings=(unrolling,)))
    assert padded_sizes(problem(32, side=16), 15) == ()
    assert padded_sizes(problem(32, 1, 16, constraints), 15) == ({"K": 36},)


def test_loops_in_an_ordering_keep_their_sizes() -> None:
    ordered = LayerConstraints(temporal_ordering=(OrderedLoop(dimension="K"),))
    assert padded_sizes(problem(7, 11, constraints=ordered), 15) == ({"C": 12},)


@examples
@given(mapping_problems(), st.floats(0.5, 100))
def test_sizes_stay_in_the_limit(given: MappingProblem, percent: float) -> None:
    found, sizes = padded_sizes(given, percent), given.layer.sizes
    assert len(found) <= MOST_LAYERS
    assert len({tuple(x.items()) for x in found}) == len(found)
    for padded in found:
        assert padded
        for dimension, size in padded.items():
            assert sizes[dimension] < size <= sizes[dimension] * (1 + percent / 100)
    work = [prod((sizes | padded).values()) for padded in found]
    assert work == sorted(work)


@given(st.integers(1, 5000))
def test_largest_prime(number: int) -> None:
    divisors = [d for d in range(2, number + 1) if number % d == 0]
    primes = [d for d in divisors if all(d % x for x in range(2, d))]
    assert largest_prime(number) == max(primes, default=1)
