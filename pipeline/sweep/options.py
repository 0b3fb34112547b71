"""The options of a sweep: name, type, default and help of each, for Python and command line.

Nothing heavy is imported here, so that ``nestmap sweep --help`` is fast.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, final

from nestmap.pipeline.util.option import Option

StrategyName = Literal["grid", "random"]


class Strategy(StrEnum):
    """Which designs of a space a sweep explores."""

    GRID = "grid"
    """All of them."""
    RANDOM = "random"
    """Some in random order, each once."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOptions:
    """Which designs of a space a sweep explores."""

    GROUP: ClassVar[str] = "Designs"

    strategy: Annotated[
        StrategyName | StrEnum,
        Option(help="Explore all designs (grid), or --designs of them at random (random)."),
    ] = "grid"
    designs: Annotated[
        int | None,
        Option(
            help="How many designs --strategy random explores, each once.", metavar="N", minimum=1
        ),
    ] = None
    design_seed: Annotated[
        int, Option(help="Random seed for --strategy random.", metavar="N", minimum=0)
    ] = 0
