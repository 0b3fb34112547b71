"""A sweep in brief: what tables, figures and pages show of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

from nestmap.model import Objective
from nestmap.model.design_space.objective import SweepObjective
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import DesignSpace
from nestmap.model.units import AreaUnit
from nestmap.pipeline.analysis.sweep.designs_view import DesignsView


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
