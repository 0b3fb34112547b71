"""The nodes around the parts of a split layer: Slice, Concat and Add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import final

from nestmap.model import (
    AffineIndex,
    InputError,
    Layer,
    LayerNode,
    Loop,
    NoCostNode,
    Tensor,
    Term,
    VectorNode,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension
from nestmap.model.multicore.cn_layer import TensorAxis, TensorUse
from nestmap.model.workload.access import AccessRoute, InputAccess, Shift, VectorNest
from nestmap.search.multicore.split.node_nests import layer_nest

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
