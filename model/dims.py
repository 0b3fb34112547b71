"""The vocabulary of loop nests: dimensions, operands, movements, loops."""

from enum import IntEnum, StrEnum
from typing import Annotated

from pydantic import StringConstraints

from nestmap.model.base import Frozen
from nestmap.model.units import Size

Dimension = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$", max_length=32)]
"""A loop dimension of a layer, in capitals: ``K``, ``OX``, ``D0``."""

_NAME = StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=32)

ArrayDimension = Annotated[str, _NAME]
"""A dimension of the operational array: ``D1``."""

LayerOperand = Annotated[str, _NAME]
"""An operand as the layer names it: ``O`` (the output), ``W``, ``I``."""

MemoryOperand = Annotated[str, _NAME]
"""An operand as the memories name it: ``O`` (the output), ``I1``, ``I2``."""

OUTPUT: MemoryOperand = "O"
"""The memory operand that holds outputs; all others hold inputs."""


class Loop(Frozen, frozen=True):
    """One loop: a dimension and how often it iterates."""

    dimension: Dimension
    size: Size

    def __str__(self) -> str:
        return f"{self.dimension} {self.size}"


class PaddedLoop(Frozen, frozen=True):
    """A loop that iterates ``padded`` times for the ``size`` iterations that are needed."""

    dimension: Dimension
    size: Size
    padded: Size

    def __str__(self) -> str:
        return f"{self.dimension} {self.size} -> {self.padded}"


class Movement(StrEnum):
    """The four ways in which data passes through a memory level (the level's own point of view)."""

    RD_TO_LOW = "tl"
    """Read here, written to the level below (towards the array)."""
    WR_BY_LOW = "fl"
    """Written here by the level below."""
    RD_TO_HIGH = "th"
    """Read here, written to the level above."""
    WR_BY_HIGH = "fh"
    """Written here by the level above."""

    @property
    def reads(self) -> bool:
        """Whether the movement reads this level (otherwise it writes it)."""
        return self in (Movement.RD_TO_LOW, Movement.RD_TO_HIGH)


MOVEMENTS: tuple[Movement, ...] = tuple(Movement)
"""The movements in the order in which arrays hold them."""


class Relevance(IntEnum):
    """How a loop dimension relates to an operand."""

    NONE = 0
    """The dimension has size 1 and touches nothing."""
    IRRELEVANT = 1
    """The dimension does not index the operand."""
    RELEVANT = 2
    """The dimension indexes the operand by itself."""
    PARTIALLY_RELEVANT = 3
    """The dimension occurs in an affine index together with another one."""
