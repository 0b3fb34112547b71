"""A sweep in brief, and its front: what tables, figures and pages show of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias, final

from nestmap.model import Objective
from nestmap.model.design_space.objective import SweepObjective
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import DesignSpace
from nestmap.model.units import AreaUnit
from nestmap.pipeline.analysis.sweep.designs_view import DesignsView

# --- the Pareto front of designs, found while they are explored ---

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


class Reason(NamedTuple):
    """Why designs have no figures: the number of the first one, and how many there are."""

    text: str
    first: int
    designs: int


@final
@dataclass(frozen=True)
class SweepSummary:
    """The front of a sweep, and what is to be said of its other designs.

    ``mapped_for`` is what the mapping of each layer, or the schedule of each network on several
    cores (``is_scheduled``), minimizes in turn; ``designs`` and ``rejected`` count those that are
    explored and those that do not meet the constraints; ``best`` has the point with the lowest
    value of each objective, unless none is feasible. ``unproven`` counts the designs of which a
    network has a gap, ``gap`` is the largest of all. ``columns`` makes the view.
    """

    space: DesignSpace
    area_unit: AreaUnit | None
    mapped_for: tuple[Objective, ...]
    is_scheduled: bool
    designs: int
    rejected: int
    front: tuple[DesignResult, ...]
    best: Mapping[SweepObjective, DesignResult]
    reasons: tuple[Reason, ...]
    unproven: int
    gap: float
    columns: Callable[[], DesignsView]

    @property
    def infeasible(self) -> int:
        """The number of designs without figures."""
        return sum(x.designs for x in self.reasons)

    @cached_property
    def view(self) -> DesignsView:
        """The feasible designs as columns, which figures and charts draw."""
        return self.columns()
