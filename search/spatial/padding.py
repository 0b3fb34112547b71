"""Larger sizes of loops that factor better, or fit the array better, than those of a layer."""

from collections.abc import Iterator, Mapping
from math import floor, prod
from typing import Final

from nestmap.model import MappingProblem
from nestmap.model.dims import Dimension
from nestmap.model.workload.layer import MAX_MACS
from nestmap.search.spatial.unrolling import unrolling_limits

MOST_SIZES: Final = 3
"""The number of sizes of a loop that are tried because they factor better."""

MOST_LAYERS: Final = 16
"""The number of combinations of sizes for a layer."""


def padded_sizes(problem: MappingProblem, percent: float) -> tuple[dict[Dimension, int], ...]:
    """Sizes of loops enlarged by at most ``percent`` each, only those that change.

    A loop is enlarged to the next multiple of an unrolling that the array or the user's mapping
    asks for, or to a size with a smaller largest prime factor than all before it. Loops in a
    temporal ordering keep their sizes. The sizes that add the least work come first.
    """
    sizes = problem.layer.sizes
    chosen = [dict[Dimension, int]()]
    for dimension, size in sizes.items():
        larger = _larger(problem, dimension, size + floor(size * percent / 100))
        several = [x | {dimension: n} for x in chosen for n in (size, *larger)]
        # the sizes that add the least work begin with sizes that do
        chosen = sorted(several, key=_work)[: MOST_LAYERS + 1]
    return tuple(
        {d: n for d, n in padded.items() if n != sizes[d]}
        for padded in chosen
        if padded != sizes and _work(padded) <= MAX_MACS
    )


def _work(sizes: Mapping[Dimension, int]) -> int:
    return prod(sizes.values())


def _larger(problem: MappingProblem, dimension: Dimension, most: int) -> list[int]:
    """The sizes to which a loop may be enlarged, ascending."""
    size, constraints = problem.layer.sizes[dimension], problem.constraints
    ordered = {x.dimension for x in constraints.temporal_ordering + constraints.outer_ordering}
    if size == 1 or dimension in ordered or constraints.memory_levels:
        return []
    multiples = (-(-size // unrolled) * unrolled for unrolled in _unrolled(problem, dimension))
    composite = list(_more_composite(size, most))
    return sorted({n for n in multiples if size < n <= most} | set(composite[-MOST_SIZES:]))


def _unrolled(problem: MappingProblem, dimension: Dimension) -> Iterator[int]:
    """The unrollings of a loop that the array or the user's mapping asks for."""
    wanted = problem.constraints.spatial_mapping
    for side, limits in unrolling_limits(problem).items():
        given = wanted is not None and any(x.array_dimension == side for x in wanted.unrollings)
        if wanted is not None and given:
            yield prod(x.size for x in wanted.on(side) if x.dimension == dimension)
        else:
            yield limits[dimension]


def _more_composite(size: int, most: int) -> Iterator[int]:
    """Larger sizes whose largest prime factor is smaller than that of all before."""
    least = largest_prime(size)
    for larger in range(size + 1, most + 1):
        if (prime := largest_prime(larger)) < least:
            least = prime
            yield larger


def largest_prime(number: int) -> int:
    """The largest prime factor of a number (1: 1)."""
    largest, divisor = 1, 2
    while divisor * divisor <= number:
        if number % divisor:
            divisor += 1
        else:
            largest, number = divisor, number // divisor
    return max(largest, number)
