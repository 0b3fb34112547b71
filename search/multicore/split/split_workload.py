"""Splits a network into computation nodes and finds the edges between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import Final, final

import numpy as np

from nestmap.costmodel.zeros import stored_bits
from nestmap.model import (
    Compression,
    Counting,
    InputError,
    LayerNode,
    Loop,
    MultiCoreAccelerator,
    VectorNode,
    Workload,
)
from nestmap.model.arrays import Ints
from nestmap.model.base import copy_with
from nestmap.model.dims import OUTPUT, LayerOperand, MemoryOperand
from nestmap.model.multicore.cn_layer import (
    CnLayer,
    LayerNest,
    TensorAxis,
    TensorUse,
    dimensions_of,
)
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, WITHIN_GROUP, CnEdges, CnWorkload
from nestmap.model.multicore.split_options import HintLoop, Hints, SplitMode, SplitOptions
from nestmap.model.multicore.tiling import Tiling
from nestmap.model.multicore.top_memories import memory_operands
from nestmap.search.multicore.split.access_factors import Factor, read_factors
from nestmap.search.multicore.split.node_nests import Sizes, layer_nest, vector_nest
from nestmap.search.multicore.split.producers import Producer, Producers
from nestmap.search.multicore.split.trace_back import steps_between, trace_back

# --- the bits in which cores hold and send tensors that outermost memories compress ---
# A tensor has one form in the whole schedule: in every memory that may hold it, and on the way
# from one to another. That is the largest form in which one of these memories stores it, so that a
# tensor is compressed if all of them compress it. Of two densities, that of the layer that writes
# it and the largest of those that read it, the smaller counts: a density of 1 may just not be
# stated.
# Source of the formats: docs/cost-model.md#compressed-tensors.

Formats = Mapping[MemoryOperand, frozenset[Compression | None]]
"""How outermost memories store a memory operand; ``None``: as it is."""


def top_formats(accelerator: MultiCoreAccelerator) -> Formats:
    """The formats of all outermost memories of an accelerator, by memory operand.

    Cores that only store keep operands as they are that they do not list.
    """
    computing = [core.top_levels for core in accelerator.compute_cores]
    known = {operand for levels in computing for operand in levels}
    storing = [x.top_levels for x in accelerator.cores if x not in accelerator.compute_cores]
    return {
        operand: frozenset(
            levels[operand].compression_of(operand) if operand in levels else None
            for levels in (*(x for x in computing if operand in x), *storing)
        )
        for operand in known
    }


def with_stored_bits(
    workload: Workload, nests: Mapping[str, LayerNest], accelerator: MultiCoreAccelerator
) -> dict[str, LayerNest]:
    """The nests with the bits of tensors as outermost memories of the accelerator store them."""
    formats = top_formats(accelerator)
    if not any(form is not None for found in formats.values() for form in found):
        return dict(nests)
    return _Forms(workload, nests, accelerator, formats).nests()


@final
class _Forms:
    """The forms of the tensors of a workload."""

    def __init__(
        self,
        workload: Workload,
        nests: Mapping[str, LayerNest],
        accelerator: MultiCoreAccelerator,
        formats: Formats,
    ) -> None:
        self._nests, self._accelerator, self._formats = nests, accelerator, formats
        self._layers = {x.name: x.layer for x in workload.nodes if isinstance(x, LayerNode)}
        self._writers: dict[tuple[str, LayerOperand], set[str]] = {}
        self._carried: dict[str, set[MemoryOperand]] = {name: {OUTPUT} for name in nests}
        self._read: dict[str, float] = {}
        producers = Producers(workload, nests)
        for name, nest in nests.items():
            for feed in producers.of(nest):
                place = name, feed.read.operand
                self._writers.setdefault(place, set()).add(feed.writer)
                self._carried[feed.writer] |= self._carriers(nest, feed.read.operand)
                density = max(self._read.get(feed.writer, 0.0), self._stated(*place))
                self._read[feed.writer] = density

    def nests(self) -> dict[str, LayerNest]:
        """All nests, with the form of each tensor."""
        return {
            name: copy_with(
                nest,
                {
                    "output": self._output(nest),
                    "inputs": tuple(self._input(nest, read) for read in nest.inputs),
                },
            )
            for name, nest in self._nests.items()
        }

    def _output(self, nest: LayerNest) -> TensorUse:
        return copy_with(
            nest.output, {"stored": self._stored(nest.output, [(nest.name, nest.output.operand)])}
        )

    def _input(self, nest: LayerNest, read: TensorUse) -> TensorUse:
        """A tensor that is read, with the zeros and in the form of those who write it, if any."""
        writers = self._writers.get((nest.name, read.operand))
        made = [(name, self._nests[name].output.operand) for name in sorted(writers or ())]
        return copy_with(read, {"stored": self._stored(read, made or [(nest.name, read.operand)])})

    def _stored(self, use: TensorUse, origins: Iterable[tuple[str, LayerOperand]]) -> float | None:
        """The bits of an element in the largest form; ``None``: it stays as it is."""
        forms = (
            stored_bits(use.precision, self._density(*origin), form)
            for origin in origins
            for carried in self._operands(*origin)
            for form in self._formats[carried]
        )
        largest = max(forms, default=float(use.precision))
        return largest if largest < use.precision else None

    def _operands(self, name: str, operand: LayerOperand) -> set[MemoryOperand]:
        """The memory operands that carry a tensor: where it is written, and where it is read."""
        nest = self._nests[name]
        if operand == nest.output.operand:
            return self._carried[name]
        return self._carriers(nest, operand)

    def _carriers(self, nest: LayerNest, operand: LayerOperand) -> set[MemoryOperand]:
        """The memory operands that carry an input on the cores; of cores without one, none."""
        place = 1 + [read.operand for read in nest.inputs].index(operand)
        found = (memory_operands(nest, core) for core in self._accelerator.compute_cores)
        return {links[place] for links in found if links is not None}

    def _density(self, name: str, operand: LayerOperand) -> float:
        """The share of the elements of a written tensor or a constant that are not zero."""
        is_output = operand == self._nests[name].output.operand
        read = self._read.get(name, 1.0) if is_output else 1.0
        return min(self._stated(name, operand), read)

    def _stated(self, name: str, operand: LayerOperand) -> float:
        """The density that a layer states; vector operators state none."""
        layer = self._layers.get(name)
        return 1.0 if layer is None else layer.operand(operand).density


# --- the outer loops along which a layer is split, as the hints request ---


def split_layer(nest: LayerNest, options: SplitOptions, capacity: int | None) -> CnLayer:
    """Adds outer loops to a layer.

    Args:
        nest: the layer.
        options: how to split.
        capacity: bits for its constants in the smallest memory of the allowed cores (for mode 4);
            ``None``: no allowed core holds constants.

    Raises:
        InputError: if the layer cannot be split such that its constants fit.
    """
    loops = _outer(nest, _hints(nest.number, options), options)
    if options.mode is SplitMode.OUTER_AND_WEIGHTS:
        loops += _weight_loops(nest, loops, options, capacity)
    counts = _tiles(loops) if options.counting is Counting.REFERENCE else {}
    whole = tuple(_padded(loop, counts.get(loop.dimension, 1)) for loop in nest.loops)
    cut = Tiling(whole, tuple(loops))
    return CnLayer(nest=nest, loops=whole, outer=tuple(_exact(x, loops, cut) for x in loops))


def _padded(loop: Loop, parts: int) -> Loop:
    """The loop, extended until the number of parts divides it."""
    return Loop(dimension=loop.dimension, size=ceil(loop.size / parts) * parts)


def _exact(loop: Loop, loops: Sequence[Loop], cut: Tiling) -> Loop:
    """The loop with one iteration per tile, if it alone splits its dimension."""
    alone = sum(other.dimension == loop.dimension for other in loops) == 1
    return Loop(dimension=loop.dimension, size=cut.tiles[loop.dimension]) if alone else loop


def _hints(number: int, options: SplitOptions) -> Hints:
    place = int(np.searchsorted(options.cutoffs, number, side="right"))
    return options.hints[place]


def _tiles(loops: Sequence[Loop]) -> Sizes:
    return {
        loop.dimension: prod(x.size for x in loops if x.dimension == loop.dimension)
        for loop in loops
    }


def _outer(nest: LayerNest, hints: Hints, options: SplitOptions) -> list[Loop]:
    known = [hint for hint in hints if hint.dimension in nest.sizes]
    if options.mode is SplitMode.INNER:
        return _around(nest, known, options.counting)
    loops = (
        Loop(dimension=hint.dimension, size=_limited(hint, nest.sizes[hint.dimension]))
        for hint in known
    )
    return [loop for loop in loops if loop.size > 1]


def _limited(hint: HintLoop, size: int) -> int:
    return size if hint.tiles is None else min(hint.tiles, size)


def _around(nest: LayerNest, inner: Sequence[HintLoop], counting: Counting) -> list[Loop]:
    """The loops around the given inner ones, in the order of the layer's loops."""
    within = dict.fromkeys(nest.sizes, 1)
    for hint in inner:
        size = nest.sizes[hint.dimension]
        wanted = within[hint.dimension] * _limited(hint, size)
        within[hint.dimension] = min(wanted, size)
    if counting is Counting.REFERENCE:
        within = {d: _divisor_near(n, nest.sizes[d]) for d, n in within.items()}
    counts = {d: ceil(size / within[d]) for d, size in nest.sizes.items()}
    return [Loop(dimension=d, size=n) for d, n in counts.items() if n > 1]


def _divisor_near(wanted: int, size: int) -> int:
    """The divisor of ``size`` nearest to the target; of two, the smaller one."""
    divisors = (n for n in range(1, size + 1) if size % n == 0)
    return min(divisors, key=lambda n: (abs(n - wanted), n))


def _weight_loops(
    nest: LayerNest, loops: Sequence[Loop], options: SplitOptions, capacity: int | None
) -> list[Loop]:
    """The outermost loop over K that makes the constants of a node fit."""
    bits = max((_bits(read) for read in nest.constants), default=0)
    if not bits or capacity is None or "K" not in nest.sizes:
        return []
    where, size = f"layer {nest.name}", nest.sizes["K"]
    room = options.weight_share * capacity
    if room * size < bits:
        raise InputError(
            where,
            f"constants of {bits} bit, split along K into {size} parts at most",
            f"parts of at most {room:.0f} bit, {options.weight_share:g} of the smallest memory for "
            "constants of the allowed cores",
        )
    count = ceil(size / min(size, int(room * size / bits)))
    if options.counting is Counting.REFERENCE:
        count = next(n for n in range(count, size + 1) if size % n == 0)
    cut = _tiles(loops).get("K", 1)
    return [Loop(dimension="K", size=count)] if count > cut else []


def _bits(read: TensorUse) -> int:
    elements = prod(axis.size for axis in read.axes)
    return elements * read.precision if read.stored is None else ceil(elements * read.stored)


# --- the edges between nodes of two layers ---


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


# --- splits a network into computation nodes and finds the edges between them ---

Capacity = Callable[[LayerNest], int | None]
"""Bits for the constants of a node in the smallest memory of the allowed cores."""

COUNTED_TWICE: Final = frozenset({"Reshape", "Flatten", "Transpose", "Gather", "LpNormalization"})
"""Operators after which Stream counts the bits of an edge twice (a defect)."""

Columns = tuple[Ints, Ints, Ints, Ints]
"""Producers, consumers, inputs, bits."""


def split_workload(
    workload: Workload,
    options: SplitOptions,
    computes: Callable[[VectorNode], bool],
    capacity: Capacity,
    accelerator: MultiCoreAccelerator | None = None,
) -> CnWorkload:
    """The computation nodes of a network.

    Args:
        workload: the network.
        options: the loops along which to split.
        computes: whether a vector operator becomes computation nodes; others pass their data on at
            no cost, as operators that only move data do.
        capacity: see :data:`Capacity`.
        accelerator: the outermost memories that may compress tensors; by default, none does.

    Raises:
        InputError: if a layer cannot be split such that its constants fit.
    """
    nests = {nest.name: nest for nest in _nests(workload, computes)}
    if accelerator is not None:
        nests = with_stored_bits(workload, nests, accelerator)
    layers = {name: split_layer(nest, options, capacity(nest)) for name, nest in nests.items()}
    edges = _all_edges(layers, Producers(workload, nests), options.counting)
    return CnWorkload(workload.name, tuple(layers.values()), edges, options.counting)


def _all_edges(layers: Mapping[str, CnLayer], feeds: Producers, counting: Counting) -> CnEdges:
    """The edges within the groups of each layer, and those between layers."""
    counts = [layer.tiling.count for layer in layers.values()]
    first = dict(zip(layers, np.cumsum([0, *counts]).tolist(), strict=False))
    written = {name: Written(layer) for name, layer in layers.items()}
    columns = [_moved(_chains(layer), first[name], first[name]) for name, layer in layers.items()]
    if counting is Counting.EXACT:
        columns += [
            _moved(_sums(layer), first[name], first[name]) for name, layer in layers.items()
        ]
    for name, layer in layers.items():
        for feed in feeds.of(layer.nest):
            fed = _fed(written[feed.writer], layer, feed, counting)
            columns.append(_moved(fed, first[feed.writer], first[name]))
    return _sorted(columns)


def _nests(workload: Workload, computes: Callable[[VectorNode], bool]) -> Iterator[LayerNest]:
    for number, node in enumerate(workload.nodes):
        if isinstance(node, LayerNode):
            yield layer_nest(node, number)
        elif isinstance(node, VectorNode) and computes(node):
            yield vector_nest(node, number)


def _chains(layer: CnLayer) -> Columns:
    """The edges that keep the nodes of each group in order."""
    order = np.argsort(layer.groups, kind="stable")
    same = np.diff(layer.groups[order]) == 0
    before, after = order[:-1][same], order[1:][same]
    nothing = np.zeros(len(before), dtype=np.int64)
    return before, after, nothing + WITHIN_GROUP, nothing


def _sums(layer: CnLayer) -> Columns:
    """The edges between nodes of which one continues the partial sums of the other.

    If a reduction is split, a node sends its partial sums to the next node that adds to the same
    part of the output, on any core; the last one finishes it. Stream has no such edges.
    """
    none = np.zeros(0, dtype=np.int64)
    if layer.is_final.all():
        return none, none, none, none
    part = layer.tiling.tile_numbers(dimensions_of(layer.nest.output.axes))
    order = np.argsort(part, kind="stable")
    same = np.diff(part[order]) == 0
    before, after = order[:-1][same], order[1:][same]
    bits = layer.bits_of(layer.nest.output, Counting.EXACT)[before]
    return before, after, np.full(len(before), PARTIAL_SUMS, dtype=np.int64), bits


def _fed(written: Written, reader: CnLayer, feed: Producer, counting: Counting) -> Columns:
    """The edges from the nodes that write a tensor to those that read it as this input."""
    axes = feed.read.axes
    factors = read_factors(axes, reader.tiling, counting)
    factors, sizes = trace_back(factors, tuple(axis.size for axis in axes), feed.steps)
    writer = written.layer
    within = steps_between(sizes, tuple(axis.size for axis in writer.nest.output.axes))
    factors, _ = trace_back(factors, sizes, within)
    producers, consumers = edges(reader.tiling, factors, written)
    bits = writer.bits_of(writer.nest.output, counting)[producers]
    if counting is Counting.REFERENCE and not COUNTED_TWICE.isdisjoint(feed.through):
        bits = 2 * bits
    place = reader.nest.inputs.index(feed.read)
    return producers, consumers, np.full(len(producers), place, dtype=np.int64), bits


def _moved(columns: Columns, writer: int, reader: int) -> Columns:
    """The edges with node numbers of the network instead of the layers."""
    producers, consumers, reads, bits = columns
    return producers + writer, consumers + reader, reads, bits


def _sorted(columns: Sequence[Columns]) -> CnEdges:
    """The distinct edges, sorted by producer, consumer and input."""
    none = np.zeros(0, dtype=np.int64)
    every = zip((none,) * 4, *columns, strict=True)
    producer, consumer, read, bits = (np.concatenate(parts) for parts in every)
    order = np.lexsort((read, consumer, producer))
    producer, consumer, read, bits = (x[order] for x in (producer, consumer, read, bits))
    new = np.ones(len(producer), dtype=np.bool_)
    new[1:] = (np.diff(producer) != 0) | (np.diff(consumer) != 0) | (np.diff(read) != 0)
    return CnEdges(producer[new], consumer[new], read[new], bits[new])
