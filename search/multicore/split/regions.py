"""Regions of tensors, traced back through operators that only move data.

A region is a union of boxes; a box is a set of indices for each axis (sorted, distinct).
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from nestmap.model.arrays import Ints
from nestmap.model.workload.access import AnyIndex, Gather, Repeat, Shift

Box: TypeAlias = tuple[Ints, ...]
Region: TypeAlias = tuple[Box, ...]
Ranges: TypeAlias = tuple[tuple[int, int], ...]


def regions_along(step: Shift | Repeat | Gather | AnyIndex, indices: Ints) -> Ints:
    """The source indices along an axis; indices from other sources are omitted."""
    match step:
        case Shift():
            moved = step.start + step.step * indices
            return np.unique(moved[(moved >= 0) & (moved < step.size)])
        case Repeat():
            return np.unique(indices % step.size)
        case Gather():
            return np.unique(np.asarray(step.indices, dtype=np.int64)[indices])
        case AnyIndex():
            return np.arange(step.size if len(indices) else 0, dtype=np.int64)


def reshape_region(region: Region, old: Sequence[int], new: Sequence[int]) -> Region:
    """The same elements, in row-major order, in a tensor of other sizes."""
    boxes = [box for part in region for box in _boxes(_runs(part, old), new)]
    return _joined(boxes, len(new))


def _runs(box: Box, sizes: Sequence[int]) -> tuple[Ints, Ints]:
    """The elements of a box as row-major intervals: starts and lengths."""
    inner, axis = 1, len(sizes) - 1
    while axis > 0 and len(box[axis]) == sizes[axis]:  # complete axes extend the interval
        inner *= sizes[axis]
        axis -= 1
    if not sizes or any(not len(indices) for indices in box):
        empty = np.zeros(0 if sizes else 1, dtype=np.int64)
        return empty, empty + 1
    indices = box[axis]
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    first = indices[np.concatenate(([0], breaks))] * inner
    length = np.diff(np.concatenate(([0], breaks, [len(indices)]))) * inner
    step = inner * sizes[axis]
    for outer in range(axis - 1, -1, -1):
        first = (box[outer][:, None] * step + first).reshape(-1)
        length = np.tile(length, len(box[outer]))
        step *= sizes[outer]
    return first, length


def _boxes(runs: tuple[Ints, Ints], sizes: Sequence[int]) -> list[Box]:
    """Boxes that together contain the elements of the intervals."""
    first, length = runs
    if len(sizes) == 1:
        runs_of = zip(first.tolist(), length.tolist(), strict=True)
        parts = [np.arange(a, a + n, dtype=np.int64) for a, n in runs_of]
        return [(np.concatenate(parts),)] if parts else []
    return [
        tuple(np.arange(lo, hi, dtype=np.int64) for lo, hi in ranges)
        for a, n in zip(first.tolist(), length.tolist(), strict=True)
        for ranges in _ranges(a, a + n, sizes)
    ]


def _ranges(first: int, last: int, sizes: Sequence[int]) -> Iterator[Ranges]:
    """The boxes, at most two for each axis, of one interval of positions."""
    if not sizes:
        yield ()
        return
    rest = sizes[1:]
    inner = prod(rest)
    low, high = first // inner, (last - 1) // inner
    if low == high:
        for ranges in _ranges(first - low * inner, last - low * inner, rest):
            yield ((low, low + 1), *ranges)
        return
    if first > low * inner:
        yield from (((low, low + 1), *part) for part in _ranges(first - low * inner, inner, rest))
        low += 1
    if last < (high + 1) * inner:
        yield from (((high, high + 1), *part) for part in _ranges(0, last - high * inner, rest))
        high -= 1
    if low <= high:
        yield ((low, high + 1), *((0, size) for size in rest))


def _joined(boxes: list[Box], axes: int) -> Region:
    """The same region with fewer boxes: merges boxes that differ along one axis only."""
    for axis in range(axes):
        parts: dict[tuple[bytes, ...], tuple[Box, list[Ints]]] = {}
        for box in boxes:
            key = tuple(box[other].tobytes() for other in range(axes) if other != axis)
            parts.setdefault(key, (box, []))[1].append(box[axis])
        boxes = [
            (*box[:axis], np.unique(np.concatenate(found)), *box[axis + 1 :])
            for box, found in parts.values()
        ]
    return tuple(boxes)
