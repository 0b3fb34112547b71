"""The lattice of loop factors: what may lie below some place in a loop order.

A point says how many of each factor lie below that place. A loop order is a path from the origin,
where nothing lies below, to the corner, where everything does; each step adds one factor.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.model import Loop, SpatialProblem
from nestmap.model.arrays import Floats, Ints
from nestmap.search.temporal.loop_factors import MOST_PRIMES, prime_powers
from nestmap.search.temporal.ordering import PinnedOrder


class Lattice(NamedTuple):
    """The points in an order in which every step leads to a later one.

    Axes: ``p`` points, ``f`` distinct factors.
    """

    factors: Ints  # [f, 2] dimension and size
    below: Ints  # [p, f] how many of each factor lie below
    depth: Ints  # [p] how many loops lie below
    step: Ints  # [p, f] the point after that factor is added, -1 where it may not be added


@kernel
def most_levels(problem: FlatProblem) -> int:
    """The memory levels of the operand that has most."""
    most = 0
    for x in range(problem.operands):
        most = max(most, problem.levels[x])
    return most


def count_points(pinned: PinnedOrder) -> int:
    """The number of points of the lattice of these loops."""
    points = 1
    for count in Counter(pinned.free).values():
        points *= count + 1
    return points + len(pinned.inner) + len(pinned.outer)


def lattice_of(spatial: SpatialProblem, pinned: PinnedOrder) -> tuple[Lattice, tuple[Loop, ...]]:
    """The lattice of the loops, and its factors.

    Pinned loops leave one way: they are a chain of points below the free ones, or above.
    """
    factors = tuple(dict.fromkeys(pinned.loops))
    table = factor_table(spatial, factors)
    inner, outer = _chain(factors, pinned.inner), _chain(factors, pinned.outer)
    counts = Counter(pinned.free)
    free = grid_of(table, np.array([counts[factor] for factor in factors]))
    first, last = len(inner) - 1, len(inner) - 1 + len(free.depth) - 1
    below = np.concatenate(
        [inner[:-1], free.below + inner[-1], outer[1:] + inner[-1] + free.below[-1]]
    )
    step = np.full(below.shape, -1, np.int64)
    step[first : last + 1] = np.where(free.step >= 0, free.step + first, -1)
    for p in (*range(first), *range(last, len(below) - 1)):
        step[p, int(np.argmax(below[p + 1] - below[p]))] = p + 1
    return Lattice(table, below, below.sum(axis=1), step), factors


def _chain(factors: tuple[Loop, ...], loops: tuple[Loop, ...]) -> Ints:
    """[loops + 1, f] the points on the only way through these loops."""
    points = np.zeros((len(loops) + 1, len(factors)), np.int64)
    for n, loop in enumerate(loops):
        points[n + 1 :, factors.index(loop)] += 1
    return points


@kernel
def prime_lattice(sizes: Floats) -> Lattice:
    """The lattice of the prime factors of all temporal iterations [d], in any order.

    Without iterations there is one loop of size 1, as in
    :func:`~nestmap.search.temporal.loop_factors.loop_factors`.
    """
    return grid_of(*prime_counts(sizes))


@kernel
def prime_counts(sizes: Floats) -> tuple[Ints, Ints]:
    """[f, 2] the prime factors of all temporal iterations [d], and how many there are of each."""
    factors = np.empty((len(sizes) * MOST_PRIMES, 2), np.int64)
    counts, kinds = np.empty(len(factors), np.int64), 0
    for d in range(len(sizes)):
        kinds = put_primes(factors, counts, kinds, d, int(sizes[d]))
    return without_rest(factors, counts, kinds)


@kernel
def put_primes(factors: Ints, counts: Ints, kinds: int, d: int, size: int) -> int:
    """Writes the prime factors of a loop behind those that are there; returns how many kinds."""
    powers = prime_powers(size)
    for i in range(len(powers)):
        factors[kinds + i, 0], factors[kinds + i, 1] = d, powers[i, 0]
        counts[kinds + i] = powers[i, 1]
    return kinds + len(powers)


@kernel
def without_rest(factors: Ints, counts: Ints, kinds: int) -> tuple[Ints, Ints]:
    """The first factors and their counts; without any, there is one loop of size 1."""
    if kinds == 0:
        factors[0, 0], factors[0, 1], counts[0] = 0, 1, 1
        kinds = 1
    return factors[:kinds], counts[:kinds]


@kernel
def grid_of(factors: Ints, counts: Ints) -> Lattice:
    """The lattice of factors of which there are ``counts`` [f], in any order.

    The points are in mixed-radix order.
    """
    kinds = len(counts)
    stride = np.ones(kinds + 1, np.int64)
    for f in range(kinds - 1, -1, -1):
        stride[f] = stride[f + 1] * (counts[f] + 1)
    points = stride[0]
    below, step = np.zeros((points, kinds), np.int64), np.empty((points, kinds), np.int64)
    depth = np.zeros(points, np.int64)
    for p in range(points):
        if p > 0:
            for f in range(kinds):
                below[p, f] = below[p - 1, f]
            f = kinds - 1
            while below[p, f] == counts[f]:
                below[p, f] = 0
                f -= 1
            below[p, f] += 1
        for f in range(kinds):
            depth[p] += below[p, f]
            step[p, f] = p + stride[f + 1] if below[p, f] < counts[f] else -1
    return Lattice(factors, below, depth, step)


@kernel
def load_point(work: Work, lattice: Lattice, p: int) -> None:
    """Writes an order to the work arrays that passes through the point."""
    load_below(work, lattice.factors, lattice.below[p], lattice.below[len(lattice.depth) - 1])


@kernel
def load_below(work: Work, factors: Ints, below: Ints, every: Ints) -> None:
    """Writes an order that begins with ``below`` [f] of the factors; there are ``every`` [f]."""
    n = 0
    for f in range(len(factors)):
        for _ in range(below[f]):
            work.dimension[n], work.factor[n] = factors[f, 0], factors[f, 1]
            n += 1
    for f in range(len(factors)):
        for _ in range(below[f], every[f]):
            work.dimension[n], work.factor[n] = factors[f, 0], factors[f, 1]
            n += 1
    work.loops = n
