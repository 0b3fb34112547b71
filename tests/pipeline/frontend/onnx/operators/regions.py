"""Interprets nests and routes one element at a time, as their descriptions say."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from nestmap.model.workload.access import (
    AccessRoute,
    AccessStep,
    AnyElement,
    AnyIndex,
    AxisIndex,
    Gather,
    Permute,
    Repeat,
    Reshape,
    Shift,
    VectorNest,
)

Index = tuple[int, ...]
Mask = npt.NDArray[np.bool_]


def is_exact(route: AccessRoute) -> bool:
    """Whether each element of the output comes from one element at most."""
    return not any(isinstance(step, AnyIndex | AnyElement) for step in route.steps)


def origins(route: AccessRoute, sizes: Index, index: Index) -> set[Index]:
    """Where an element of an output of these sizes may come from."""
    found = {index}
    for step in route.steps:
        found = {before for after in found for before in _before(step, sizes, after)}
        sizes = _sizes(step, sizes)
    return found


def _before(step: AccessStep, sizes: Index, index: Index) -> Iterator[Index]:
    match step:
        case Reshape():
            yield _at(_flat(index, sizes), step.sizes)
        case Permute():
            yield tuple(index[axis] for axis in step.axes)
        case AnyElement():
            yield from product(*map(range, step.sizes))
        case _:
            for place in _along(step, index[step.axis]):
                yield (*index[: step.axis], place, *index[step.axis + 1 :])


def _along(step: Shift | Repeat | Gather | AnyIndex, place: int) -> Iterator[int]:
    match step:
        case Shift():
            moved = step.start + step.step * place
            if 0 <= moved < step.size:
                yield moved
        case Repeat():
            yield place % step.size
        case Gather():
            yield step.indices[place]
        case AnyIndex():
            yield from range(step.size)


def _sizes(step: AccessStep, sizes: Index) -> Index:
    match step:
        case Reshape() | AnyElement():
            assert isinstance(step, AnyElement) or prod(step.sizes) == prod(sizes)
            return step.sizes
        case Permute():
            return tuple(sizes[axis] for axis in step.axes)
        case _:
            return (*sizes[: step.axis], step.size, *sizes[step.axis + 1 :])


def _flat(index: Index, sizes: Index) -> int:
    flat = 0
    for place, size in zip(index, sizes, strict=True):
        flat = flat * size + place
    return flat


def _at(flat: int, sizes: Index) -> Index:
    index: list[int] = []
    for size in reversed(sizes):
        flat, place = divmod(flat, size)
        index.append(place)
    return tuple(reversed(index))


def needed(nest: VectorNest, index: Index, sizes: Sequence[Index]) -> list[Mask]:
    """Which elements of its inputs, of these sizes, an element of the output reads."""
    loops = {loop.dimension: range(loop.size) for loop in nest.loops}
    for axis, place in zip(nest.output, index, strict=True):
        for term in axis.terms:
            at = place // term.coefficient % len(loops[term.dimension])
            loops[term.dimension] = range(at, at + 1)
        assert place == sum(t.coefficient * loops[t.dimension].start for t in axis.terms)
    masks = list[Mask]()
    for access, shape in zip(nest.inputs, sizes, strict=True):
        axes = (None,) * len(shape) if access is None else access.axes
        pairs = zip(axes, shape, strict=True)
        lines = [_touched(axis, size, loops) for axis, size in pairs]
        mask = np.zeros(shape, dtype=np.bool_)
        mask[np.ix_(*lines)] = True
        masks.append(mask)
    return masks


def _touched(axis: AxisIndex, size: int, loops: dict[str, range]) -> list[int]:
    """The indices along an axis of that size."""
    if axis is None:
        return list(range(size))
    assert axis.size in (None, size)
    touched = {
        sum(t.coefficient * i for t, i in zip(axis.terms, places, strict=True)) - axis.padding[0]
        for places in product(*(loops[term.dimension] for term in axis.terms))
    }
    inside = {place for place in touched if 0 <= place < size}
    outside = touched - inside
    assert all(-axis.padding[0] <= place < size + axis.padding[1] for place in outside)
    return sorted(inside)
