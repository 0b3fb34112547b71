"""Temporal mappings: the order of the loops, and the memory level that holds each of them."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from math import prod

from pydantic import model_validator

from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand, Loop
from nestmap.model.units import Count


class MappingType(StrEnum):
    """Whether operands that share a memory must cut the loop nest at the same loop."""

    UNEVEN = "uneven"
    EVEN = "even"


class Cuts(Frozen, frozen=True):
    """Per memory level of one operand (innermost first): the number of loops at or below it."""

    operand: LayerOperand
    positions: tuple[Count, ...]

    @model_validator(mode="after")
    def _check_ascending(self) -> Cuts:
        if any(lower > upper for lower, upper in pairwise(self.positions)):
            raise ValueError(
                f"cuts {self.positions} of operand {self.operand} decrease; expected each level "
                "to hold at least the loops of the level below"
            )
        return self


class TemporalMapping(Frozen, frozen=True):
    """``order`` (innermost loop first, the same for all operands) and ``cuts`` per operand."""

    order: tuple[Loop, ...]
    cuts: tuple[Cuts, ...]

    @model_validator(mode="after")
    def _check_cuts(self) -> TemporalMapping:
        for cuts in self.cuts:
            if not cuts.positions or cuts.positions[-1] != len(self.order):
                raise ValueError(
                    f"cuts {cuts.positions} of operand {cuts.operand} do not end with all "
                    f"{len(self.order)} loops; expected the top level to hold every loop"
                )
        return self

    def __str__(self) -> str:
        return " ".join(f"[{loop}]" for loop in self.order)

    @property
    def cycles(self) -> Count:
        """Iterations of the whole temporal loop nest."""
        return prod(loop.size for loop in self.order)

    def cuts_of(self, operand: LayerOperand) -> tuple[Count, ...]:
        """The cut positions of an operand.

        Raises:
            KeyError: if the mapping has no cuts for it.
        """
        for cuts in self.cuts:
            if cuts.operand == operand:
                return cuts.positions
        raise KeyError(operand)

    def loops_at(self, operand: LayerOperand, level: int) -> tuple[Loop, ...]:
        """The loops that the operand's memory ``level`` (0: innermost) adds to those below."""
        positions = (0, *self.cuts_of(operand))
        return self.order[positions[level] : positions[level + 1]]
