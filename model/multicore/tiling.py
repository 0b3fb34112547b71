"""Tiles: how outer loops cut the dimensions of a layer, and the order of the nodes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import final

import numpy as np
from numpy.typing import NDArray

from nestmap.model.arrays import Ints
from nestmap.model.dims import Dimension, Loop


@final
@dataclass(frozen=True)
class Tiling:
    """Loops cut by outer loops, innermost first; the size of an outer loop is a number of tiles.

    All ``tiles`` of a dimension have ``tile_size`` iterations, except that the last may be smaller.
    """

    loops: tuple[Loop, ...]
    outer: tuple[Loop, ...]

    @cached_property
    def sizes(self) -> dict[Dimension, int]:
        """The size of each dimension."""
        return {loop.dimension: loop.size for loop in self.loops}

    @cached_property
    def requested_tiles(self) -> dict[Dimension, int]:
        """The requested number of tiles of each dimension."""
        return {
            dimension: prod(loop.size for loop in self.outer if loop.dimension == dimension)
            for dimension in self.sizes
        }

    @cached_property
    def tile_size(self) -> dict[Dimension, int]:
        """Iterations of each dimension per tile."""
        return {d: ceil(size / self.requested_tiles[d]) for d, size in self.sizes.items()}

    @cached_property
    def tiles(self) -> dict[Dimension, int]:
        """The number of tiles of each dimension."""
        return {d: ceil(size / self.tile_size[d]) for d, size in self.sizes.items()}

    @cached_property
    def tile_indices(self) -> dict[Dimension, Ints]:
        """For each node, in order, the index of its tile along each dimension, from 0.

        Node ``n`` has the value ``n // (product of the sizes of the loops within) % size`` for each
        outer loop; of several loops over one dimension, the inner one steps by one tile. Nodes that
        would start beyond the end of a dimension are left out.
        """
        count = prod(loop.size for loop in self.outer)
        left = np.arange(count, dtype=np.int64)
        places = {d: np.zeros(count, dtype=np.int64) for d in self.sizes}
        steps = dict.fromkeys(self.sizes, 1)
        for loop in self.outer:
            places[loop.dimension] += left % loop.size * steps[loop.dimension]
            steps[loop.dimension] *= loop.size
            left //= loop.size
        there = np.ones(count, dtype=np.bool_)
        for dimension, place in places.items():
            there &= place < self.tiles[dimension]
        return {d: place[there] for d, place in places.items()}

    @property
    def count(self) -> int:
        """The number of nodes."""
        return len(next(iter(self.tile_indices.values()))) if self.sizes else 1

    def starts(self, dimension: Dimension) -> Ints:
        """The first iteration of each node along a dimension."""
        return self.tile_indices[dimension] * self.tile_size[dimension]

    def ends(self, dimension: Dimension) -> Ints:
        """The end (exclusive) of each node along a dimension."""
        ends = self.starts(dimension) + self.tile_size[dimension]
        return np.minimum(ends, self.sizes[dimension])

    def is_last_tile(self, dimensions: Sequence[Dimension]) -> NDArray[np.bool_]:
        """Whether each node has the last tile of each of these dimensions."""
        done = np.ones(self.count, dtype=np.bool_)
        for dimension in dimensions:
            done &= self.tile_indices[dimension] == self.tiles[dimension] - 1
        return done

    def tile_numbers(self, dimensions: Iterable[Dimension]) -> Ints:
        """The mixed-radix number of each node's tiles; the last dimension varies fastest."""
        numbers = np.zeros(self.count, dtype=np.int64)
        for dimension in dimensions:
            numbers = numbers * self.tiles[dimension] + self.tile_indices[dimension]
        return numbers

    def groups(self, dimensions: Iterable[Dimension]) -> Ints:
        """Groups of nodes with equal tiles of these dimensions, from 0 in order of appearance."""
        numbers = self.tile_numbers(dimensions)
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        return rank[inverse.reshape(-1)]
