"""The nodes that replace a split layer: input slices, the parts, and the nodes that join them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import final

from nestmap.model import (
    AffineIndex,
    InputError,
    InputOperand,
    Layer,
    LayerNode,
    Loop,
    NoCostNode,
    Tensor,
    Term,
    VectorNode,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.model.multicore.cn_layer import TensorAxis, TensorUse
from nestmap.model.workload.access import AccessRoute, InputAccess, Shift, VectorNest
from nestmap.model.workload.graph import Node
from nestmap.search.multicore.split.node_nests import layer_nest
from nestmap.search.multicore.split.weight_split_plan import Plan, SplitAlong, split_plan

# --- splits layers with too large constants into parts that are joined to the original tensor ---

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


# --- the nodes around the parts of a split layer: Slice, Concat and Add ---

Range = tuple[int, int]
"""A range from the first index to the end, exclusive."""

Ranges = dict[Dimension, Range]

SPATIAL = ("OX", "OY", "OZ")
"""The loops over the positions of an image."""

INTEGERS = 64
"""The bits of the integers that give the bounds of a slice."""


@final
@dataclass(frozen=True)
class Piece:
    """A tensor and the node that produces it (``None``: an input or a constant)."""

    tensor: Tensor
    node: str | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the tensor."""
        return self.tensor.sizes or ()


def ranges_of(layer: Layer, use: TensorUse, at: Ranges) -> tuple[Range, ...]:
    """The range that a part of the loops touches along each axis; the full axis if it is not split.

    Raises:
        InputError: if the range has gaps.
    """
    cut = {d for d, (lo, hi) in at.items() if hi - lo < layer.sizes[d]}
    return tuple(
        _range(layer, axis, at) if cut.intersection(axis.dimensions) else (0, axis.size)
        for axis in use.axes
    )


def _range(layer: Layer, axis: TensorAxis, at: Ranges) -> Range:
    first = axis.offset + sum(term.coefficient * at[term.dimension][0] for term in axis.terms)
    last = axis.offset + sum(term.coefficient * (at[term.dimension][1] - 1) for term in axis.terms)
    count = prod(at[d][1] - at[d][0] for d in axis.dimensions)
    if last + 1 - first != count:
        raise InputError(
            f"layer {layer.name}",
            f"a part of {', '.join(axis.dimensions)} that is not contiguous in its tensor",
            "constants that are indexed by all groups and channels, or larger memories",
        )
    return first, last + 1


def slice_node(whole: Piece, ranges: Sequence[Range], name: str, made: str) -> NoCostNode:
    """A Slice of a tensor.

    Args:
        whole: the tensor.
        ranges: the range along each axis.
        name: the name of the node.
        made: the name of its output tensor.
    """
    pairs = enumerate(zip(ranges, whole.sizes, strict=True))
    taken = {axis: part for axis, (part, size) in pairs if part != (0, size)}
    steps = tuple(
        Shift(axis=axis, start=lo, size=whole.sizes[axis]) for axis, (lo, _) in taken.items()
    )
    parameters = tuple(
        Tensor(name=f"{made}_{what}", sizes=(len(taken),), precision=INTEGERS, constant=True)
        for what in ("starts", "ends", "axes")
    )
    output = copy_with(whole.tensor, {"name": made, "sizes": tuple(hi - lo for lo, hi in ranges)})
    return NoCostNode(
        name=name,
        operator="Slice",
        sources=() if whole.node is None else (whole.node,),
        inputs=(whole.tensor, *parameters),
        outputs=(output,),
        routes=(AccessRoute(steps=steps),),
    )


def concat_node(pieces: Sequence[Piece], axis: int, name: str, made: Tensor) -> NoCostNode:
    """A Concat of tensors along an axis."""
    lengths = [piece.sizes[axis] for piece in pieces]
    starts = accumulate(lengths, initial=0)
    first = pieces[0].sizes
    sizes = (*first[:axis], sum(lengths), *first[axis + 1 :])
    return NoCostNode(
        name=name,
        operator="Concat",
        sources=_sources(pieces),
        inputs=tuple(piece.tensor for piece in pieces),
        outputs=(copy_with(pieces[0].tensor, {"name": made.name, "sizes": sizes}),),
        routes=tuple(
            AccessRoute(input=place, steps=(Shift(axis=axis, start=-start, size=length),))
            for place, (length, start) in enumerate(zip(lengths, starts, strict=False))
        ),
    )


def add_node(pair: tuple[Piece, Piece], node: LayerNode, name: str, made: Tensor) -> VectorNode:
    """An Add of two tensors with partial sums of a layer."""
    sizes = pair[0].sizes
    return VectorNode(
        name=name,
        operator="Add",
        sources=_sources(pair),
        iterations=sizes,
        inputs=tuple(piece.tensor for piece in pair),
        outputs=(copy_with(made, {"sizes": sizes}),),
        nest=_element_by_element(node, sizes),
    )


def _sources(pieces: Sequence[Piece]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(piece.node for piece in pieces if piece.node is not None))


def _element_by_element(node: LayerNode, sizes: Sequence[int]) -> VectorNest | None:
    """One loop for each axis of the layer's output, named and ordered as in ONNX operators."""
    axes = layer_nest(node, 0).output.axes
    names = [_name(axis) for axis in axes if axis.terms]
    if len(names) != len(sizes) or len(set(names)) != len(names):
        return None
    known = dict(zip(names, sizes, strict=True))
    image = [name for name in names if name in SPATIAL]
    order = [*(name for name in names if name not in SPATIAL), *reversed(image)]
    indices = tuple(AffineIndex(terms=(Term(dimension=name),)) for name in names)
    return VectorNest(
        loops=tuple(Loop(dimension=name, size=known[name]) for name in order),
        output=indices,
        inputs=(InputAccess(axes=indices),) * 2,
    )


def _name(axis: TensorAxis) -> Dimension:
    """The name of an axis.

    That of its innermost loop, except that groups do not name the channels.
    """
    return next((d for d in reversed(axis.dimensions) if d != "G"), axis.dimensions[-1])


# --- the nodes that replace a split layer ---


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
