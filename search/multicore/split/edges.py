"""The edges between nodes of two layers: the nodes that write and the nodes that read the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import final

import numpy as np

from nestmap.model.arrays import Ints
from nestmap.model.multicore.cn_layer import CnLayer, TensorAxis
from nestmap.model.multicore.tiling import Tiling
from nestmap.search.multicore.split.access_factors import Factor


@final
@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of numbers in one array: list ``i`` is ``items[bounds[i]:bounds[i + 1]]``."""

    bounds: Ints
    items: Ints

    @classmethod
    def of(cls, lists: Sequence[Ints]) -> Lists:
        """Packs the given lists."""
        bounds = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in lists], out=bounds[1:])
        return cls(bounds, np.concatenate([np.zeros(0, dtype=np.int64), *lists]))

    @classmethod
    def inverse(cls, keys: Ints, count: int) -> Lists:
        """For each number below ``count``, its positions in ``keys``."""
        bounds = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(keys, minlength=count), out=bounds[1:])
        return cls(bounds, np.argsort(keys, kind="stable"))

    def picked(self, which: Ints) -> tuple[Ints, Ints]:
        """The items of these lists, and for each item the position of its list in ``which``."""
        counts = self.bounds[which + 1] - self.bounds[which]
        owners = np.repeat(np.arange(len(which)), counts)
        ends = np.cumsum(counts)
        within = np.arange(len(owners)) - np.repeat(ends - counts, counts)
        return self.items[self.bounds[which][owners] + within], owners


@final
@dataclass(frozen=True, eq=False)
class Written:
    """The tensor that a layer writes, divided into cells by the tiles of its nodes."""

    layer: CnLayer

    @property
    def _axes(self) -> tuple[TensorAxis, ...]:
        return self.layer.nest.output.axes

    @property
    def _tiling(self) -> Tiling:
        return self.layer.tiling

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The number of cells along each axis."""
        if not self._known:
            return (1,) * len(self._axes)
        tiles = self._tiling.tiles
        return tuple(prod(tiles[term.dimension] for term in axis.terms) for axis in self._axes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The stride of each axis in cell numbers."""
        return tuple(prod(self.counts[place + 1 :]) for place in range(len(self.counts)))

    @property
    def _known(self) -> bool:
        return self.layer.writes_each_element_once

    @cached_property
    def cells(self) -> tuple[Ints, ...]:
        """The cell of each index along each axis, times its stride."""
        pairs = zip(self._axes, self.strides, strict=True)
        return tuple(self._cells(axis) * stride for axis, stride in pairs)

    def _cells(self, axis: TensorAxis) -> Ints:
        indices = np.arange(axis.size, dtype=np.int64)
        flat = np.zeros(axis.size, dtype=np.int64)
        for term in axis.terms if self._known else ():
            value = indices // term.coefficient % self.layer.nest.sizes[term.dimension]
            tile = value // self._tiling.tile_size[term.dimension]
            flat = flat * self._tiling.tiles[term.dimension] + tile
        return flat

    @cached_property
    def writers(self) -> Lists:
        """The nodes that finish each cell: those with the last part of every sum."""
        axes = self._axes if self._known else ()
        numbers = self._tiling.tile_numbers(d for axis in axes for d in axis.dimensions)
        done = np.flatnonzero(self.layer.is_final)
        found = Lists.inverse(numbers[done], prod(self.counts))
        return Lists(found.bounds, done[found.items])


def edges(reading: Tiling, factors: Sequence[Factor], written: Written) -> tuple[Ints, Ints]:
    """Distinct pairs of a producer and a consumer of some of its output.

    Args:
        reading: the tiles of the consuming layer.
        factors: the reads of its nodes from the tensor.
        written: the tensor.
    """
    readers = np.arange(reading.count, dtype=np.int64)
    cells = np.zeros(reading.count, dtype=np.int64)
    for factor in factors:
        lists = Lists.of([_cells_of(factor, region, written) for region in factor.regions])
        found, owners = lists.picked(reading.tile_numbers(factor.dimensions)[readers])
        readers, cells = readers[owners], cells[owners] + found
    writers, owners = written.writers.picked(cells)
    pairs = _distinct(writers * reading.count + readers[owners])
    return pairs // reading.count, pairs % reading.count


def _distinct(values: Ints) -> Ints:
    """The distinct values in order.

    For millions of values much faster than :func:`numpy.unique`.
    """
    values.sort()
    new = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


def _cells_of(factor: Factor, region: Sequence[Sequence[Ints]], written: Written) -> Ints:
    """The cells of a region, as far as the factor's axes determine them."""
    found = [np.zeros(0, dtype=np.int64)]
    for box in region:
        cells = np.zeros(1, dtype=np.int64)
        for axis, indices in zip(factor.axes, box, strict=True):
            cells = (cells[:, None] + np.unique(written.cells[axis][indices])).reshape(-1)
        found.append(cells)
    return np.unique(np.concatenate(found))
