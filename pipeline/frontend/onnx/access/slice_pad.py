"""Determines the routes of slicing, padding and cropping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from nestmap.model.workload.access import AccessRoute, AnyIndex, Gather
from nestmap.pipeline.frontend.onnx.access.route_steps import (
    Steps,
    parameters,
    resize_steps,
    route,
    shift_step,
)
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    attribute_or_input,
    check_fits,
    input_sizes,
    integers_at,
    normalize_axis,
    output_sizes,
)

_INSIDE: Final = ("edge", "reflect", "wrap")
"""Modes of Pad that repeat elements of the tensor itself."""


def slice_routes(reader: NodeReader) -> Iterator[AccessRoute]:
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


def pad(reader: NodeReader) -> Iterator[AccessRoute]:
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


def center_crop_pad(reader: NodeReader) -> Iterator[AccessRoute]:
    """The center of a tensor, surrounded by zeros along axes that are too short."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) == len(after))
    pairs = enumerate(zip(after, before, strict=True))
    yield route(0, *(shift_step(axis, pair, _middle(*pair)) for axis, pair in pairs))


def _middle(after: int, before: int) -> int:
    return (before - after) // 2 if before >= after else -((after - before) // 2)
