"""The tiles of a segment: what each tile computes, reads and keeps.

A tile goes backwards through the segment: each step computes what the steps after it read. Axes do
not depend on each other, so all ranges are those along an axis.

Along an axis, a step either *retains*, so that each tile computes only what is new and what later
tiles read again stays, or it *recomputes* all that the tile needs. In both cases the tiles of the
inner axis run first.

Source: Mei et al., DeFiNES, HPCA 2023; docs/fused-mapping.md#tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final, NamedTuple, final

import numpy as np

from nestmap.model import Layer, VectorNode
from nestmap.model.arrays import Ints
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension, LayerOperand
from nestmap.model.multicore.cn_layer import TensorUse
from nestmap.model.units import Bits, Count
from nestmap.model.workload.affine import AffineIndex
from nestmap.search.fusion.segment import Segment, SegmentNode

# --- ranges along an axis ---


class ReadRange(NamedTuple):
    """What the tiles read of an input along an axis: first and end, and the padding around it."""

    first: Ints  # [tile]
    end: Ints  # [tile]
    before: Ints  # [tile]
    after: Ints  # [tile]


@final
@dataclass(frozen=True)
class AxisTiles:
    """The tiles of a segment along an axis: what each node computes and reads in each tile.

    ``first`` and ``end`` (nodes x tiles) bound what is computed, nothing where they are equal.
    ``reads`` has the inputs that the axis indexes; others are read as a whole. ``needed`` is the
    range that all readers of a node's output need together.
    """

    segment: Segment
    axis: int
    size: int
    retain: bool
    first: Ints
    end: Ints
    reads: dict[tuple[int, int], ReadRange]
    needed: dict[int, Needed]

    @property
    def count(self) -> int:
        """The number of tiles."""
        return len(self.first[0])

    @cached_property
    def computed(self) -> Ints:
        """[node] how far all tiles together compute."""
        found: Ints = (self.end - self.first).sum(axis=1)
        return found

    def covers(self, n: int) -> bool:
        """Whether all tiles together compute all of the output of a node."""
        length = self.segment.nodes[n].nest.output.axes[self.segment.axes[self.axis]].size
        until = np.maximum.accumulate(self.end[n])
        has_gap = bool((self.first[n][1:] > until[:-1]).any())
        return bool(not has_gap and self.first[n][0] == 0 and until[-1] == length)

    @cached_property
    def kinds(self) -> tuple[tuple[int, Count], ...]:
        """Tiles that stand for all that compute and read as much: the tile, and how many there are.

        The first, those within, and the last as a rule.
        """
        columns = [self.end - self.first]
        columns += [np.stack((x.end - x.first, x.before, x.after)) for x in self.reads.values()]
        signatures = np.concatenate(columns).T
        _, firsts, counts = np.unique(signatures, axis=0, return_index=True, return_counts=True)
        order = np.argsort(firsts)
        return tuple((int(firsts[i]), int(counts[i])) for i in order)


@final
@dataclass(frozen=True, eq=False)
class Needed:
    """The ranges of a tensor that tiles need along an axis, one tile after the other."""

    first: Ints  # [tile]
    end: Ints  # [tile]

    def is_like(self, other: Needed) -> bool:
        """Whether the ranges are equal."""
        return bool((self.first == other.first).all() and (self.end == other.end).all())

    @classmethod
    def whole(cls, tiles: Count) -> Needed:
        """All of what an axis does not index, in each of so many tiles."""
        return cls(np.zeros(tiles, np.int64), np.ones(tiles, np.int64))

    @cached_property
    def done(self) -> Ints:
        """[tile] where earlier tiles have ended."""
        return np.concatenate((self.first[:1], np.maximum.accumulate(self.end)[:-1]))

    @cached_property
    def later(self) -> Ints:
        """[tile] where the first one that comes begins."""
        starts = np.where(self.end > self.first, self.first, self.end[-1])[::-1]
        return np.concatenate((self.end[-1:], np.minimum.accumulate(starts)[:-1]))[::-1]

    @cached_property
    def until(self) -> Ints:
        """[tile] where it and those before it have ended."""
        return np.maximum(self.done, self.end)

    @cached_property
    def heights(self) -> Ints:
        """[what, kind of tile] what a tile of rows needs; of that what is old, new, both, neither.

        Old rows are those that earlier tiles have needed, new ones those that later tiles need.
        """
        whole = self.end - self.first
        kept = [self.done - self.first, self.until - self.later, self.done - self.later]
        old, new, both = (np.maximum(x, 0) for x in kept)
        neither = np.maximum(whole - old - new + both, 0)
        return np.unique(np.stack((whole, old, new, both, neither)), axis=1)

    @cached_property
    def used(self) -> Ints:
        """[what, tile] the columns of each kind of rows that there are while a tile is used.

        All rows of its own columns; old ones also of the columns to come, new ones of those before.
        """
        before, none = np.minimum(self.done, self.first) - self.first[0], 0 * self.end
        found: Ints = np.stack((self.end - self.first, self.end[-1] - self.end, before, none, none))
        return found

    @cached_property
    def kept(self) -> Ints:
        """[what, tile] the same after a tile, of columns that are retained.

        New rows of columns that are done, which later rows of tiles read; old ones of those to
        come; and all rows of those that the next tile reads again.
        """
        passed, coming = self.until - self.first[0], np.maximum(self.end[-1] - self.later, 0)
        again = np.maximum(self.until - self.later, 0)
        found: Ints = np.stack((0 * again, coming, passed, -again, again))
        return found


def axis_tiles(segment: Segment, axis: int, size: int, *, retain: bool) -> AxisTiles:
    """The tiles of ``size`` along an axis of the last output; the last one may be smaller."""
    length = segment.size(axis)
    starts = np.arange(0, length, size, dtype=np.int64)
    nodes, shape = segment.nodes, (len(segment.nodes), len(starts))
    first, end = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    reads: dict[tuple[int, int], ReadRange] = {}
    needed: dict[int, Needed] = {}
    for n in reversed(range(len(nodes))):
        if n == len(nodes) - 1:
            first[n], end[n] = starts, np.minimum(starts + size, length)
        else:
            whole, after = hull([reads[reader] for reader in segment.readers[n]]), needed.get(n + 1)
            if after is not None and after.is_like(whole):
                whole = after  # one range, whose rooms are computed once
            needed[n] = whole
            first[n] = np.maximum(whole.first, whole.done) if retain else whole.first
            end[n] = np.maximum(whole.end, first[n])
        for place, read in enumerate(nodes[n].reads):
            found = _read_range(nodes[n], read.use, axis, (first[n], end[n]))
            if found is not None:
                reads[n, place] = found
    return AxisTiles(segment, axis, size, retain, first, end, reads, needed)


def hull(ranges: Sequence[ReadRange]) -> Needed:
    """The range that all readers need; where none needs anything, an empty one at the end."""
    if len(ranges) == 1 and (ranges[0].end > ranges[0].first).all():
        return Needed(ranges[0].first, ranges[0].end)
    some = np.stack([x.end > x.first for x in ranges])
    first = np.where(some, np.stack([x.first for x in ranges]), np.iinfo(np.int64).max).min(axis=0)
    end = np.where(some, np.stack([x.end for x in ranges]), 0).max(axis=0)
    until = np.maximum.accumulate(end)
    empty = ~some.any(axis=0)
    return Needed(np.where(empty, until, first), np.where(empty, until, end))


def _read_range(
    node: SegmentNode, use: TensorUse, axis: int, computed: tuple[Ints, Ints]
) -> ReadRange | None:
    """What a node reads of an input to compute a range; ``None``: the axis does not index it."""
    dimension = node.dimensions[axis]
    found = [x for x in use.axes if dimension in x.dimensions]
    if not found:
        return None
    along, sizes = found[0], node.nest.sizes
    step = next(x.coefficient for x in along.terms if x.dimension == dimension)
    reach = sum(x.coefficient * (sizes[x.dimension] - 1) for x in along.terms)
    reach -= step * (sizes[dimension] - 1)
    first, end = computed
    low = along.offset + step * first
    high = along.offset + step * (end - 1) + reach + 1
    high = np.where(end > first, high, low)
    clipped = np.clip(low, 0, along.size), np.clip(high, 0, along.size)
    return ReadRange(*clipped, clipped[0] - low, high - clipped[1])


# --- tiles along all axes ---


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """The tiles of a segment along each of its axes, the outer one first."""

    segment: Segment
    axes: tuple[AxisTiles, ...]

    @property
    def count(self) -> int:
        """The number of tiles."""
        return prod(axis.count for axis in self.axes)

    def computed(self, n: int) -> Count:
        """The elements of the tile axes that all tiles compute of a node's output."""
        return prod(int(axis.computed[n]) for axis in self.axes)

    def read_bits(self, n: int, place: int) -> Bits:
        """The bits that all tiles together read of an input."""
        use = self.segment.nodes[n].reads[place].use
        lengths = [axis.size for axis in use.axes]
        tiles = self.count
        for a, along in enumerate(self.axes):
            if (n, place) in along.reads:
                found = along.reads[n, place]
                lengths[self.position(n, place, a)] = int((found.end - found.first).sum())
                tiles //= along.count
        return prod(lengths) * use.precision * tiles

    def position(self, n: int, place: int, a: int) -> int:
        """The position of a tile axis among the axes of an input."""
        node = self.segment.nodes[n]
        axes = node.reads[place].use.axes
        return next(i for i, x in enumerate(axes) if node.dimensions[a] in x.dimensions)

    def macs(self, n: int) -> Count:
        """The operations of a layer in all tiles."""
        node = self.segment.nodes[n]
        layer = node.step.layer
        assert layer is not None
        return layer.macs // prod(layer.sizes[d] for d in node.dimensions) * self.computed(n)

    @cached_property
    def rooms(self) -> tuple[Room, ...]:
        """The room of the output of each node but the last one, while tiles run."""
        keeps = [axis.retain for axis in self.axes]
        found: list[Room] = []
        known: dict[tuple[Needed, ...], Room] = {}
        for n, node in enumerate(self.segment.nodes[:-1]):
            use = node.nest.output
            whole = [x.size for i, x in enumerate(use.axes) if i not in self.segment.axes]
            bits, needs = prod(whole) * use.precision, tuple(axis.needed[n] for axis in self.axes)
            if needs not in known:
                known[needs] = room_of(1, needs, keeps)
            during, kept = known[needs]
            found.append(Room(during * bits, kept * bits))
        return tuple(found)

    def kinds(self) -> Iterator[tuple[tuple[int, ...], Count]]:
        """A tile of each kind, by its position along each axis, and how many are of its kind."""
        found: list[tuple[tuple[int, ...], Count]] = [((), 1)]
        for axis in self.axes:
            found = [((*at, i), n * m) for at, n in found for i, m in axis.kinds]
        return iter(found)


class Room(NamedTuple):
    """The most bits that a tensor takes: from its writer to its last reader, and otherwise."""

    during: Bits
    kept: Bits


def room_of(bits: Bits, needs: Sequence[Needed], keeps: Sequence[bool]) -> Room:
    """The room of a tensor that tiles need in these ranges along each axis, retained or not.

    ``bits`` are those of an element of the tile axes.
    """
    rows, columns = needs[0], needs[-1] if len(needs) > 1 else _ONE_TILE
    during, kept = _most(rows, columns, keeps[0], len(needs) > 1 and keeps[-1])
    return Room(during * bits, kept * bits)


def _most(rows: Needed, columns: Needed, retain: bool, retain_columns: bool) -> tuple[int, int]:
    """The most elements of a tensor along the tile axes: while it is used, and between."""
    heights = rows.heights.T
    if not retain:  # all rows are neither old nor new
        heights = heights[:, :1] * _NEITHER
    kept = columns.kept if retain_columns else columns.kept * _NO_NEITHER
    return int((heights @ columns.used).max()), int((heights @ kept).max())


_ONE_TILE: Final = Needed.whole(1)
_NEITHER: Final = np.array([[1, 0, 0, 0, 1]])
_NO_NEITHER: Final = np.array([[1], [1], [1], [1], [0]])


# --- the layer or vector operator of a tile ---


def tile_layer(grid: Grid, n: int, at: Sequence[int]) -> Layer | None:
    """The part of a layer that a tile computes; ``None``: nothing.

    ``at`` is the position of the tile along each axis.
    """
    node = grid.segment.nodes[n]
    layer = node.step.layer
    assert layer is not None
    lengths = _lengths(node, grid, n, at)
    if 0 in lengths.values():
        return None
    if all(lengths[d] == layer.sizes[d] for d in lengths):
        return layer
    changed: dict[tuple[LayerOperand, Dimension], tuple[int, tuple[int, int]]] = {}
    for axis, dimension, i in zip(grid.axes, node.dimensions, at, strict=True):
        for place, read in enumerate(node.reads):
            found = axis.reads.get((n, place))
            if found is not None:
                padding = int(found.before[i]), int(found.after[i])
                size = int(found.end[i] - found.first[i])
                changed[read.use.operand, dimension] = size, padding
    return copy_with(
        layer,
        {
            "loops": tuple(
                copy_with(x, {"size": lengths.get(x.dimension, x.size)}) for x in layer.loops
            ),
            "inputs": tuple(
                copy_with(x, {"indices": tuple(_cut(y, x.name, changed) for y in x.indices)})
                for x in layer.inputs
            ),
        },
    )


def _lengths(node: SegmentNode, grid: Grid, n: int, at: Sequence[int]) -> dict[Dimension, int]:
    """The iterations of a tile along the tile axes."""
    return {
        dimension: int(axis.end[n, i] - axis.first[n, i])
        for axis, dimension, i in zip(grid.axes, node.dimensions, at, strict=True)
    }


def _cut(
    index: AffineIndex,
    operand: LayerOperand,
    changed: Mapping[tuple[LayerOperand, Dimension], tuple[int, tuple[int, int]]],
) -> AffineIndex:
    """An index of an input in a tile: the axis has the elements that are read."""
    for dimension in index.dimensions:
        if len(index.terms) > 1 and (operand, dimension) in changed:
            size, padding = changed[operand, dimension]
            return copy_with(index, {"size": max(1, size), "padding": padding})
    return index


def tile_vector(grid: Grid, n: int, at: Sequence[int]) -> VectorNode | None:
    """The part of a vector operator that a tile computes; ``None``: nothing."""
    node = grid.segment.nodes[n]
    operator = node.step.node
    assert isinstance(operator, VectorNode)
    assert operator.nest is not None
    lengths = _lengths(node, grid, n, at)
    if 0 in lengths.values():
        return None
    sizes = [lengths.get(x.dimension, x.size) for x in operator.nest.loops]
    inputs = [[*(tensor.sizes or ())] for tensor in operator.inputs]
    for a, i in enumerate(at):
        for place in range(len(node.reads)):
            found = grid.axes[a].reads.get((n, place))
            if found is not None:
                position = grid.position(n, place, a)
                inputs[place][position] = int(found.end[i] - found.first[i])
    return copy_with(
        operator,
        {
            "iterations": tuple(sizes),
            "inputs": tuple(
                copy_with(x, {"sizes": tuple(y)})
                for x, y in zip(operator.inputs, inputs, strict=True)
            ),
            "outputs": tuple(
                copy_with(x, {"sizes": _written(x.sizes, grid.segment, lengths, node)})
                for x in operator.outputs
            ),
        },
    )


def _written(
    sizes: tuple[int, ...] | None,
    segment: Segment,
    lengths: Mapping[Dimension, int],
    node: SegmentNode,
) -> tuple[int, ...]:
    found = [*(sizes or ())]
    for axis, dimension in zip(segment.axes, node.dimensions, strict=True):
        found[axis] = lengths[dimension]
    return tuple(found)
