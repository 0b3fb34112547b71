"""Spatial mappings: which loops are unrolled over which array dimensions."""

from __future__ import annotations

from functools import cached_property
from math import prod

from pydantic import model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import ArrayDimension, Dimension, Loop
from nestmap.model.units import Count


class Unrolling(Frozen, frozen=True):
    """The loops unrolled over one array dimension."""

    array_dimension: ArrayDimension
    loops: tuple[Loop, ...] = ()

    def __str__(self) -> str:
        return f"{self.array_dimension}: {' x '.join(str(loop) for loop in self.loops) or '-'}"

    @property
    def factor(self) -> Count:
        """Units used along the array dimension."""
        return prod(loop.size for loop in self.loops)


class SpatialMapping(Frozen, frozen=True):
    """Unrollings per array dimension, in the order of the array's dimensions."""

    unrollings: tuple[Unrolling, ...] = ()

    @model_validator(mode="after")
    def _check_unique_dimensions(self) -> SpatialMapping:
        names = [unrolling.array_dimension for unrolling in self.unrollings]
        if len(set(names)) != len(names):
            raise ValueError(f"array dimensions {', '.join(names)} are not all different")
        return self

    def __str__(self) -> str:
        return ", ".join(str(unrolling) for unrolling in self.unrollings)

    def on(self, array_dimension: ArrayDimension) -> tuple[Loop, ...]:
        """The loops unrolled over an array dimension; none if it is not mapped."""
        for unrolling in self.unrollings:
            if unrolling.array_dimension == array_dimension:
                return unrolling.loops
        return ()

    def factor_of(self, dimension: Dimension) -> Count:
        """How often a loop dimension is unrolled over the whole array."""
        return self.factors.get(dimension, 1)

    @cached_property
    def factors(self) -> dict[Dimension, Count]:
        """How often each loop dimension is unrolled over the whole array; none if it is not."""
        factors = dict[Dimension, Count]()
        for unrolling in self.unrollings:
            for loop in unrolling.loops:
                factors[loop.dimension] = factors.get(loop.dimension, 1) * loop.size
        return factors
