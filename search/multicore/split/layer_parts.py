"""The nodes that replace a split layer: input slices, the parts, and the nodes that join them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import final

from nestmap.model import InputOperand, LayerNode, Loop, Tensor
from nestmap.model.base import copy_with
from nestmap.model.workload.graph import Node
from nestmap.search.multicore.split.node_nests import layer_nest
from nestmap.search.multicore.split.slice_concat_add import (
    Piece,
    Ranges,
    add_node,
    concat_node,
    ranges_of,
    slice_node,
)
from nestmap.search.multicore.split.weight_split_plan import Plan


@final
@dataclass
class Surroundings:
    """The names in use in a network, and the first output of each node that has one."""

    names: set[str]
    outputs: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])

    def fresh(self, wish: str) -> str:
        """A name that is not in use, as close as possible to the wanted one; marks it as used."""
        while wish in self.names:
            wish += "_"
        self.names.add(wish)
        return wish


@final
class LayerParts:
    """Splits a layer as planned; the last of the nodes produces its output."""

    def __init__(self, node: LayerNode, plan: Plan, around: Surroundings) -> None:
        self._node = node
        self._layer = node.layer
        self._nest = layer_nest(node, 0)
        self._plan = plan
        self._around = around
        self._nodes: list[Node] = []
        self._slices: dict[tuple[str, object], Piece] = {}
        self._parts = 0
        self._joints = Counter[str]()

    def build(self) -> tuple[Node, ...]:
        """The nodes in topological order.

        Raises:
            InputError: if a part would touch elements that are not contiguous.
        """
        whole = {d: (0, size) for d, size in self._layer.sizes.items()}
        self._cut(tuple(self._plan.tiles), whole, finished=True)
        if self._node.outputs:  # consumers of the layer know it by this name
            self._nodes[-1] = copy_with(self._nodes[-1], {"outputs": self._node.outputs})
        return tuple(self._nodes)

    def _cut(self, left: Sequence[str], at: Ranges, *, finished: bool) -> Piece:
        """Produces these ranges of the output, split along the remaining dimensions."""
        if not left:
            return self._part(at, finished=finished)
        dimension, *rest = left
        size, tile = self._layer.sizes[dimension], self._plan.tiles[dimension]
        axes = [dimension in axis.dimensions for axis in self._nest.output.axes]
        tiles = [(lo, min(lo + tile, size)) for lo in range(0, size, tile)]
        below = finished and any(axes)
        pieces = [self._cut(rest, at | {dimension: part}, finished=below) for part in tiles]
        if any(axes):
            return self._add(concat_node(pieces, axes.index(True), *self._named("concat")))
        whole = pieces[0]
        for number, piece in enumerate(pieces[1:], start=2):
            done = finished and number == len(pieces)
            bits = self._layer.output.precision if done else whole.tensor.precision
            name, made = self._named("add")
            pair = whole, piece
            whole = self._add(
                add_node(pair, self._node, name, copy_with(made, {"precision": bits}))
            )
        return whole

    def _named(self, what: str) -> tuple[str, Tensor]:
        """The names of a node and of its tensor; the sizes are set later."""
        number = self._joints[what]
        self._joints[what] += 1
        name = self._around.fresh(f"{self._layer.name}_{what}_{number}")
        made = self._around.fresh(f"{self._output_name}_{what}_{number}")
        return name, Tensor(name=made, sizes=(), precision=self._layer.output.precision)

    def _add(self, node: Node) -> Piece:
        self._nodes.append(node)
        return Piece(node.outputs[0], node.name)

    def _part(self, at: Ranges, *, finished: bool) -> Piece:
        layer, number = self._layer, self._parts
        self._parts += 1
        reads = tuple(self._read(place, at) for place in range(len(layer.inputs)))
        bits = layer.output.precision if finished else layer.output.partial_precision
        operands = tuple(
            self._operand(operand, read, at)
            for operand, read in zip(layer.inputs, reads, strict=True)
        )
        part: dict[str, object] = {
            "name": self._around.fresh(f"{layer.name}_split_{number}"),
            "loops": tuple(Loop(dimension=d, size=end - lo) for d, (lo, end) in at.items()),
            "output": copy_with(layer.output, {"precision": bits}),
            "inputs": operands,
        }
        output = ranges_of(layer, self._nest.output, at)
        name = self._around.fresh(f"{self._output_name}_split_{number}")
        made = Tensor(name=name, sizes=tuple(hi - lo for lo, hi in output), precision=bits)
        tensors = tuple(self._inputs(at, reads, number))
        node: dict[str, object] = {
            "layer": copy_with(layer, part),
            "inputs": tensors,
            "outputs": (made,),
        }
        return self._add(copy_with(self._node, node))

    def _operand(self, operand: InputOperand, read: Piece | None, at: Ranges) -> InputOperand:
        """An operand of a part: a slice, or its own share of constants, which no node produces."""
        if operand.constant and self._is_cut(operand, at):
            return copy_with(operand, {"source": None})
        return copy_with(operand, {"source": read.node}) if read else operand

    def _is_cut(self, operand: InputOperand, at: Ranges) -> bool:
        sizes = self._layer.sizes
        dimensions = [d for index in operand.indices for d in index.dimensions]
        return any(at[d] != (0, sizes[d]) for d in dimensions)

    @property
    def _output_name(self) -> str:
        return self._node.outputs[0].name if self._node.outputs else self._layer.name

    def _read(self, place: int, at: Ranges) -> Piece | None:
        """The slice of an input that a part reads; ``None``: all of it, or no node produces it."""
        read, operand = self._nest.inputs[place], self._layer.inputs[place]
        tensor = self._read_tensor(place, operand)
        if operand.constant or tensor is None:
            return None
        sizes = tuple(axis.size for axis in read.axes)
        ranges = ranges_of(self._layer, read, at)
        if ranges == tuple((0, size) for size in sizes):
            return None
        key = (tensor.name, ranges)
        if key not in self._slices:
            name = self._around.fresh(f"{self._layer.name}_slice_{len(self._slices)}")
            made = self._around.fresh(f"{name}:0")
            whole = Piece(copy_with(tensor, {"sizes": sizes}), operand.source)
            self._slices[key] = self._add(slice_node(whole, ranges, name, made))
        return self._slices[key]

    def _read_tensor(self, place: int, operand: InputOperand) -> Tensor | None:
        if self._node.inputs:
            return self._node.inputs[self._position(place)]
        return self._around.outputs.get(operand.source or "")

    def _position(self, place: int) -> int:
        return self._node.positions[place] if self._node.positions else place

    def _inputs(self, at: Ranges, reads: Sequence[Piece | None], number: int) -> Iterable[Tensor]:
        """The tensors that a part reads: slices, its share of the constants, and the others."""
        if not self._node.inputs:
            return
        places = {self._position(place): place for place in range(len(reads))}
        for position, tensor in enumerate(self._node.inputs):
            place = places.get(position)
            read = reads[place] if place is not None else None
            if read is not None:
                yield read.tensor
            elif not tensor.constant:
                yield tensor
            elif place is not None:
                yield self._constant(tensor, place, at, number)
            elif (
                not self._has_bias or at.get("C", (0, 0))[0] == 0
            ):  # one part adds the bias for all
                yield self._extra(tensor, at, number)

    def _constant(self, tensor: Tensor, place: int, at: Ranges, number: int) -> Tensor:
        """A part's share of a constant; without known axes, along the axes of the loops."""
        operand = self._layer.inputs[place]
        read, indices = self._nest.inputs[place], operand.indices
        if not self._is_cut(operand, at):
            return tensor
        whole, own = (
            tuple(index.axis_length(tuple(x[d] for d in index.dimensions)) for index in indices)
            for x in (self._layer.sizes, {d: hi - lo for d, (lo, hi) in at.items()})
        )
        if any(axis.terms for axis in read.axes):
            own = tuple(hi - lo for lo, hi in ranges_of(self._layer, read, at))
        elif tensor.sizes == whole[::-1]:  # a transposed matrix
            own = own[::-1]
        name = self._around.fresh(f"{tensor.name}_split_{number}")
        return copy_with(tensor, {"name": name, "sizes": own})

    @property
    def _has_bias(self) -> bool:
        """Whether there is one more input than operands: a bias."""
        return len(self._node.inputs) == len(self._layer.inputs) + 1

    @property
    def _channels(self) -> int:
        """The number of output channels in all groups."""
        sizes = self._layer.sizes
        return sizes.get("G", 1) * sizes.get("K", 1)

    def _extra(self, tensor: Tensor, at: Ranges, number: int) -> Tensor:
        """A part's share of a constant that is not an operand.

        Scales or biases, one per channel.
        """
        if self._channels == 1 or self._channels not in (tensor.sizes or ())[-1:]:
            return tensor
        count = prod(hi - lo for d, (lo, hi) in at.items() if d in ("G", "K"))
        name = self._around.fresh(f"{tensor.name}_split_{number}")
        return copy_with(tensor, {"name": name, "sizes": (*(tensor.sizes or ())[:-1], count)})
