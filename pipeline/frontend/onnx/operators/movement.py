"""Operators that only move data: they change its shape, position or name.

Operators that generate a tensor from parameters (a range, random numbers, a filter window) count as
data movement, too: other units read their outputs like stored tensors. Dropout does nothing in
inference. A Cast is work of the vector unit because it converts each value, whereas a BitCast only
reinterprets bits.

Routes follow from sizes, attributes and constant inputs. If these are unknown or inconsistent, the
model is still parsed: the elements may then come from anywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import Final

from nestmap.model.workload.access import AccessRoute, AnyIndex, Gather, Repeat
from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import (
    Shape,
    Sizes,
    TypedNode,
    shape_text,
    whole_sizes,
)
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL
from nestmap.pipeline.frontend.onnx.node import broadcast_axes as repeats
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    attribute_or_input,
    axis_at,
    check_fits,
    input_sizes,
    integers_at,
    normalize_axis,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.operators import checks
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators.operand_routes import (
    Steps,
    parameters,
    permute_step,
    reshape_step,
    resize_steps,
    route,
    shift_step,
)
from nestmap.pipeline.frontend.onnx.operators.record import Folding, Movement, Operator

# --- slices, paddings, crops ---

_INSIDE: Final = ("edge", "reflect", "wrap")
"""Modes of Pad that repeat elements of the tensor itself."""


def _slice(reader: NodeReader) -> Iterator[AccessRoute]:
    """A Slice: every ``step``-th element from a start on; a negative step runs backwards."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) == len(after))
    yield from parameters(reader, 1, 2, 3, 4)
    names = ("starts", "axes", "steps")
    known = [
        reader.integer_list(name) is not None
        or not reader.has(i)
        or integers_at(reader, i) is not None
        for name, i in zip(names, (1, 3, 4), strict=True)
    ]
    if not all(known):
        plain = not reader.has(4) or set(integers_at(reader, 4) or (0,)) == {1}
        pairs = enumerate(zip(before, after, strict=True))
        yield route(
            0, resize_steps(after, before, [i for i, (a, b) in pairs if a != b or not plain])
        )
        return
    starts = attribute_or_input(reader, "starts", 1) or ()
    axes = attribute_or_input(reader, "axes", 3) or tuple(range(len(starts)))
    strides = attribute_or_input(reader, "steps", 4) or (1,) * len(starts)
    check_fits(reader, len(starts) == len(axes) == len(strides) and 0 not in strides)
    given = {
        normalize_axis(reader, axis, len(before)): (start, step)
        for axis, start, step in zip(axes, starts, strides, strict=True)
    }
    yield route(0, *(_sliced(axis, (after[axis], before[axis]), *x) for axis, x in given.items()))


def _sliced(axis: int, lengths: tuple[int, int], start: int, step: int) -> Steps:
    _, size = lengths
    first = max(0, start + size if start < 0 else start)
    return shift_step(axis, lengths, min(first, size if step > 0 else size - 1), step)


def _pad(reader: NodeReader) -> Iterator[AccessRoute]:
    """A tensor surrounded by constants or by repeated elements of its own."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) == len(after))
    yield from parameters(reader, 1, 2, 3)
    found = _paddings(reader, len(before))
    if found is None:
        yield route(0, resize_steps(after, before, range(len(before))))
        return
    mode = reader.text("mode", "constant")
    steps = (_padded(mode, axis, (after[axis], before[axis]), pads) for axis, pads in found.items())
    yield route(0, *steps)


def _paddings(reader: NodeReader, rank: int) -> Mapping[int, tuple[int, int]] | None:
    """The elements before and after each padded axis; ``None`` if not constant."""
    attribute = "pads" if reader.integer_list("pads") is not None else "paddings"
    unknown = reader.integer_list(attribute) is None and integers_at(reader, 1) is None
    if unknown or (reader.has(3) and integers_at(reader, 3) is None):
        return None
    pads = attribute_or_input(reader, attribute, 1) or ()
    given = integers_at(reader, 3)
    axes = tuple(range(rank)) if given is None else given
    check_fits(reader, len(pads) == 2 * len(axes))
    pairs = zip(pads[: len(axes)], pads[len(axes) :], strict=True)
    return {
        normalize_axis(reader, axis, rank): pair for axis, pair in zip(axes, pairs, strict=True)
    }


def _padded(mode: str, axis: int, lengths: tuple[int, int], pads: tuple[int, int]) -> Steps:
    after, before = lengths
    if not any(pads) or mode == "constant":
        return shift_step(axis, lengths, -pads[0])
    if min(pads) < 0 or after > SMALL or not before or mode not in _INSIDE:
        return (AnyIndex(axis=axis, size=before),)
    indices = (_index(mode, place, before) for place in range(-pads[0], after - pads[0]))
    return (Gather(axis=axis, indices=tuple(indices), size=before),)


def _index(mode: str, position: int, size: int) -> int:
    """The element of an axis at a position that may be outside."""
    if mode == "edge":
        return min(max(position, 0), size - 1)
    if mode == "wrap":
        return position % size
    folded = position % max(1, 2 * (size - 1))
    return min(folded, 2 * (size - 1) - folded) if size > 1 else 0


def _center_crop_pad(reader: NodeReader) -> Iterator[AccessRoute]:
    """The center of a tensor, surrounded by zeros along axes that are too short."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) == len(after))
    pairs = enumerate(zip(after, before, strict=True))
    yield route(0, *(shift_step(axis, pair, _middle(*pair)) for axis, pair in pairs))


def _middle(after: int, before: int) -> int:
    return (before - after) // 2 if before >= after else -((after - before) // 2)


# --- reshapes, reorders, joins, repeats ---

_BLOCKED: Final = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""The order of batch, parts of the channels, height and width in DepthToSpace, by mode."""

_UNBLOCKED: Final = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""The order of batch, channels and parts of height and width in SpaceToDepth, by mode."""


def _reshape(reader: NodeReader) -> Iterator[AccessRoute]:
    """The same elements in row-major order."""
    yield route(0, reshape_step(output_sizes(reader), input_sizes(reader)))


def _transpose(reader: NodeReader) -> Iterator[AccessRoute]:
    """The axes in another order."""
    reverse = tuple(range(len(input_sizes(reader))))[::-1]
    order = reader.integer_list("perm") or reverse
    check_fits(reader, sorted(order) == sorted(reverse))
    yield route(0, permute_step(order))


def _depth_to_space(reader: NodeReader) -> Iterator[AccessRoute]:
    """Channels become blocks of the image."""
    before, after, block = (
        input_sizes(reader),
        output_sizes(reader),
        reader.integer("blocksize", 1),
    )
    mode = reader.text("mode", "DCR")
    check_fits(reader, mode in _BLOCKED and len(before) == 4)
    batch, channels, height, width = before
    parts = (block, block, channels // block**2)
    inner = parts if mode == "DCR" else parts[::-1]
    yield route(0, _reordered(before, (batch, *inner, height, width), _BLOCKED[mode], after))


def _space_to_depth(reader: NodeReader) -> Iterator[AccessRoute]:
    """Blocks of the image become channels."""
    before, after, block = (
        input_sizes(reader),
        output_sizes(reader),
        reader.integer("blocksize", 1),
    )
    mode = reader.text("mode", "DCR")
    check_fits(reader, mode in _UNBLOCKED and len(before) == 4)
    batch, channels, height, width = before
    split = (batch, channels, height // block, block, width // block, block)
    yield route(0, _reordered(before, split, _UNBLOCKED[mode], after))


def _reordered(before: Sizes, split: Sizes, order: Sizes, after: Sizes) -> Steps:
    """The steps back from a tensor whose axes were split, reordered and merged."""
    ordered = tuple(split[axis] for axis in order)
    return (*reshape_step(after, ordered), *permute_step(order), *reshape_step(split, before))


def _concat(reader: NodeReader) -> Iterator[AccessRoute]:
    """Concatenated tensors."""
    sizes = [input_sizes(reader, position) for position in range(len(reader.node.proto.input))]
    check_fits(reader, bool(sizes))
    axis = axis_at(reader, 1, len(sizes[0]))
    check_fits(reader, all(len(each) > axis for each in sizes))
    whole = sum(each[axis] for each in sizes)
    starts = accumulate((each[axis] for each in sizes), initial=0)
    for position, (each, start) in enumerate(zip(sizes, starts, strict=False)):
        yield route(position, shift_step(axis, (whole, each[axis]), -start))


def _split(reader: NodeReader) -> Iterator[AccessRoute]:
    """Parts along an axis, each a separate output."""
    whole = input_sizes(reader)
    yield from parameters(reader, 1)
    axis = axis_at(reader, 0, len(whole))
    names = list(reader.node.proto.output)
    sizes = [output_sizes(reader, i) if name else None for i, name in enumerate(names)]
    lengths = [None if each is None else each[axis] for each in sizes]
    if None in lengths:
        lengths = list(attribute_or_input(reader, "split", 1) or lengths)
    start: int | None = 0
    for i, (name, length) in enumerate(zip(names, lengths, strict=True)):
        if name and length is not None:
            own = AnyIndex(axis=axis, size=whole[axis])
            steps = (own,) if start is None else shift_step(axis, (length, whole[axis]), start)
            yield route(0, steps, output=i)
        start = None if start is None or length is None else start + length


def _expand_tile(reader: NodeReader) -> Iterator[AccessRoute]:
    """Tile and Expand; an axis that Expand repeats has one element or is missing."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) <= len(after))
    own = (*(1,) * (len(after) - len(before)), *before)
    pairs = enumerate(zip(own, after, strict=True))
    repeated = tuple(Repeat(axis=axis, size=a) for axis, (a, b) in pairs if a != b)
    yield route(0, repeated, reshape_step(own, before))


def _of_parameters(reader: NodeReader) -> Iterator[AccessRoute]:
    return parameters(reader, *range(len(reader.node.proto.input)))


def _of_nothing(_: NodeReader) -> tuple[AccessRoute, ...]:
    return ()


def _same(reader: NodeReader) -> Iterator[AccessRoute]:
    yield from _reshape(reader)
    yield from parameters(reader, *range(1, len(reader.node.proto.input)))


def _without_padding(reader: NodeReader) -> Iterator[AccessRoute]:
    """The channels that are not padding, in the order of axes of the input."""
    check_fits(reader, not reader.flag("channels_last"))
    yield route(0, resize_steps(output_sizes(reader), input_sizes(reader), [1]))


def _channels_first(reader: NodeReader) -> Iterator[AccessRoute]:
    """The same image, with its channels second where they were last."""
    rank = len(input_sizes(reader))
    is_last = reader.flag("channels_last") and rank > 1
    yield route(0, permute_step((0, rank - 1, *range(1, rank - 1))) if is_last else ())


# --- sizes and checks ---


def _without_padding_shape(node: TypedNode) -> Shape | None:
    """The channels that are not padding, on the second or on the last axis."""
    shape, channels = node.axes(0), node.integer("channels", 0)
    if len(shape) != 4 or channels <= 0:
        return None
    batch, _, *axes = shape
    is_last = node.integer("channels_last", 0)
    return (batch, *axes, channels) if is_last else (batch, channels, *axes)


def _channels_first_shape(node: TypedNode) -> Shape | None:
    """The axes of an image with its channels second; how many fill its last block is not known."""
    shape = node.axes(0)
    if node.integer("channels_last", 0) and len(shape) > 2:
        return (shape[0], shape[-1], *shape[1:-1])
    return shape or None


def _has_all_elements(node: TypedNode) -> checks.Contradiction | None:
    before, after = whole_sizes(node.shape(0)), whole_sizes(node.output())
    if before is None or after is None or prod(before) == prod(after):
        return None
    found = f"{prod(before)} elements of shape {shape_text(before)} in shape {shape_text(after)}"
    return checks.Contradiction(found, f"a shape of {prod(before)} elements")


def _has_all_axes(node: TypedNode) -> checks.Contradiction | None:
    shape, order = node.shape(0), node.integers("perm")
    if shape is None or order is None or sorted(order) == list(range(len(shape))):
        return None
    found = f"perm {list(order)} for an input of shape {shape_text(shape)}"
    return checks.Contradiction(found, f"each axis from 0 to {len(shape) - 1} once")


_SAME: Final = shapes.as_inputs(0)
_RESHAPED: Final = Operator(Movement(_reshape), folds=Folding.VALUES, repeats=repeats.reshaped)
_MADE: Final = Operator(Movement(_of_parameters))
_OF_SIZES: Final = Operator(Movement(_of_nothing), folds=Folding.SIZES)
_ANYWHERE: Final = Operator(Movement())

_STANDARD: Final[Mapping[str, Operator]] = {
    "Reshape": replace(_RESHAPED, checks=(_has_all_elements,), sizes_from=1),
    **dict.fromkeys(("Squeeze", "Unsqueeze"), replace(_RESHAPED, sizes_from=1)),
    **dict.fromkeys(("Flatten", "Identity"), _RESHAPED),
    **dict.fromkeys(("Dropout", "BitCast"), Operator(Movement(_reshape))),
    "Transpose": Operator(
        Movement(_transpose),
        checks=(_has_all_axes,),
        folds=Folding.VALUES,
        repeats=repeats.transposed,
    ),
    "DepthToSpace": Operator(Movement(_depth_to_space)),
    "SpaceToDepth": Operator(Movement(_space_to_depth)),
    "Concat": Operator(Movement(_concat), folds=Folding.VALUES, joins=True),
    "Split": Operator(Movement(_split), folds=Folding.VALUES, sizes_from=1),
    "Slice": Operator(Movement(_slice), folds=Folding.VALUES, sizes_from=1),
    "Pad": Operator(Movement(_pad), folds=Folding.VALUES, sizes_from=1),
    "CenterCropPad": Operator(Movement(_center_crop_pad), sizes_from=1),
    "Expand": Operator(
        Movement(_expand_tile), folds=Folding.VALUES, sizes_from=1, repeats=repeats.expanded
    ),
    "Tile": Operator(Movement(_expand_tile), folds=Folding.VALUES, sizes_from=1),
    "Trilu": Operator(Movement(_same), folds=Folding.VALUES),
    # what they make depends on sizes
    **dict.fromkeys(("Shape", "Size"), _OF_SIZES),
    "EyeLike": Operator(Movement(_of_nothing), folds=Folding.VALUES),
    "ConstantOfShape": Operator(Movement(_of_nothing), folds=Folding.VALUES, sizes_from=0),
    # or on parameters, or it is random
    "Constant": replace(_MADE, folds=Folding.VALUES),
    "Range": replace(_MADE, folds=Folding.VALUES, is_lenient=True),
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike"), Operator(Movement(_of_nothing))),
    **dict.fromkeys(("RandomNormal", "RandomUniform", "MelWeightMatrix"), _MADE),
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), _MADE),
    # sequences and optional tensors
    **dict.fromkeys(("SequenceAt", "SequenceConstruct", "SequenceEmpty"), _ANYWHERE),
    **dict.fromkeys(("SequenceErase", "SequenceInsert", "SequenceLength"), _ANYWHERE),
    **dict.fromkeys(("ConcatFromSequence", "SplitToSequence"), _ANYWHERE),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), _ANYWHERE),
}

MOVEMENT: Final[Mapping[str, Operator]] = {
    **_STANDARD,
    f"{MICROSOFT}.ExpandDims": Operator(Movement(_reshape)),
    f"{MICROSOFT}.BitmaskDropout": Operator(Movement(_reshape), _SAME),
    f"{MICROSOFT}.Trilu": Operator(Movement(_same), _SAME),
    f"{MICROSOFT}.Pad": Operator(Movement(_pad), shapes.like("Pad", 0, 1, 2, 3)),
    f"{BLOCKED}.ReorderInput": Operator(
        Movement(_channels_first), shapes.shaped(_channels_first_shape)
    ),
    f"{BLOCKED}.ReorderOutput": Operator(
        Movement(_without_padding), shapes.shaped(_without_padding_shape)
    ),
}
"""The operators that move data, apart from those that do it by indices."""
