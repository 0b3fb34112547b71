"""Determines the routes of slicing, padding and cropping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from nestmap.model.workload.access import AnyIndex, Route, Taken
from nestmap.pipeline.frontend.onnx.access.route_steps import (
    Steps,
    parameters,
    resized,
    route,
    shifted,
)
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    expect,
    integers_at,
    made,
    place,
    read,
    stated,
)

_INSIDE: Final = ("edge", "reflect", "wrap")
"""Modes of Pad that repeat elements of the tensor itself."""


def part(reader: NodeReader) -> Iterator[Route]:
    """A Slice: every ``step``-th element from a start on; a negative step runs backwards."""
    before, after = read(reader), made(reader)
    expect(reader, len(before) == len(after))
    yield from parameters(reader, 1, 2, 3, 4)
    names = ("starts", "axes", "steps")
    known = [
        reader.listed(name) is not None or not reader.has(i) or integers_at(reader, i) is not None
        for name, i in zip(names, (1, 3, 4), strict=True)
    ]
    if not all(known):
        plain = not reader.has(4) or set(integers_at(reader, 4) or (0,)) == {1}
        pairs = enumerate(zip(before, after, strict=True))
        yield route(0, resized(after, before, [i for i, (a, b) in pairs if a != b or not plain]))
        return
    starts = stated(reader, "starts", 1) or ()
    axes = stated(reader, "axes", 3) or tuple(range(len(starts)))
    strides = stated(reader, "steps", 4) or (1,) * len(starts)
    expect(reader, len(starts) == len(axes) == len(strides) and 0 not in strides)
    given = {
        place(reader, axis, len(before)): (start, step)
        for axis, start, step in zip(axes, starts, strides, strict=True)
    }
    yield route(0, *(_sliced(axis, (after[axis], before[axis]), *x) for axis, x in given.items()))


def _sliced(axis: int, lengths: tuple[int, int], start: int, step: int) -> Steps:
    _, size = lengths
    first = max(0, start + size if start < 0 else start)
    return shifted(axis, lengths, min(first, size if step > 0 else size - 1), step)


def pad(reader: NodeReader) -> Iterator[Route]:
    """A tensor surrounded by constants or by repeated elements of its own."""
    before, after = read(reader), made(reader)
    expect(reader, len(before) == len(after))
    yield from parameters(reader, 1, 2, 3)
    found = _paddings(reader, len(before))
    if found is None:
        yield route(0, resized(after, before, range(len(before))))
        return
    mode = reader.text("mode", "constant")
    steps = (_padded(mode, axis, (after[axis], before[axis]), pads) for axis, pads in found.items())
    yield route(0, *steps)


def _paddings(reader: NodeReader, rank: int) -> Mapping[int, tuple[int, int]] | None:
    """The elements before and after each padded axis; ``None`` if not constant."""
    attribute = "pads" if reader.listed("pads") is not None else "paddings"
    unknown = reader.listed(attribute) is None and integers_at(reader, 1) is None
    if unknown or (reader.has(3) and integers_at(reader, 3) is None):
        return None
    pads = stated(reader, attribute, 1) or ()
    given = integers_at(reader, 3)
    axes = tuple(range(rank)) if given is None else given
    expect(reader, len(pads) == 2 * len(axes))
    pairs = zip(pads[: len(axes)], pads[len(axes) :], strict=True)
    return {place(reader, axis, rank): pair for axis, pair in zip(axes, pairs, strict=True)}


def _padded(mode: str, axis: int, lengths: tuple[int, int], pads: tuple[int, int]) -> Steps:
    after, before = lengths
    if not any(pads) or mode == "constant":
        return shifted(axis, lengths, -pads[0])
    if min(pads) < 0 or after > SMALL or not before or mode not in _INSIDE:
        return (AnyIndex(axis=axis, size=before),)
    indices = (_index(mode, place, before) for place in range(-pads[0], after - pads[0]))
    return (Taken(axis=axis, indices=tuple(indices), size=before),)


def _index(mode: str, position: int, size: int) -> int:
    """The element of an axis at a position that may be outside."""
    if mode == "edge":
        return min(max(position, 0), size - 1)
    if mode == "wrap":
        return position % size
    folded = position % max(1, 2 * (size - 1))
    return min(folded, 2 * (size - 1) - folded) if size > 1 else 0


def center(reader: NodeReader) -> Iterator[Route]:
    """The center of a tensor, surrounded by zeros along axes that are too short."""
    before, after = read(reader), made(reader)
    expect(reader, len(before) == len(after))
    pairs = enumerate(zip(after, before, strict=True))
    yield route(0, *(shifted(axis, pair, _middle(*pair)) for axis, pair in pairs))


def _middle(after: int, before: int) -> int:
    return (before - after) // 2 if before >= after else -((after - before) // 2)
