"""The region of a tensor that each node of a layer reads, as a product of factors.

A factor consists of some axes of the tensor and the loop dimensions whose tiles determine the
elements read along them, so there is one region per tile instead of one per node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np

from nestmap.model import Counting
from nestmap.model.arrays import Ints
from nestmap.model.dims import Dimension
from nestmap.model.multicore.cn_layer import TensorAxis
from nestmap.model.multicore.tiling import Tiling
from nestmap.search.multicore.split.node_nests import Sizes
from nestmap.search.multicore.split.regions import Region


@final
@dataclass(frozen=True, eq=False)
class Factor:
    """The elements read along some axes: one region per tile of the dimensions, the last fastest.

    The sets of a box are in the order of ``axes``; ``tiles`` is the number of tiles of each
    dimension.
    """

    axes: tuple[int, ...]
    dimensions: tuple[Dimension, ...]
    tiles: tuple[int, ...]
    regions: tuple[Region, ...]

    def region(self, at: Sequence[int]) -> Region:
        """The region for one tile of each dimension."""
        place = 0
        for index, count in zip(at, self.tiles, strict=True):
            place = place * count + index
        return self.regions[place]


def read_factors(
    axes: Sequence[TensorAxis], tiling: Tiling, counting: Counting
) -> tuple[Factor, ...]:
    """The reads of a layer's nodes from a tensor: one factor for each axis."""
    return tuple(_read(place, axis, tiling, counting) for place, axis in enumerate(axes))


def _read(place: int, axis: TensorAxis, tiling: Tiling, counting: Counting) -> Factor:
    if not axis.terms:
        return Factor((place,), (), (), (((np.arange(axis.size),),),))
    dimensions = tuple(d for d in axis.dimensions if tiling.tiles[d] > 1)
    tiles = tuple(tiling.tiles[d] for d in dimensions)
    found = (
        _indices(axis, tiling, dict(zip(dimensions, at, strict=True)))
        for at in product(*map(range, tiles))
    )
    if counting is Counting.REFERENCE:
        found = (_filled(indices) for indices in found)
    return Factor((place,), dimensions, tiles, tuple(((indices,),) for indices in found))


def _filled(indices: Ints) -> Ints:
    """All indices from the first to the last one."""
    if not len(indices):
        return indices
    return np.arange(indices[0], indices[-1] + 1, dtype=np.int64)


def _indices(axis: TensorAxis, tiling: Tiling, at: Sizes) -> Ints:
    """The indices along the axis that a tile touches, without padding."""
    indices = np.array([axis.offset], dtype=np.int64)
    for term in axis.terms:
        size = tiling.tile_size[term.dimension]
        first = at.get(term.dimension, 0) * size
        last = min(first + size, tiling.sizes[term.dimension])
        values = term.coefficient * np.arange(first, last, dtype=np.int64)
        indices = np.unique(indices[:, None] + values)
    return indices[(indices >= 0) & (indices < axis.size)]
