"""The lattice of loop factors: what may lie below some place in a loop order.

A point says how many of each factor lie below that place. A loop order is a path from the origin,
where nothing lies below, to the corner, where everything does; each step adds one factor.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.model import Loop, SpatialProblem
from nestmap.model.arrays import Ints
from nestmap.search.temporal.ordering import PinnedOrder


class Lattice(NamedTuple):
    """The points in an order in which every step leads to a later one.

    Axes: ``p`` points, ``f`` distinct factors.
    """

    factors: Ints  # [f, 2] dimension and size
    below: Ints  # [p, f] how many of each factor lie below
    depth: Ints  # [p] how many loops lie below
    step: Ints  # [p, f] the point after that factor is added, -1 where it may not be added


def count_points(pinned: PinnedOrder) -> int:
    """The number of points of the lattice of these loops."""
    points = 1
    for loop in dict.fromkeys(pinned.free):
        points *= pinned.free.count(loop) + 1
    return points + len(pinned.inner) + len(pinned.outer)


def lattice_of(spatial: SpatialProblem, pinned: PinnedOrder) -> tuple[Lattice, tuple[Loop, ...]]:
    """The lattice of the loops, and its factors.

    Pinned loops leave one way: they are a chain of points below the free ones, or above.
    """
    factors = tuple(dict.fromkeys(pinned.loops))
    inner, outer = _chain(factors, pinned.inner), _chain(factors, pinned.outer)
    free = _grid(factors, pinned.free)
    below = np.concatenate([inner[:-1], free + inner[-1], outer[1:] + inner[-1] + free[-1]])
    return _connected(factor_table(spatial, factors), below, len(inner) - 1, len(free)), factors


def _chain(factors: tuple[Loop, ...], loops: tuple[Loop, ...]) -> Ints:
    """[loops + 1, f] the points on the only way through these loops."""
    points = np.zeros((len(loops) + 1, len(factors)), np.int64)
    for n, loop in enumerate(loops):
        points[n + 1 :, factors.index(loop)] += 1
    return points


def _grid(factors: tuple[Loop, ...], loops: tuple[Loop, ...]) -> Ints:
    """[points, f] all points of loops in any order, in mixed-radix order."""
    most = [loops.count(factor) + 1 for factor in factors]
    return np.stack(np.unravel_index(np.arange(int(np.prod(most))), most), axis=1)


def _connected(factors: Ints, below: Ints, first: int, free: int) -> Lattice:
    """The lattice with these points, of which ``free`` from ``first`` on are a grid."""
    points, kinds = below.shape
    step = np.full((points, kinds), -1, np.int64)
    grid = below[first : first + free] - below[first]
    sizes: list[int] = (grid[-1] + 1).tolist()
    stride = [prod(sizes[f + 1 :]) for f in range(kinds)]
    for f in range(kinds):
        inside = np.flatnonzero(grid[:, f] < grid[-1, f])
        step[first + inside, f] = first + inside + stride[f]
    for p in (*range(first), *range(first + free - 1, points - 1)):
        step[p, int(np.argmax(below[p + 1] - below[p]))] = p + 1
    return Lattice(factors, below, below.sum(axis=1), step)


@kernel
def load_point(work: Work, lattice: Lattice, p: int) -> None:
    """Writes an order to the work arrays that passes through the point."""
    last = len(lattice.depth) - 1
    n = 0
    for f in range(len(lattice.factors)):
        for _ in range(lattice.below[p, f]):
            work.dimension[n] = lattice.factors[f, 0]
            work.factor[n] = lattice.factors[f, 1]
            n += 1
    for f in range(len(lattice.factors)):
        for _ in range(lattice.below[p, f], lattice.below[last, f]):
            work.dimension[n] = lattice.factors[f, 0]
            work.factor[n] = lattice.factors[f, 1]
            n += 1
    work.loops = n
