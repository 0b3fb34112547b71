"""Loop factors: the temporal iterations, divided into the factors that orderings arrange."""

from functools import lru_cache

import numpy as np

from nestmap.costmodel.kernel.jit import kernel
from nestmap.model import Loop, SpatialProblem
from nestmap.model.arrays import Ints

MOST_PRIMES = 15
"""Different prime factors of a number below 2**63."""


def temporal_sizes(spatial: SpatialProblem) -> dict[str, int]:
    """The dimensions with temporal iterations, and their number."""
    return {dimension: size for dimension, size in spatial.temporal_sizes.items() if size > 1}


def prime_factors(number: int) -> list[int]:
    """The prime factors in ascending order.

    >>> prime_factors(112)
    [2, 2, 2, 2, 7]
    """
    return list(_prime_factors(number))


@lru_cache(maxsize=4096)
def _prime_factors(number: int) -> tuple[int, ...]:
    powers: list[tuple[int, int]] = prime_powers(number).tolist()
    return tuple(prime for prime, exponent in powers for _ in range(exponent))


@kernel
def prime_powers(number: int) -> Ints:
    """[i, 2] the different prime factors in ascending order, and how often each occurs."""
    powers = np.zeros((MOST_PRIMES, 2), np.int64)
    count, divisor = 0, 2
    while number > 1:
        if divisor * divisor > number:
            divisor = number
        if number % divisor == 0:
            powers[count, 0] = divisor
            while number % divisor == 0:
                powers[count, 1] += 1
                number //= divisor
            count += 1
        divisor += 1
    return powers[:count]


def loop_factors(spatial: SpatialProblem, limit: int | None) -> tuple[Loop, ...]:
    """The temporal loops of all dimensions in prime factors, joined until ``limit`` are left.

    While there are more, the two smallest factors of the dimension with most factors (ties: the
    first in the layer's order) are multiplied; each dimension keeps at least one. Without temporal
    iterations there is one loop of size 1.

    Source: LOMA (Symons et al., AICAS 2021), loop prime factors.
    """
    return split_loops(temporal_sizes(spatial), limit) or (idle_loop(spatial),)


def idle_loop(spatial: SpatialProblem) -> Loop:
    """The loop that represents an empty temporal loop nest."""
    return Loop(dimension=spatial.layer.loops[0].dimension, size=1)


def split_loops(sizes: dict[str, int], limit: int | None) -> tuple[Loop, ...]:
    """Loops of these sizes in prime factors, the smallest joined until ``limit`` are left."""
    factors = {dimension: prime_factors(size) for dimension, size in sizes.items() if size > 1}
    while limit is not None and sum(map(len, factors.values())) > max(limit, len(factors)):
        most = max(factors, key=lambda dimension: len(factors[dimension]))
        smallest, next_smallest, *others = factors[most]
        factors[most] = sorted([smallest * next_smallest, *others])
    return tuple(Loop(dimension=d, size=n) for d, ns in factors.items() for n in ns)
