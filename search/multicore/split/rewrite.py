"""Splits layers with too large constants into parts that are joined to the original tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import final

from nestmap.model import InputOperand, LayerNode, NoCostNode, Tensor, VectorNode, Workload
from nestmap.model.base import copy_with
from nestmap.model.workload.graph import Node
from nestmap.search.multicore.split.layer_parts import LayerParts, Surroundings
from nestmap.search.multicore.split.node_nests import layer_nest
from nestmap.search.multicore.split.weight_split_plan import Plan, SplitAlong, split_plan

Room = Callable[[LayerNode, InputOperand], int | None]
"""The bits allowed for a constant operand of a layer; ``None``: unlimited."""


@final
@dataclass(frozen=True)
class LayerSplit:
    """A layer and the nodes that replace it: input slices, parts, and the nodes that join them."""

    layer: LayerNode
    nodes: tuple[Node, ...]

    @property
    def parts(self) -> tuple[LayerNode, ...]:
        """The parts of the layer, in order."""
        return tuple(node for node in self.nodes if isinstance(node, LayerNode))


@final
@dataclass(frozen=True)
class Rewritten:
    """A workload after splitting, with the layers that were split."""

    workload: Workload
    splits: tuple[LayerSplit, ...]


def split_layers(
    workload: Workload, room: Room, along: SplitAlong = SplitAlong.OUTPUTS
) -> Rewritten:
    """The workload with a split of every layer whose constants exceed the allowed bits.

    Each is split into the fewest parts that fit: into groups (``G``), single groups along output
    channels (``K``), single channels along input channels (``C``), or ``C`` before ``K``. All
    parts along a dimension have the same size, except that the last one may be smaller. Parts of
    the output are joined by a Concat, partial sums by Adds; a part that needs only some of an
    input reads a Slice of it. Together the parts compute the layer's output.

    Args:
        workload: the network.
        room: see :data:`Room`.
        along: which channels are split first.

    Raises:
        InputError: if even the smallest parts of a layer do not fit.
    """
    plans = {
        node.name: plan
        for node in workload.nodes
        if isinstance(node, LayerNode) and (plan := split_plan(node, room, along)).tiles
    }
    if not plans:
        return Rewritten(workload, ())
    named = _with_names(workload, plans)
    around = Surroundings(
        {name for node in named.nodes for name in _names_of(node)},
        {node.name: node.outputs[0] for node in named.nodes if node.outputs},
    )
    splits = {
        node.name: LayerSplit(node, LayerParts(node, plans[node.name], around).build())
        for node in named.nodes
        if isinstance(node, LayerNode) and node.name in plans
    }
    joined = {name: split.nodes[-1].name for name, split in splits.items()}
    nodes = (
        _reading(made, joined)
        for node in named.nodes
        for made in (splits[node.name].nodes if node.name in splits else (node,))
    )
    rewritten = Workload(name=workload.name, nodes=tuple(nodes))
    return Rewritten(rewritten, tuple(splits.values()))


def _names_of(node: Node) -> Iterable[str]:
    return (node.name, *(tensor.name for tensor in (*node.inputs, *node.outputs)))


def _with_names(workload: Workload, plans: Mapping[str, Plan]) -> Workload:
    """The workload with a named tensor wherever a split layer reads an unnamed output of a node."""
    wanted: dict[str, Tensor] = {}
    for node in workload.nodes:
        if isinstance(node, LayerNode) and node.name in plans:
            for read in layer_nest(node, 0).inputs:
                if read.source is not None and read.tensor is None:
                    sizes = tuple(axis.size for axis in read.axes)
                    tensor = Tensor(name=f"{read.source}:0", sizes=sizes, precision=read.precision)
                    wanted.setdefault(read.source, tensor)
    nodes = (
        copy_with(node, {"outputs": (wanted[node.name],)})
        if node.name in wanted and not node.outputs
        else node
        for node in workload.nodes
    )
    return Workload(name=workload.name, nodes=tuple(nodes))


def _reading(node: Node, joined: Mapping[str, str]) -> Node:
    """The node with its inputs redirected from the layer to the node that joins its parts."""
    if not any(source in joined for source in node.sources):
        return node
    if isinstance(node, NoCostNode | VectorNode):
        sources = tuple(joined.get(source, source) for source in node.sources)
        return copy_with(node, {"sources": sources})
    inputs = tuple(
        copy_with(operand, {"source": joined.get(operand.source or "", operand.source)})
        for operand in node.layer.inputs
    )
    return copy_with(node, {"layer": copy_with(node.layer, {"inputs": inputs})})
