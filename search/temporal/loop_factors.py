"""Loop factors: the temporal iterations, divided into the factors that orderings arrange."""

from __future__ import annotations

from nestmap.model import Loop, SpatialProblem


def temporal_sizes(spatial: SpatialProblem) -> dict[str, int]:
    """The dimensions with temporal iterations, and their number."""
    return {dimension: size for dimension, size in spatial.temporal_sizes.items() if size > 1}


def prime_factors(number: int) -> list[int]:
    """The prime factors in ascending order.

    >>> prime_factors(112)
    [2, 2, 2, 2, 7]
    """
    factors: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return [*factors, number] if number > 1 else factors


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
