"""Splits a network into computation nodes and finds the edges between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from nestmap.model import LayerNode, MultiCoreAccelerator, VectorNode, Workload
from nestmap.model.arrays import Ints
from nestmap.model.multicore.cn_layer import CnLayer, LayerNest, dimensions_of
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, WITHIN_GROUP, CnEdges, CnWorkload
from nestmap.model.multicore.split_options import Convention, SplitOptions
from nestmap.search.multicore.split.access_factors import read_factors
from nestmap.search.multicore.split.edges import Written, edges
from nestmap.search.multicore.split.node_nests import layer_nest, vector_nest
from nestmap.search.multicore.split.outer_loops import split_layer
from nestmap.search.multicore.split.producers import Producer, Producers
from nestmap.search.multicore.split.stored_tensors import with_stored_bits
from nestmap.search.multicore.split.trace_back import steps_between, trace_back

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
    edges = _all_edges(layers, Producers(workload, nests), options.convention)
    return CnWorkload(workload.name, tuple(layers.values()), edges, options.convention)


def _all_edges(layers: Mapping[str, CnLayer], feeds: Producers, convention: Convention) -> CnEdges:
    """The edges within the groups of each layer, and those between layers."""
    counts = [layer.tiling.count for layer in layers.values()]
    first = dict(zip(layers, np.cumsum([0, *counts]).tolist(), strict=False))
    written = {name: Written(layer) for name, layer in layers.items()}
    columns = [_moved(_chains(layer), first[name], first[name]) for name, layer in layers.items()]
    if convention is Convention.EXACT:
        columns += [
            _moved(_sums(layer), first[name], first[name]) for name, layer in layers.items()
        ]
    for name, layer in layers.items():
        for feed in feeds.of(layer.nest):
            fed = _fed(written[feed.writer], layer, feed, convention)
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
    bits = layer.bits_of(layer.nest.output, Convention.EXACT)[before]
    return before, after, np.full(len(before), PARTIAL_SUMS, dtype=np.int64), bits


def _fed(written: Written, reader: CnLayer, feed: Producer, convention: Convention) -> Columns:
    """The edges from the nodes that write a tensor to those that read it as this input."""
    axes = feed.read.axes
    factors = read_factors(axes, reader.tiling, convention)
    factors, sizes = trace_back(factors, tuple(axis.size for axis in axes), feed.steps)
    writer = written.layer
    within = steps_between(sizes, tuple(axis.size for axis in writer.nest.output.axes))
    factors, _ = trace_back(factors, sizes, within)
    producers, consumers = edges(reader.tiling, factors, written)
    bits = writer.bits_of(writer.nest.output, convention)[producers]
    if convention is Convention.STREAM and not COUNTED_TWICE.isdisjoint(feed.through):
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
