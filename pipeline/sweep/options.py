"""The options of a sweep: name, type, default and help of each, for Python and command line.

Nothing heavy is imported here, so that ``nestmap sweep --help`` is fast.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, final

from nestmap.pipeline.util.option import Option

StrategyName = Literal["grid", "random", "nsga2", "tpe"]


class Strategy(StrEnum):
    """Which designs of a space a sweep explores."""

    GRID = "grid"
    """All of them."""
    RANDOM = "random"
    """Some in random order, each once."""
    NSGA2 = "nsga2"
    """Bred from the best so far, by Optuna's NSGA-II."""
    TPE = "tpe"
    """Near the best so far, by Optuna's tree-structured Parzen estimator."""


RunsName = Literal["front", "all", "none"]


class RecordedRuns(StrEnum):
    """Of which designs a sweep with a store records runs, with their layers and mappings."""

    FRONT = "front"
    """Those on the front, at the end."""
    ALL = "all"
    """All, each as it is explored."""
    NONE = "none"
    """None."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOptions:
    """Which designs of a space a sweep explores."""

    GROUP: ClassVar[str] = "Designs"

    strategy: Annotated[
        StrategyName | StrEnum,
        Option(
            help="Explore all designs (grid), or --designs of them: at random (random), or such "
            "that the front gets better, by the samplers NSGA-II (nsga2) or TPE (tpe) of Optuna."
        ),
    ] = "grid"
    designs: Annotated[
        int | None,
        Option(help="Number of designs to explore (default: all).", metavar="N", minimum=1),
    ] = None
    design_seed: Annotated[
        int, Option(help="Random seed that determines which designs.", metavar="N", minimum=0)
    ] = 0
