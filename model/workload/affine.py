"""Affine indices: how two loop dimensions together walk along one axis of a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import gcd, inf

from pydantic import Field, model_validator

from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import Dimension
from nestmap.model.units import Size


def distinct_values(
    a: float, b: float, step_a: int, step_b: int, least_overlap: float = -inf
) -> float:
    """How many values ``step_a * i + step_b * j`` takes for ``i < a`` and ``j < b``.

    ``step_a`` and ``step_b`` are the two coefficients divided by their greatest common divisor.
    Sizes may be fractions (unrollings that do not divide their loop). Exact for whole sizes with
    ``b >= step_a`` and ``a >= step_b`` or with no overlap at all; for all whole sizes if
    ``least_overlap`` is 0, where the reference lets an overlap be negative.

    Source: ZigZag (Mei et al., IEEE TC 2021), partially relevant loops.
    Formula: docs/cost-model.md#values-of-an-affine-index
    """
    return a * b - max(0.0, b - step_a) * max(least_overlap, a - step_b)


class Term(Frozen, frozen=True):
    """One summand of an affine index: ``coefficient * dimension``."""

    dimension: Dimension
    coefficient: Size = 1

    def __str__(self) -> str:
        prefix = "" if self.coefficient == 1 else f"{self.coefficient}*"
        return f"{prefix}{self.dimension.lower()}"


class AffineIndex(Frozen, frozen=True):
    """One index of an operand: a loop dimension by itself, or the sum of two.

    ``size`` is the length of the axis where it is known (the real input width, say);
    ``padding`` the elements before and after it that the loops touch but no memory holds.
    """

    terms: tuple[Term, ...] = Field(min_length=1, max_length=2)
    name: Dimension | None = None
    size: Size | None = None
    padding: tuple[int, int] = (0, 0)

    @model_validator(mode="after")
    def _two_different_dimensions(self) -> AffineIndex:
        if len({term.dimension for term in self.terms}) != len(self.terms):
            raise ValueError(f"index {self} uses one dimension twice; expected two different ones")
        if min(self.padding) < 0:
            raise ValueError(f"padding {self.padding} is negative; expected 0 or more elements")
        return self

    def __str__(self) -> str:
        return "+".join(str(term) for term in self.terms)

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The loop dimensions of the index."""
        return tuple(term.dimension for term in self.terms)

    @property
    def steps(self) -> tuple[int, ...]:
        """The coefficients divided by their greatest common divisor."""
        divisor = gcd(*(term.coefficient for term in self.terms))
        return tuple(term.coefficient // divisor for term in self.terms)

    def axis_length(self, sizes: tuple[int, ...]) -> int:
        """Elements along the axis for the whole loops: ``size``, or those touched less the padding.

        Positions that strides jump over count for nothing, as in the reference.
        """
        if self.size is not None:
            return self.size
        values = distinct_values(sizes[0], sizes[1], *self.steps) if sizes[1:] else sizes[0]
        return max(1, int(values) - sum(self.padding))

    def padded(self, added: Mapping[Dimension, int]) -> AffineIndex:
        """The index after adding iterations to its loops: a known axis grows with them."""
        if self.size is None:
            return self
        more = sum(term.coefficient * added[term.dimension] for term in self.terms)
        return copy_with(self, {"size": self.size + more})

    def touched(self, sizes: tuple[int, ...], whole: tuple[int, ...]) -> int:
        """Elements along the axis that loops of the given sizes touch.

        ``whole`` holds the sizes of the whole loops, which bound the axis.
        """
        if len(self.terms) == 1:
            return sizes[0]
        values = distinct_values(sizes[0], sizes[1], self.steps[0], self.steps[1])
        return min(int(values), self.axis_length(whole))
