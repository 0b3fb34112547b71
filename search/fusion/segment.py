"""Steps of a network that can run tile by tile: a segment.

A segment is an interval of the steps of a network. Its last step writes the output that is cut into
tiles along one or two axes, which all its steps must have.

Source: Mei et al., DeFiNES, HPCA 2023; docs/fused-mapping.md#tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

from nestmap.model import LayerNode, VectorNode
from nestmap.model.dims import Dimension
from nestmap.model.multicore.cn_layer import LayerNest, TensorAxis, TensorUse
from nestmap.search.multicore.split.node_nests import layer_nest, vector_nest
from nestmap.search.tensor_homes import Step, TensorGraph

MOST_AXES: Final = 2
"""Axes along which a segment is cut into tiles: the last ones, rows and columns of an image."""


# --- the nodes of a segment, and who writes what they read ---


@final
@dataclass(frozen=True, slots=True)
class Read:
    """An input of a node: a tensor, and the node of the segment that writes it, if one does."""

    use: TensorUse
    writer: int | None


@final
@dataclass(frozen=True, slots=True)
class SegmentNode:
    """A node of a segment as a loop nest, and the dimension of its output along each tile axis."""

    step: Step
    nest: LayerNest
    reads: tuple[Read, ...]
    dimensions: tuple[Dimension, ...]


@final
@dataclass(frozen=True)
class Segment:
    """The steps ``first`` to ``last`` of a network, and the axes along which they may be tiled.

    ``axes`` are positions of axes of each tensor within the segment.
    """

    first: int
    nodes: tuple[SegmentNode, ...]
    axes: tuple[int, ...]

    @property
    def last(self) -> int:
        """The last step."""
        return self.first + len(self.nodes) - 1

    def size(self, axis: int) -> int:
        """The length of an axis of the last output."""
        return self.nodes[-1].nest.output.axes[self.axes[axis]].size

    @cached_property
    def readers(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The nodes that read the output of each node, and the positions of these inputs."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for n, node in enumerate(self.nodes):
            for place, read in enumerate(node.reads):
                if read.writer is not None:
                    found[read.writer].append((n, place))
        return tuple(map(tuple, found))


def segment_of(graph: TensorGraph, first: int, last: int) -> Segment | str:
    """The segment of these steps; if they cannot run tile by tile, why."""
    steps = graph.steps[first : last + 1]
    writers = {name: n for n, step in enumerate(steps) for name in _names(step)}
    nodes: list[SegmentNode] = []
    for n, step in enumerate(steps):
        if isinstance(step.node, LayerNode) and step.layer is None:
            return f"{step.node.name} is not mapped"
        if isinstance(step.node, VectorNode) and not _is_counted_by_loops(step.node):
            return f"how {step.node.name} reads its inputs is not known"
        moved = {b for name, given in step.sources.items() if name not in writers for b in given}
        if moved & {x.written for x in steps[:n]}:
            return f"{step.node.name} reads another shape or part than is written"
        nest = _nest(step)
        nodes.append(SegmentNode(step, nest, tuple(_reads(step, nest, writers)), ()))
    read_within = {read.writer for node in nodes for read in node.reads}
    for n, step in enumerate(steps[:-1]):
        if n not in read_within:
            return f"none of them reads {step.node.name}"
    axes = _axes(nodes)
    if isinstance(axes, str):
        return axes
    found = tuple(
        SegmentNode(x.step, x.nest, x.reads, tuple(_dimension(x, axis) for axis in axes))
        for x in nodes
    )
    return Segment(first, found, axes)


def _names(step: Step) -> tuple[str, ...]:
    """The names by which layers and vector operators call what a step writes."""
    return (step.node.name, *(x.name for x in step.node.outputs))


def _is_counted_by_loops(node: VectorNode) -> bool:
    """Whether the loops of a vector operator are its iterations, and its outputs alike."""
    alike = len({x.sizes for x in node.outputs}) == 1
    return (
        alike
        and node.nest is not None
        and tuple(x.size for x in node.nest.loops) == node.iterations
    )


def _nest(step: Step) -> LayerNest:
    node = step.node
    return layer_nest(node, 0) if isinstance(node, LayerNode) else vector_nest(node, 0)


def _reads(step: Step, nest: LayerNest, writers: Mapping[str, int]) -> Iterator[Read]:
    """The inputs of a step, each with its writer in the segment."""
    for use in nest.inputs:
        source = use.source
        if isinstance(step.node, VectorNode):
            source = use.tensor
        yield Read(use, None if use.constant or source is None else writers.get(source))


def _axes(nodes: Sequence[SegmentNode]) -> tuple[int, ...] | str:
    """The axes along which all nodes can be tiled, or why there is none."""
    rank = len(nodes[-1].nest.output.axes)
    for node in nodes:
        for read in node.reads:
            if read.writer is not None and not _match(nodes[read.writer], read.use):
                return f"{node.nest.name} reads other axes than {nodes[read.writer].nest.name} has"
    reasons: list[str] = []
    found: list[int] = []
    for axis in range(rank):
        reason = next(filter(None, (_why_whole(node, axis) for node in nodes)), None)
        if reason is not None:
            reasons.append(reason)
        elif nodes[-1].nest.output.axes[axis].size > 1:
            found.append(axis)
    return tuple(found[-MOST_AXES:]) or (reasons[-1] if reasons else "its output has one element")


def cut_dimensions(graph: TensorGraph) -> tuple[frozenset[Dimension], ...]:
    """[step] the dimensions of its output along which any segment may be cut into tiles.

    A step of a segment writes what another one of them reads, or is the last and reads what another
    one writes: an axis of all tiles is one of such a pair.
    """
    steps, found = graph.steps, [set[Dimension]() for _ in graph.steps]
    writers = {name: n for n, step in enumerate(steps) for name in _names(step)}
    for n, step in enumerate(steps):
        if not _has_loops(step):
            continue
        nest = _nest(step)
        reads = tuple(_reads(step, nest, writers))
        for writer in {x.writer for x in reads if x.writer is not None}:
            if not _has_loops(steps[writer]):
                continue
            own = tuple(Read(x.use, writer if x.writer == writer else None) for x in reads)
            pair = (
                SegmentNode(steps[writer], _nest(steps[writer]), (), ()),
                SegmentNode(step, nest, own, ()),
            )
            for axis in range(len(nest.output.axes)):
                if all(_why_whole(x, axis) is None for x in pair):
                    found[writer].add(_dimension(pair[0], axis))
                    found[n].add(_dimension(pair[1], axis))
    return tuple(map(frozenset, found))


def _has_loops(step: Step) -> bool:
    """Whether the iterations of a step are known, so that it can run in tiles."""
    node = step.node
    return step.layer is not None if isinstance(node, LayerNode) else _is_counted_by_loops(node)


def outside_name(nest: LayerNest, use: TensorUse) -> str:
    """The name of a tensor from outside; one without a name is no other operand's."""
    return use.tensor or use.source or f"{nest.name} {use.operand}"


def _match(writer: SegmentNode, use: TensorUse) -> bool:
    written = [axis.size for axis in writer.nest.output.axes]
    return written == [axis.size for axis in use.axes]


def _why_whole(node: SegmentNode, axis: int) -> str | None:
    """Why a node needs all of an axis at a time; ``None``: it does not."""
    output = node.nest.output.axes
    if len(output) <= axis or not _is_single(output[axis], node.nest):
        return f"{node.nest.name} writes axis {axis} in no order of tiles"
    dimension = output[axis].terms[0].dimension
    for read in node.reads:
        at = [i for i, x in enumerate(read.use.axes) if dimension in x.dimensions]
        if read.writer is not None and at != [axis]:
            return f"{node.nest.name} reads all of axis {axis} of {read.use.operand}"
        if len(at) > 1:
            return f"{node.nest.name} reads several axes of {read.use.operand} along axis {axis}"
    return None


def _is_single(axis: TensorAxis, nest: LayerNest) -> bool:
    """Whether one loop indexes all of an axis of an output."""
    if len(axis.terms) != 1 or axis.offset or axis.terms[0].coefficient != 1:
        return False
    return nest.sizes[axis.terms[0].dimension] == axis.size


def _dimension(node: SegmentNode, axis: int) -> Dimension:
    return node.nest.output.axes[axis].terms[0].dimension
