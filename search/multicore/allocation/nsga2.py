"""NSGA-II on rows of objectives to minimize, with DEAP.

Uses only the deterministic functions of DEAP: its random operators use a generator shared by the
whole process. Source: Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II",
2002.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, Protocol, cast, final

from deap import base, tools  # type: ignore[import-untyped]

Costs = tuple[float, ...]
"""The objectives to minimize, one number each."""


def select(costs: Sequence[Costs], count: int) -> list[int]:
    """The best rows: front by front, the last front by crowding distance."""
    return [row.number for row in _DEAP.selNSGA2(_rows(costs), count)]


def non_dominated(costs: Sequence[Costs]) -> list[int]:
    """The non-dominated rows."""
    if not costs:
        return []
    if len(costs[0]) == 1:  # an empty list, which DEAP's fast sorting does not expect
        least = min(costs)
        return [number for number, row in enumerate(costs) if row == least]
    front = _DEAP.sortLogNondominated(_rows(costs), len(costs), first_front_only=True)
    return sorted(row.number for row in front)


@final
class _Row:
    """A row as DEAP expects it: with its costs in an attribute ``fitness``."""

    def __init__(self, number: int, costs: Costs) -> None:
        self.number = number
        self.fitness = _kind(len(costs))(costs)


def _rows(costs: Sequence[Costs]) -> list[_Row]:
    return [_Row(number, values) for number, values in enumerate(costs)]


@cache
def _kind(objectives: int) -> Callable[[Costs], object]:
    """DEAP's fitness class for so many objectives, all minimized."""
    return type("Costs", (base.Fitness,), {"weights": (-1.0,) * objectives})


class _Tools(Protocol):
    """The parts of DEAP in use, which has no types."""

    def selNSGA2(self, individuals: list[_Row], k: int) -> list[_Row]: ...  # noqa: N802

    def sortLogNondominated(  # noqa: N802
        self, individuals: list[_Row], k: int, first_front_only: bool
    ) -> list[_Row]: ...


_DEAP: Final = cast(_Tools, tools)
