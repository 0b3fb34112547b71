"""How much of a sweep runs: all in ``make stress``, a representative part in ``make test``."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

Case = TypeVar("Case")

STRESS: Final = "NESTMAP_STRESS" in os.environ
"""Whether this is ``make stress``."""

_PART: Final = 6
_FEWEST: Final = 5


def some_of(examples: int) -> int:
    """How many examples Hypothesis draws: all in ``make stress``, otherwise a sixth of them.

    ``make test`` draws the same ones each time.
    """
    return examples if STRESS else min(examples, max(_FEWEST, examples // _PART))


def every(step: int, cases: Sequence[Case]) -> Sequence[Case]:
    """All cases in ``make stress``; otherwise the first, each so many further on, and the last."""
    return cases if STRESS else (*cases[: len(cases) - 1 : step], cases[-1])
