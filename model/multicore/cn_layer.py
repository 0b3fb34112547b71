"""A layer as it is split: its loops, the axes of its tensors, its outer loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from nestmap.model.arrays import Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import Dimension, LayerOperand, Loop
from nestmap.model.hardware.accelerator import Counting
from nestmap.model.multicore.tiling import Tiling
from nestmap.model.units import Bits
from nestmap.model.workload.access import Extent
from nestmap.model.workload.affine import Term

LayerNumber = Annotated[int, Field(ge=0)]
"""The index of a node in its workload, from 0, which is also its number in Stream."""


class TensorAxis(Frozen, frozen=True):
    """An axis of a tensor: index ``offset + sum(coefficient * loop)``, below ``size``.

    Without terms every iteration may touch the whole axis. Indices outside the axis are padding.
    """

    terms: tuple[Term, ...]
    size: Extent
    offset: int = 0

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The loop dimensions that index the axis."""
        return tuple(term.dimension for term in self.terms)

    def is_mixed_radix(self, sizes: Mapping[Dimension, int]) -> bool:
        """Whether loops of these sizes reach each index exactly once, as digits count numbers."""
        step = 1
        for term in reversed(self.terms):
            if term.coefficient != step:
                return False
            step *= sizes[term.dimension]
        return bool(self.terms) and step == self.size and not self.offset


class TensorUse(Frozen, frozen=True):
    """A tensor that a node reads or writes: operand name, axes, bits per element.

    ``tensor`` is its name in the network, ``source`` the node that produces it, if these are known.
    ``stored`` are the expected bits of an element if memories compress the tensor; ``None``: they
    do not.
    """

    operand: LayerOperand
    axes: tuple[TensorAxis, ...]
    precision: Bits
    constant: bool = False
    source: str | None = None
    tensor: str | None = None
    stored: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class LayerNest(Frozen, frozen=True):
    """A layer as a loop nest: its loops, the tensor that it writes, and those that it reads."""

    name: str = Field(min_length=1)
    number: LayerNumber
    operator: str
    loops: tuple[Loop, ...]
    output: TensorUse
    inputs: tuple[TensorUse, ...]

    @property
    def sizes(self) -> dict[Dimension, int]:
        """The size of each loop dimension."""
        return {loop.dimension: loop.size for loop in self.loops}

    @property
    def constants(self) -> tuple[TensorUse, ...]:
        """The inputs known before the network runs."""
        return tuple(read for read in self.inputs if read.constant)


class CnLayer(Frozen, frozen=True):
    """A layer and the outer loops that it is split along, innermost first.

    ``loops`` are those of the nest, or larger if they were padded.
    """

    nest: LayerNest
    loops: tuple[Loop, ...]
    outer: tuple[Loop, ...] = ()

    @model_validator(mode="after")
    def _check_loops(self) -> CnLayer:
        known = [loop.dimension for loop in self.nest.loops]
        if [loop.dimension for loop in self.loops] != known:
            raise ValueError(f"loops of layer {self.nest.name}; expected {', '.join(known)}")
        for loop in self.outer:
            if loop.dimension not in known:
                raise ValueError(
                    f"layer {self.nest.name} is split along {loop.dimension}; expected one of its "
                    f"loop dimensions: {', '.join(known)}"
                )
        return self

    @cached_property
    def tiling(self) -> Tiling:
        """The tiles of its loops, per node."""
        return Tiling(self.loops, self.outer)

    @cached_property
    def groups(self) -> Ints:
        """The group of each node: nodes that read the same part of the last constant operand.

        As in Stream, only the dimensions that are relevant to it count, not the partially relevant
        ones.
        """
        axes = self.nest.constants[-1].axes if self.nest.constants else ()
        sizes = self.nest.sizes
        return self.tiling.groups(dimensions_of(x for x in axes if x.is_mixed_radix(sizes)))

    @cached_property
    def is_final(self) -> NDArray[np.bool_]:
        """Whether each node writes finished outputs: it computes the last part of every sum.

        All nodes do, if it is unknown which part of the output an iteration writes.
        """
        if not self.writes_each_element_once:
            return np.ones(self.tiling.count, dtype=np.bool_)
        indexing = dimensions_of(self.nest.output.axes)
        return self.tiling.is_last_tile([d for d in self.tiling.sizes if d not in indexing])

    @property
    def writes_each_element_once(self) -> bool:
        """Whether each output element is written at exactly one point of the loops."""
        sizes = self.nest.sizes
        return all(axis.is_mixed_radix(sizes) for axis in self.nest.output.axes)

    def range_of(self, axis: TensorAxis, counting: Counting) -> tuple[Ints, Ints]:
        """The first and the end index (exclusive) that each node touches along an axis.

        The node may skip indices in between. In the reference's counting padding counts, so that
        a range may start before the axis and end beyond it.
        """
        count = self.tiling.count
        if not axis.terms:
            return np.zeros(count, dtype=np.int64), np.full(count, axis.size, dtype=np.int64)
        first = np.full(count, axis.offset, dtype=np.int64)
        last = first.copy()
        for term in axis.terms:
            first += term.coefficient * self.tiling.starts(term.dimension)
            last += term.coefficient * (self.tiling.ends(term.dimension) - 1)
        if counting is Counting.REFERENCE:
            return first, last + 1
        end = (last + 1).clip(0, axis.size)
        return np.minimum(first.clip(0), end), end

    def bits_of(self, use: TensorUse, counting: Counting) -> Ints:
        """The bits that each node holds of a tensor: everything within its ranges.

        For an axis indexed by several loops that count its elements, such as channels within
        groups, only the elements that it touches. Partial sums are never compressed.
        """
        elements = np.ones(self.tiling.count, dtype=np.int64)
        for axis in use.axes:
            elements *= self._length_of(axis, counting)
        if use.stored is None:
            return elements * use.precision
        packed = np.ceil(elements * use.stored).astype(np.int64)
        is_output = use.operand == self.nest.output.operand
        return np.where(self.is_final, packed, elements * use.precision) if is_output else packed

    def _length_of(self, axis: TensorAxis, counting: Counting) -> Ints:
        if not axis.is_mixed_radix(self.nest.sizes):
            first, end = self.range_of(axis, counting)
            return end - first
        length = np.ones(self.tiling.count, dtype=np.int64)
        for dimension in axis.dimensions:
            length *= self.tiling.ends(dimension) - self.tiling.starts(dimension)
        return length


def dimensions_of(axes: Iterable[TensorAxis]) -> tuple[Dimension, ...]:
    """The loop dimensions that index these axes, without duplicates."""
    return tuple(dict.fromkeys(d for axis in axes for d in axis.dimensions))
