"""The tensors that the nodes of a workload exchange: their names and sizes."""

from __future__ import annotations

from math import prod
from typing import Annotated

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.units import Bits, Count

Extent = Annotated[int, Field(ge=0, lt=2**31)]
"""Elements along an axis of a tensor; a tensor without elements has an axis of 0."""


class Tensor(Frozen, frozen=True):
    """A tensor: its name in the network, its axes, and the bits of an element.

    ``sizes`` is ``None`` where they are only known when the network runs. A ``constant`` tensor is
    known before: weights, shapes.
    """

    name: str = Field(min_length=1)
    sizes: tuple[Extent, ...] | None
    precision: Bits
    constant: bool = False

    @property
    def elements(self) -> Count:
        """How many elements it has; 0 where that is not known."""
        return 0 if self.sizes is None else prod(self.sizes)

    @property
    def bits(self) -> Count:
        """What it takes to hold it: ``elements * precision``."""
        return self.elements * self.precision
