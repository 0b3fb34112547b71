"""The tensors that the nodes of a workload exchange: their names and sizes."""

from __future__ import annotations

from math import prod
from typing import Annotated

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.units import Bits, Count

Extent = Annotated[int, Field(ge=0, lt=2**31)]
"""The length of a tensor axis; an empty tensor has an axis of length 0."""


class Tensor(Frozen, frozen=True):
    """A tensor: its name in the network, its axes, and its bits per element.

    ``sizes`` is ``None`` if they are only known when the network runs. A ``constant`` tensor
    (weights, shapes) is known before that.
    """

    name: str = Field(min_length=1)
    sizes: tuple[Extent, ...] | None
    precision: Bits
    constant: bool = False

    @property
    def elements(self) -> Count:
        """The number of elements; 0 if it is unknown."""
        return 0 if self.sizes is None else prod(self.sizes)

    @property
    def bits(self) -> Count:
        """Its size in bits: ``elements * precision``."""
        return self.elements * self.precision
