"""Splits layers whose constants are too large: each becomes parts, joined as one tensor again."""

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
"""Bits that a constant operand of a layer may take; ``None``: as many as it likes."""


@final
@dataclass(frozen=True)
class LayerSplit:
    """A layer, and the nodes in its place: its parts, what cuts their inputs, what joins them."""

    layer: LayerNode
    nodes: tuple[Node, ...]

    @property
    def parts(self) -> tuple[LayerNode, ...]:
        """The layers that it became, in their order."""
        return tuple(node for node in self.nodes if isinstance(node, LayerNode))


@final
@dataclass(frozen=True)
class Rewritten:
    """A workload after layers were split, and which those are."""

    workload: Workload
    splits: tuple[LayerSplit, ...]


def split_layers(
    workload: Workload, room: Room, along: SplitAlong = SplitAlong.OUTPUTS
) -> Rewritten:
    """The workload, its layers split whose constants are larger than their room.

    Each is cut into the fewest parts that fit: into groups (``G``), single groups along output
    channels (``K``), single channels along input channels (``C``), or ``C`` before ``K``. All
    parts along a dimension are of one size, but for the last one, which may be smaller. Parts of
    the output are joined by a Concat, partial sums by Adds; parts read a Slice of the input where
    they need no more. What the parts compute together is what the layer did, and what is joined is
    the layer's output.

    Args:
        workload: the network.
        room: see :data:`Room`.
        along: which channels are cut first.

    Raises:
        InputError: where even the smallest parts of a layer do not fit.
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
    """The workload with a tensor wherever a layer that is split reads of a node that names none."""
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
    """The node, reading what joins the parts of a layer where it read the layer."""
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
