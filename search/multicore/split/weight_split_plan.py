"""Plans how many parts a layer is split into, and along which dimensions, so its constants fit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import final

from nestmap.model import AffineIndex, InputError, InputOperand, Layer, LayerNode
from nestmap.model.dims import Dimension
from nestmap.model.multicore.cn_layer import LayerNest, TensorUse
from nestmap.search.multicore.split.node_nests import Sizes, layer_nest

Rooms = dict[InputOperand, int]


class SplitAlong(StrEnum):
    """Which channels of a layer are split first; the others if that is not sufficient."""

    OUTPUTS = "K"
    """Output channels: the parts' outputs are concatenated."""
    INPUTS = "C"
    """Input channels: the parts' outputs are partial sums, which are added."""


@final
@dataclass(frozen=True)
class Plan:
    """The tile size of each split dimension, outermost first; empty: not split."""

    tiles: Sizes


def split_plan(
    node: LayerNode, room: Callable[[LayerNode, InputOperand], int | None], along: SplitAlong
) -> Plan:
    """The split of a layer such that no constant operand exceeds its allowed bits.

    Raises:
        InputError: if the smallest parts do not fit.
    """
    layer = node.layer
    rooms: Rooms = {
        operand: bits
        for operand in layer.inputs
        if operand.constant and (bits := room(node, operand)) is not None
    }
    tiles = layer.sizes
    cut: Sizes = {}
    for dimension in _order(node, along):
        large = [x for x in _too_large(layer, tiles, rooms) if _indexes(x, dimension)]
        if large and tiles[dimension] > 1:
            single = tiles | {dimension: 1}
            most = min(rooms[x] // max(1, _bits(layer, x, single)) for x in large)
            count = ceil(tiles[dimension] / max(1, most))
            cut[dimension] = tiles[dimension] = ceil(tiles[dimension] / count)
    for operand in _too_large(layer, tiles, rooms):
        raise _no_room(layer, operand, _bits(layer, operand, tiles), rooms[operand])
    return Plan(cut)


def _no_room(layer: Layer, operand: InputOperand, bits: int, room: int) -> InputError:
    whole = _bits(layer, operand, layer.sizes)
    return InputError(
        f"layer {layer.name}",
        f"constants {operand.name} of {whole} bit, whose smallest parts along the channels still "
        f"take {bits} bit",
        f"parts of at most {room} bit, which the allowed cores have for them",
    )


def _too_large(layer: Layer, tiles: Sizes, rooms: Rooms) -> list[InputOperand]:
    return [x for x, room in rooms.items() if _bits(layer, x, tiles) > room]


def _bits(layer: Layer, operand: InputOperand, tiles: Sizes) -> int:
    bits = operand.precision
    for index in operand.indices:
        sizes = tuple(tiles[d] for d in index.dimensions)
        whole = tuple(layer.sizes[d] for d in index.dimensions)
        bits *= index.touched(sizes, whole)
    return bits


def _order(node: LayerNode, along: SplitAlong) -> Iterator[Dimension]:
    """The dimensions that may be split, in order.

    Groups come before the channels within them, so that the elements of a part are contiguous.
    """
    nest = layer_nest(node, 0)
    channels = ("K", "C") if along is SplitAlong.OUTPUTS else ("C", "K")
    for dimension in ("G", *channels):
        if dimension in nest.sizes and _may_be_cut(node, nest, dimension):
            yield dimension


def _may_be_cut(node: LayerNode, nest: LayerNest, dimension: Dimension) -> bool:
    """Whether each tensor has an axis, or none, of which a part of the dimension is a part."""
    reads = zip(node.layer.inputs, nest.inputs, strict=True)
    uses = [(node.layer.output.indices, nest.output)]
    uses += [(operand.indices, read) for operand, read in reads if not operand.constant]
    plain = all(
        _is_plain(index)
        for operand in node.layer.operands
        for index in operand.indices
        if dimension in index.dimensions
    )
    return plain and all(_is_placed(indices, use, dimension) for indices, use in uses)


def _is_plain(index: AffineIndex) -> bool:
    single = len(index.terms) == 1 and index.terms[0].coefficient == 1
    return single and index.size is None and index.padding == (0, 0)


def _is_placed(indices: tuple[AffineIndex, ...], use: TensorUse, dimension: Dimension) -> bool:
    """Whether the axis of the tensor that the dimension indexes is known, if there is one."""
    indexed = any(dimension in index.dimensions for index in indices)
    return indexed == any(dimension in axis.dimensions for axis in use.axes)


def _indexes(operand: InputOperand, dimension: Dimension) -> bool:
    return any(dimension in index.dimensions for index in operand.indices)
