"""Options of splitting a network into computation nodes: outer loops and counting."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from pydantic import Field, model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import Dimension
from nestmap.model.hardware.accelerator import Counting
from nestmap.model.units import Size


class SplitMode(IntEnum):
    """The meaning of the hints; the numbers are those of Stream's ``cn_define_mode``."""

    OUTER = 1
    """The hints are the outer loops, the same for all layers."""
    INNER = 2
    """The hints are the loops within a computation node; all others are outer loops."""
    PER_LAYER = 3
    """One list of outer loops for each range of layers between the cutoffs."""
    OUTER_AND_WEIGHTS = 4
    """As ``OUTER``, and K is split if constants are too large for the cores."""


class HintLoop(Frozen, frozen=True):
    """A loop dimension and its number of tiles; ``None``: one tile per iteration."""

    dimension: Dimension
    tiles: Size | None = None

    def __str__(self) -> str:
        return f"{self.dimension}={self.tiles or 'all'}"


Hints = tuple[HintLoop, ...]
"""Loops, innermost first."""

Fraction = Annotated[float, Field(gt=0, le=1)]
"""The fraction of a memory that may be used."""


class SplitOptions(Frozen, frozen=True):
    """How layers are split into computation nodes; the default is layer by layer.

    ``hints`` has one list of loops; for ``PER_LAYER``, one more than there are ``cutoffs``:
    ascending layer numbers that separate the lists. For ``OUTER_AND_WEIGHTS``, ``weight_share`` is
    the fraction of the smallest constant memory that the constants of one computation node may
    occupy.
    """

    mode: SplitMode = SplitMode.OUTER
    hints: tuple[Hints, ...] = ((),)
    cutoffs: tuple[int, ...] = ()
    weight_share: Fraction = 1.0
    counting: Counting = Counting.EXACT

    @model_validator(mode="after")
    def _check_hints(self) -> SplitOptions:
        wanted = len(self.cutoffs) + 1
        if self.cutoffs and self.mode is not SplitMode.PER_LAYER:
            raise ValueError(f"cutoffs {self.cutoffs} in mode {self.mode}; expected mode 3")
        if len(self.hints) != wanted:
            raise ValueError(
                f"{len(self.hints)} lists of hint loops for {len(self.cutoffs)} layer cutoffs; "
                f"expected {wanted}"
            )
        if list(self.cutoffs) != sorted(set(self.cutoffs)):
            raise ValueError(f"layer cutoffs {self.cutoffs}; expected ascending ones")
        return self
