"""How a memory stores tensors that have zeros."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from nestmap.model.base import Frozen
from nestmap.model.dims import MemoryOperand

BITMASK: Final = "bitmask"
RUN_LENGTH: Final = "run_length"
MOST_RUN_BITS: Final = 16


class Compression(Frozen, frozen=True):
    """The format in which a memory stores an operand.

    ``run_bits`` are the bits of a number of zeros that precedes each element which is not zero
    (run-length code; a run that is too long for them ends with an element that is zero). ``None``:
    a bit for each element says whether it is zero, and only the others are stored (bitmask).
    Source: Wu et al., Sparseloop, MICRO 2022; docs/cost-model.md#compressed-tensors.
    """

    operand: MemoryOperand
    run_bits: int | None = Field(default=None, ge=1, le=MOST_RUN_BITS)

    def __str__(self) -> str:
        form = BITMASK if self.run_bits is None else f"{RUN_LENGTH} {self.run_bits}"
        return f"{self.operand} {form}"
