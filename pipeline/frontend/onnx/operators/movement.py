"""Determines the routes of data-movement operators: the sources of their output elements.

Routes follow from sizes, attributes and constant inputs. If these are unknown or inconsistent, the
model is still parsed: the elements may then come from anywhere.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from math import prod
from typing import Final

import numpy as np

from nestmap.model import InputError
from nestmap.model.base import copy_with
from nestmap.model.workload.access import AccessRoute, AnyIndex, Gather, Repeat
from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL
from nestmap.pipeline.frontend.onnx.node import static_values as static
from nestmap.pipeline.frontend.onnx.node.movement import MADE
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.operand_routes import (
    Steps,
    anywhere,
    drop_axes,
    parameters,
    permute_step,
    reshape_step,
    resize_steps,
    route,
    shift_step,
)

# --- determines the routes of data movement by indices: gather, scatter, compress ---


def gather(reader: NodeReader) -> Iterator[AccessRoute]:
    """Slices of a tensor, selected by index along an axis."""
    data, picked, after = (
        static.input_sizes(reader),
        static.input_sizes(reader, 1),
        static.output_sizes(reader),
    )
    axis = static.axis_at(reader, 0, len(data))
    behind = axis + len(picked)
    static.check_fits(reader, after == (*data[:axis], *picked, *data[axis + 1 :]))
    flat = (*data[:axis], prod(picked), *data[axis + 1 :])
    yield route(
        0,
        reshape_step(after, flat),
        _picked(axis, static.integers_at(reader, 1), (flat[axis], data[axis])),
    )
    if not reader.tensor(1).constant:
        yield route(1, drop_axes(after, (*range(axis), *range(behind, len(after)))))


def _picked(axis: int, indices: Sizes | None, lengths: tuple[int, int]) -> Steps:
    """The step along an axis by known indices, possibly counted from the end, or by any index."""
    after, size = lengths
    if indices is None or len(indices) != after or not all(-size <= i < size for i in indices):
        return (AnyIndex(axis=axis, size=size),)
    return (Gather(axis=axis, indices=tuple(i % size for i in indices), size=size),)


def gather_elements(reader: NodeReader) -> Iterator[AccessRoute]:
    """Elements of a tensor, selected by index along one axis."""
    data, after = static.input_sizes(reader), static.output_sizes(reader)
    static.check_fits(reader, len(data) == len(after))
    yield route(0, resize_steps(after, data, {static.axis_at(reader, 0, len(data))}))
    if not reader.tensor(1).constant:
        yield route(1, reshape_step(after, static.input_sizes(reader, 1)))


def gather_nd(reader: NodeReader) -> Iterator[AccessRoute]:
    """Slices of a tensor, selected by indices along several axes."""
    data, picked, after = (
        static.input_sizes(reader),
        static.input_sizes(reader, 1),
        static.output_sizes(reader),
    )
    batch = reader.integer("batch_dims", 0, least=0)
    static.check_fits(reader, batch < len(picked) and batch + picked[-1] <= len(data))
    inner = batch + picked[-1]
    columns = data[batch:inner]
    flat = (*data[:batch], prod(picked[batch:-1]), *data[inner:])
    values = None if batch else _flat(static.integers_at(reader, 1), columns)
    lengths = flat[batch], prod(columns)
    joined = (*data[:batch], lengths[1], *data[inner:])
    steps = _picked(batch, values, lengths)
    yield route(0, reshape_step(after, flat), steps, reshape_step(joined, data))
    if not reader.tensor(1).constant:
        one = (*picked[:-1], 1)
        behind = drop_axes(after, range(len(picked) - 1, len(after)))
        yield route(
            1, behind, reshape_step(picked[:-1], one), resize_steps(one, picked, {len(one) - 1})
        )


def _flat(indices: Sizes | None, columns: Sizes) -> Sizes | None:
    """Converts rows of indices along several axes to flat indices along these axes combined."""
    if indices is None or not columns or 0 in columns:
        return None
    rows = np.asarray(indices, dtype=np.int64).reshape(-1, len(columns))
    if ((rows < -np.asarray(columns)) | (rows >= columns)).any():
        return None
    together = np.ravel_multi_index(tuple((rows % columns).T), columns)
    return tuple(int(i) for i in np.atleast_1d(together))


def scatter_elements(reader: NodeReader) -> Iterator[AccessRoute]:
    """A tensor with some elements replaced, at indices along an axis."""
    data, updates = static.input_sizes(reader), static.input_sizes(reader, 2)
    axis = static.axis_at(reader, 0, len(data))
    static.check_fits(reader, static.output_sizes(reader) == data and len(updates) == len(data))
    yield route(0)
    yield route(2, resize_steps(data, updates, {axis}))
    if not reader.tensor(1).constant:
        yield route(1, resize_steps(data, static.input_sizes(reader, 1), {axis}))


def scatter_nd(reader: NodeReader) -> Iterator[AccessRoute]:
    """A tensor with some slices replaced, at indices along several axes."""
    data, places, updates = (
        static.input_sizes(reader),
        static.input_sizes(reader, 1),
        static.input_sizes(reader, 2),
    )
    static.check_fits(
        reader, static.output_sizes(reader) == data and bool(places) and places[-1] <= len(data)
    )
    outer, rows = data[: places[-1]], prod(places[:-1])
    rest = data[places[-1] :]
    any_row: Steps = (AnyIndex(axis=0, size=rows),)
    yield route(0)
    yield route(
        2, reshape_step(data, (prod(outer), *rest)), any_row, reshape_step((rows, *rest), updates)
    )
    yield from parameters(reader, 1)


def tensor_scatter(reader: NodeReader) -> Iterator[AccessRoute]:
    """A cache with some elements along an axis replaced, at a position per batch element."""
    data, updates = static.input_sizes(reader), static.input_sizes(reader, 1)
    axis = static.axis_at(reader, -2, len(data))
    static.check_fits(reader, static.output_sizes(reader) == data and len(updates) == len(data))
    yield route(0)
    yield route(1, resize_steps(data, updates, {axis}))
    yield from parameters(reader, 2)


def reverse_sequence(reader: NodeReader) -> Iterator[AccessRoute]:
    """The first elements along an axis reversed, with a length per batch element."""
    data = static.input_sizes(reader)
    axes = (reader.integer(name, i, least=0) for i, name in enumerate(("time_axis", "batch_axis")))
    time, batch = (static.normalize_axis(reader, axis, len(data)) for axis in axes)
    yield route(0, resize_steps(data, data, {time}))
    if not reader.tensor(1).constant:
        yield route(1, drop_axes(data, (axis for axis in range(len(data)) if axis != batch)))


def compress(reader: NodeReader) -> Iterator[AccessRoute]:
    """The elements, along an axis or of the flat tensor, for which a condition holds."""
    data, after = static.input_sizes(reader), static.output_sizes(reader)
    yield from parameters(reader, 1)
    along = any(attribute.name == "axis" for attribute in reader.node.proto.attribute)
    axis = static.axis_at(reader, 0, len(data)) if along else 0
    flat = data if along else (prod(data),)
    static.check_fits(reader, len(after) == len(flat))
    condition = reader.value(1)
    indices = None if condition is None else tuple(map(int, np.flatnonzero(condition)))
    steps = _picked(axis, indices, (after[axis], flat[axis]))
    yield route(0, steps, reshape_step(flat, data))


def max_unpool(reader: NodeReader) -> Iterator[AccessRoute]:
    """Elements at the positions given by a tensor, with zeros in between."""
    yield from (anywhere(reader, 0), anywhere(reader, 1))


def one_hot(reader: NodeReader) -> Iterator[AccessRoute]:
    """One of two values, depending on an index."""
    indices, after = static.input_sizes(reader), static.output_sizes(reader)
    axis = static.axis_at(reader, -1, len(after))
    yield from parameters(reader, 1, 2)
    if not reader.tensor(0).constant:
        yield route(0, drop_axes(after, {axis}), reshape_step(_but(after, axis), indices))


def _but(sizes: Sizes, axis: int) -> Sizes:
    return (*sizes[:axis], *sizes[axis + 1 :])


# --- determines the routes of slicing, padding and cropping ---

_INSIDE: Final = ("edge", "reflect", "wrap")
"""Modes of Pad that repeat elements of the tensor itself."""


def slice_routes(reader: NodeReader) -> Iterator[AccessRoute]:
    """A Slice: every ``step``-th element from a start on; a negative step runs backwards."""
    before, after = static.input_sizes(reader), static.output_sizes(reader)
    static.check_fits(reader, len(before) == len(after))
    yield from parameters(reader, 1, 2, 3, 4)
    names = ("starts", "axes", "steps")
    known = [
        reader.integer_list(name) is not None
        or not reader.has(i)
        or static.integers_at(reader, i) is not None
        for name, i in zip(names, (1, 3, 4), strict=True)
    ]
    if not all(known):
        plain = not reader.has(4) or set(static.integers_at(reader, 4) or (0,)) == {1}
        pairs = enumerate(zip(before, after, strict=True))
        yield route(
            0, resize_steps(after, before, [i for i, (a, b) in pairs if a != b or not plain])
        )
        return
    starts = static.attribute_or_input(reader, "starts", 1) or ()
    axes = static.attribute_or_input(reader, "axes", 3) or tuple(range(len(starts)))
    strides = static.attribute_or_input(reader, "steps", 4) or (1,) * len(starts)
    static.check_fits(reader, len(starts) == len(axes) == len(strides) and 0 not in strides)
    given = {
        static.normalize_axis(reader, axis, len(before)): (start, step)
        for axis, start, step in zip(axes, starts, strides, strict=True)
    }
    yield route(0, *(_sliced(axis, (after[axis], before[axis]), *x) for axis, x in given.items()))


def _sliced(axis: int, lengths: tuple[int, int], start: int, step: int) -> Steps:
    _, size = lengths
    first = max(0, start + size if start < 0 else start)
    return shift_step(axis, lengths, min(first, size if step > 0 else size - 1), step)


def pad(reader: NodeReader) -> Iterator[AccessRoute]:
    """A tensor surrounded by constants or by repeated elements of its own."""
    before, after = static.input_sizes(reader), static.output_sizes(reader)
    static.check_fits(reader, len(before) == len(after))
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
    unknown = reader.integer_list(attribute) is None and static.integers_at(reader, 1) is None
    if unknown or (reader.has(3) and static.integers_at(reader, 3) is None):
        return None
    pads = static.attribute_or_input(reader, attribute, 1) or ()
    given = static.integers_at(reader, 3)
    axes = tuple(range(rank)) if given is None else given
    static.check_fits(reader, len(pads) == 2 * len(axes))
    pairs = zip(pads[: len(axes)], pads[len(axes) :], strict=True)
    return {
        static.normalize_axis(reader, axis, rank): pair
        for axis, pair in zip(axes, pairs, strict=True)
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


def center_crop_pad(reader: NodeReader) -> Iterator[AccessRoute]:
    """The center of a tensor, surrounded by zeros along axes that are too short."""
    before, after = static.input_sizes(reader), static.output_sizes(reader)
    static.check_fits(reader, len(before) == len(after))
    pairs = enumerate(zip(after, before, strict=True))
    yield route(0, *(shift_step(axis, pair, _middle(*pair)) for axis, pair in pairs))


def _middle(after: int, before: int) -> int:
    return (before - after) // 2 if before >= after else -((after - before) // 2)


# --- determines the routes of data movement that reshapes, reorders, joins or repeats elements ---

_BLOCKED: Final = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""The order of batch, parts of the channels, height and width in DepthToSpace, by mode."""

_UNBLOCKED: Final = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""The order of batch, channels and parts of height and width in SpaceToDepth, by mode."""


def reshape(reader: NodeReader) -> Iterator[AccessRoute]:
    """The same elements in row-major order."""
    yield route(0, reshape_step(static.output_sizes(reader), static.input_sizes(reader)))


def transpose(reader: NodeReader) -> Iterator[AccessRoute]:
    """The axes in another order."""
    reverse = tuple(range(len(static.input_sizes(reader))))[::-1]
    order = reader.integer_list("perm") or reverse
    static.check_fits(reader, sorted(order) == sorted(reverse))
    yield route(0, permute_step(order))


def depth_to_space(reader: NodeReader) -> Iterator[AccessRoute]:
    """Channels become blocks of the image."""
    before, after, block = (
        static.input_sizes(reader),
        static.output_sizes(reader),
        reader.integer("blocksize", 1),
    )
    mode = reader.text("mode", "DCR")
    static.check_fits(reader, mode in _BLOCKED and len(before) == 4)
    batch, channels, height, width = before
    parts = (block, block, channels // block**2)
    inner = parts if mode == "DCR" else parts[::-1]
    yield route(0, _reordered(before, (batch, *inner, height, width), _BLOCKED[mode], after))


def space_to_depth(reader: NodeReader) -> Iterator[AccessRoute]:
    """Blocks of the image become channels."""
    before, after, block = (
        static.input_sizes(reader),
        static.output_sizes(reader),
        reader.integer("blocksize", 1),
    )
    mode = reader.text("mode", "DCR")
    static.check_fits(reader, mode in _UNBLOCKED and len(before) == 4)
    batch, channels, height, width = before
    split = (batch, channels, height // block, block, width // block, block)
    yield route(0, _reordered(before, split, _UNBLOCKED[mode], after))


def _reordered(before: Sizes, split: Sizes, order: Sizes, after: Sizes) -> Steps:
    """The steps back from a tensor whose axes were split, reordered and merged."""
    ordered = tuple(split[axis] for axis in order)
    return (*reshape_step(after, ordered), *permute_step(order), *reshape_step(split, before))


def concat(reader: NodeReader) -> Iterator[AccessRoute]:
    """Concatenated tensors."""
    sizes = [
        static.input_sizes(reader, position) for position in range(len(reader.node.proto.input))
    ]
    static.check_fits(reader, bool(sizes))
    axis = static.axis_at(reader, 1, len(sizes[0]))
    static.check_fits(reader, all(len(each) > axis for each in sizes))
    whole = sum(each[axis] for each in sizes)
    starts = accumulate((each[axis] for each in sizes), initial=0)
    for position, (each, start) in enumerate(zip(sizes, starts, strict=False)):
        yield route(position, shift_step(axis, (whole, each[axis]), -start))


def split(reader: NodeReader) -> Iterator[AccessRoute]:
    """Parts along an axis, each a separate output."""
    whole = static.input_sizes(reader)
    yield from parameters(reader, 1)
    axis = static.axis_at(reader, 0, len(whole))
    names = list(reader.node.proto.output)
    sizes = [static.output_sizes(reader, i) if name else None for i, name in enumerate(names)]
    lengths = [None if each is None else each[axis] for each in sizes]
    if None in lengths:
        lengths = list(static.attribute_or_input(reader, "split", 1) or lengths)
    start: int | None = 0
    for i, (name, length) in enumerate(zip(names, lengths, strict=True)):
        if name and length is not None:
            own = AnyIndex(axis=axis, size=whole[axis])
            steps = (own,) if start is None else shift_step(axis, (length, whole[axis]), start)
            yield route(0, steps, output=i)
        start = None if start is None or length is None else start + length


def expand_tile(reader: NodeReader) -> Iterator[AccessRoute]:
    """Tile and Expand; an axis that Expand repeats has one element or is missing."""
    before, after = static.input_sizes(reader), static.output_sizes(reader)
    static.check_fits(reader, len(before) <= len(after))
    own = (*(1,) * (len(after) - len(before)), *before)
    pairs = enumerate(zip(own, after, strict=True))
    repeated = tuple(Repeat(axis=axis, size=a) for axis, (a, b) in pairs if a != b)
    yield route(0, repeated, reshape_step(own, before))


# --- determines the routes of data-movement operators ---

RouteRule = Callable[[NodeReader], Iterable[AccessRoute]]
"""Determines the routes of an ONNX node; positions are those of its inputs and outputs."""


def _of_parameters(reader: NodeReader) -> Iterator[AccessRoute]:
    return parameters(reader, *range(len(reader.node.proto.input)))


def _of_nothing(_: NodeReader) -> tuple[AccessRoute, ...]:
    return ()


def _same(reader: NodeReader) -> Iterator[AccessRoute]:
    yield from reshape(reader)
    yield from parameters(reader, *range(1, len(reader.node.proto.input)))


def _without_padding(reader: NodeReader) -> Iterator[AccessRoute]:
    """The channels that are not padding, in the order of axes of the input."""
    static.check_fits(reader, not reader.flag("channels_last"))
    yield route(0, resize_steps(static.output_sizes(reader), static.input_sizes(reader), [1]))


def _channels_first(reader: NodeReader) -> Iterator[AccessRoute]:
    """The same image, with its channels second where they were last."""
    rank = len(static.input_sizes(reader))
    is_last = reader.flag("channels_last") and rank > 1
    yield route(0, permute_step((0, rank - 1, *range(1, rank - 1))) if is_last else ())


ROUTES: Final[Mapping[str, RouteRule]] = {
    f"{BLOCKED}.ReorderInput": _channels_first,
    f"{BLOCKED}.ReorderOutput": _without_padding,
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"), reshape),
    **dict.fromkeys(("Dropout", "com.microsoft.BitmaskDropout", "BitCast"), reshape),
    "com.microsoft.ExpandDims": reshape,
    **dict.fromkeys(("Trilu", "com.microsoft.Trilu"), _same),
    "Transpose": transpose,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Concat": concat,
    "Split": split,
    **dict.fromkeys(("Expand", "Tile"), expand_tile),
    "Slice": slice_routes,
    **dict.fromkeys(("Pad", "com.microsoft.Pad"), pad),
    "CenterCropPad": center_crop_pad,
    "Gather": gather,
    "GatherElements": gather_elements,
    **dict.fromkeys(("GatherND", "com.microsoft.GatherND"), gather_nd),
    **dict.fromkeys(("Scatter", "ScatterElements"), scatter_elements),
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "ReverseSequence": reverse_sequence,
    "Compress": compress,
    "MaxUnpool": max_unpool,
    **dict.fromkeys(MADE, _of_parameters),
    # depend only on sizes, or are random
    **dict.fromkeys(("Shape", "Size", "EyeLike", "ConstantOfShape"), _of_nothing),
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike"), _of_nothing),
    "OneHot": one_hot,
}
"""The operators with known routes."""


def routes_of(reader: NodeReader) -> tuple[AccessRoute, ...] | None:
    """The routes of a node; ``None`` if the elements of its outputs may come from anywhere.

    Positions refer to ``reader.inputs`` and ``reader.outputs``.
    """
    rule = ROUTES.get(reader.node.operator)
    if rule is None:
        return None
    try:
        return tuple(_placed(reader, rule(reader)))
    except (InputError, ValueError, LookupError):  # inconsistent shapes
        return None


def _placed(reader: NodeReader, routes: Iterable[AccessRoute]) -> Iterator[AccessRoute]:
    """The routes with positions among the tensors that are present, without duplicates.

    Raises:
        ValueError: if a route does not match the sizes of its output and input.
    """
    places = {name: i for i, name in enumerate(reader.node.reads)}
    read = [places.get(name, -1) for name in reader.node.proto.input]
    made = list(accumulate(map(bool, reader.node.proto.output), initial=0))
    inputs, outputs = reader.inputs, reader.outputs
    for each in routes:
        place = made[each.output], read[each.input]
        begin, end = outputs[place[0]].sizes, inputs[place[1]].sizes
        if begin is None or end is None or each.input_sizes(begin) != end:
            raise ValueError(f"route {each} from {begin} to {end}; expected matching sizes")
        if place != (each.output, each.input):
            yield copy_with(each, {"output": place[0], "input": place[1]})
        else:
            yield each
