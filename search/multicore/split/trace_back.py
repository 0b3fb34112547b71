"""Traces the reads of a tensor back through operators that only move data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import final

import numpy as np

from nestmap.model.workload.access import (
    AccessStep,
    AnyElement,
    AnyIndex,
    Gather,
    Permute,
    Repeat,
    Reshape,
    Shift,
)
from nestmap.search.multicore.split.access_factors import Factor
from nestmap.search.multicore.split.regions import Box, Region, regions_along, reshape_region

Sizes = tuple[int, ...]


def trace_back(
    factors: Sequence[Factor], sizes: Sizes, steps: Sequence[AccessStep]
) -> tuple[tuple[Factor, ...], Sizes]:
    """The reads of the tensor that the steps lead back to, and its sizes.

    Args:
        factors: the reads of the tensor from which they start.
        sizes: the sizes of that tensor.
        steps: the path back.
    """
    now = tuple(factors)
    for step in steps:
        now, sizes = _traced(now, sizes, step)
    return now, sizes


def steps_between(read: Sizes, written: Sizes) -> tuple[AccessStep, ...]:
    """The path from a tensor as a layer reads it to the tensor as its source writes it.

    Networks in ZigZag's format name the source of an input, not its sizes. What is read beyond the
    end of an axis is padding; a tensor with other axes holds the same elements in row-major order,
    or, if there are more or fewer of them, any element may depend on any other.
    """
    if len(read) == len(written):
        sizes = enumerate(zip(read, written, strict=True))
        return tuple(Shift(axis=axis, size=has) for axis, (reads, has) in sizes if reads > has)
    if prod(read) == prod(written):
        return (Reshape(sizes=written),)
    return (AnyElement(sizes=written),)


def _traced(
    factors: tuple[Factor, ...], sizes: Sizes, step: AccessStep
) -> tuple[tuple[Factor, ...], Sizes]:
    match step:
        case Permute():
            moved = tuple(
                replace(factor, axes=tuple(step.axes.index(axis) for axis in factor.axes))
                for factor in factors
            )
            return moved, tuple(sizes[axis] for axis in step.axes)
        case Reshape():
            return _reshape(factors, sizes, step.sizes), step.sizes
        case AnyElement():
            whole = ((np.arange(n, dtype=np.int64),) for n in step.sizes)
            everything = tuple(Factor((i,), (), (), ((box,),)) for i, box in enumerate(whole))
            return everything, step.sizes
        case _:
            moved = tuple(_shifted(factor, step) for factor in factors)
            return moved, (*sizes[: step.axis], step.size, *sizes[step.axis + 1 :])


def _shifted(factor: Factor, step: Shift | Repeat | Gather | AnyIndex) -> Factor:
    if step.axis not in factor.axes:
        return factor
    place = factor.axes.index(step.axis)
    regions = (
        tuple((*box[:place], regions_along(step, box[place]), *box[place + 1 :]) for box in region)
        for region in factor.regions
    )
    return replace(factor, regions=tuple(regions))


def _reshape(factors: tuple[Factor, ...], old: Sizes, new: Sizes) -> tuple[Factor, ...]:
    """The factors of the reshaped tensor: each run of axes is replaced by other axes."""
    if not prod(old):
        return ()
    now = factors
    for before, after in _stretches(old, new):
        touched = tuple(factor for factor in now if set(factor.axes) & set(before))
        apart = tuple(factor for factor in now if factor not in touched)
        stretch = _Stretch(before, tuple(old[i] for i in before), tuple(new[j] for j in after))
        # new axes have negative numbers until all old ones are replaced
        made = stretch.of(merge_regions(touched), tuple(-1 - j for j in after))
        now = (*apart, made)
    return tuple(replace(x, axes=tuple(-1 - axis for axis in x.axes)) for x in now)


def _stretches(old: Sizes, new: Sizes) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The shortest runs of axes with equal numbers of elements before and after a reshape."""
    i = j = 0
    while i < len(old) or j < len(new):
        first, other = i, j
        i, j = min(i + 1, len(old)), min(j + 1, len(new))
        while prod(old[first:i]) != prod(new[other:j]):
            if prod(old[first:i]) < prod(new[other:j]):
                i += 1
            else:
                j += 1
        yield tuple(range(first, i)), tuple(range(other, j))


@final
@dataclass(frozen=True)
class _Stretch:
    """A run of axes of a tensor, their sizes, and the sizes of the axes that replace them."""

    axes: tuple[int, ...]
    old: Sizes
    new: Sizes

    def of(self, factor: Factor, axes: tuple[int, ...]) -> Factor:
        """The factor with these axes in place of the old ones."""
        rest = tuple(axis for axis in factor.axes if axis not in self.axes)
        order = tuple(factor.axes.index(axis) for axis in (*rest, *self.axes))
        regions = (
            tuple(made for box in region for made in self._box(tuple(box[i] for i in order)))
            for region in factor.regions
        )
        return replace(factor, axes=(*rest, *axes), regions=tuple(regions))

    def _box(self, box: Box) -> Iterator[Box]:
        rest, mine = box[: len(box) - len(self.axes)], box[len(box) - len(self.axes) :]
        for made in reshape_region((mine,), self.old, self.new):
            yield (*rest, *made)


def merge_regions(factors: Sequence[Factor]) -> Factor:
    """Merges several factors into one."""
    tiles = {
        dimension: count
        for factor in factors
        for dimension, count in zip(factor.dimensions, factor.tiles, strict=True)
    }
    places = {dimension: place for place, dimension in enumerate(tiles)}
    regions: list[Region] = []
    for at in product(*map(range, tiles.values())):
        parts = (factor.region([at[places[d]] for d in factor.dimensions]) for factor in factors)
        regions.append(tuple(sum(boxes, ()) for boxes in product(*parts)))
    axes = tuple(axis for factor in factors for axis in factor.axes)
    return Factor(axes, tuple(tiles), tuple(tiles.values()), tuple(regions))
