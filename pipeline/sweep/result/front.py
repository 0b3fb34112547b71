"""The Pareto front of designs, found while they are explored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, final

from nestmap.model.design_space.objective import SweepObjective
from nestmap.model.design_space.result import DesignResult

Figures: TypeAlias = tuple[float, ...]
"""The values of objectives."""


@final
class Front:
    """Non-dominated figures, with the place of each; lower figures are better."""

    def __init__(self) -> None:
        self._found: dict[Figures, int] = {}

    def __len__(self) -> int:
        return len(self._found)

    @property
    def places(self) -> Iterable[int]:
        """The places of the figures, in ascending order of these."""
        return [place for _, place in sorted(self._found.items())]

    def add(self, figures: Figures | None, place: int) -> None:
        """Adds figures unless others are as good in everything; removes those they dominate."""
        if figures is None or any(_covers(known, figures) for known in self._found):
            return
        kept = {x: n for x, n in self._found.items() if not _covers(figures, x)}
        self._found = {**kept, figures: place}


def _covers(one: Figures, other: Figures) -> bool:
    return all(x <= y for x, y in zip(one, other, strict=True))


def figures_of(design: DesignResult, objectives: tuple[SweepObjective, ...]) -> Figures | None:
    """The objectives of a design; ``None`` if it is infeasible."""
    figures = tuple(x for o in objectives if (x := design.figure(o)) is not None)
    return figures if len(figures) == len(objectives) else None
