"""Determines the routes of data movement that reshapes, reorders, joins or repeats elements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from nestmap.model.workload.access import AccessRoute, AnyIndex, Repeat
from nestmap.pipeline.frontend.onnx.access.route_steps import (
    Steps,
    parameters,
    permute_step,
    reshape_step,
    route,
    shift_step,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    attribute_or_input,
    axis_at,
    check_fits,
    input_sizes,
    output_sizes,
)

_BLOCKED: Final = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""The order of batch, parts of the channels, height and width in DepthToSpace, by mode."""

_UNBLOCKED: Final = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""The order of batch, channels and parts of height and width in SpaceToDepth, by mode."""


def reshape(reader: NodeReader) -> Iterator[AccessRoute]:
    """The same elements in row-major order."""
    yield route(0, reshape_step(output_sizes(reader), input_sizes(reader)))


def transpose(reader: NodeReader) -> Iterator[AccessRoute]:
    """The axes in another order."""
    reverse = tuple(range(len(input_sizes(reader))))[::-1]
    order = reader.integer_list("perm") or reverse
    check_fits(reader, sorted(order) == sorted(reverse))
    yield route(0, permute_step(order))


def depth_to_space(reader: NodeReader) -> Iterator[AccessRoute]:
    """Channels become blocks of the image."""
    before, after, block = input_sizes(reader), output_sizes(reader), reader.integer("blocksize", 1)
    mode = reader.text("mode", "DCR")
    check_fits(reader, mode in _BLOCKED and len(before) == 4)
    batch, channels, height, width = before
    parts = (block, block, channels // block**2)
    inner = parts if mode == "DCR" else parts[::-1]
    yield route(0, _reordered(before, (batch, *inner, height, width), _BLOCKED[mode], after))


def space_to_depth(reader: NodeReader) -> Iterator[AccessRoute]:
    """Blocks of the image become channels."""
    before, after, block = input_sizes(reader), output_sizes(reader), reader.integer("blocksize", 1)
    mode = reader.text("mode", "DCR")
    check_fits(reader, mode in _UNBLOCKED and len(before) == 4)
    batch, channels, height, width = before
    split = (batch, channels, height // block, block, width // block, block)
    yield route(0, _reordered(before, split, _UNBLOCKED[mode], after))


def _reordered(before: Sizes, split: Sizes, order: Sizes, after: Sizes) -> Steps:
    """The steps back from a tensor whose axes were split, reordered and merged."""
    ordered = tuple(split[axis] for axis in order)
    return (*reshape_step(after, ordered), *permute_step(order), *reshape_step(split, before))


def concat(reader: NodeReader) -> Iterator[AccessRoute]:
    """Concatenated tensors."""
    sizes = [input_sizes(reader, position) for position in range(len(reader.node.proto.input))]
    check_fits(reader, bool(sizes))
    axis = axis_at(reader, 1, len(sizes[0]))
    check_fits(reader, all(len(each) > axis for each in sizes))
    whole = sum(each[axis] for each in sizes)
    starts = accumulate((each[axis] for each in sizes), initial=0)
    for position, (each, start) in enumerate(zip(sizes, starts, strict=False)):
        yield route(position, shift_step(axis, (whole, each[axis]), -start))


def split(reader: NodeReader) -> Iterator[AccessRoute]:
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


def expand_tile(reader: NodeReader) -> Iterator[AccessRoute]:
    """Tile and Expand; an axis that Expand repeats has one element or is missing."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) <= len(after))
    own = (*(1,) * (len(after) - len(before)), *before)
    pairs = enumerate(zip(own, after, strict=True))
    repeated = tuple(Repeat(axis=axis, size=a) for axis, (a, b) in pairs if a != b)
    yield route(0, repeated, reshape_step(own, before))
