"""The result of a sweep: the figures of every design, the front, the best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from nestmap.model import Frozen, InfeasibleError, Objective
from nestmap.model.design_space.objective import SweepObjective
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import Description, DesignSpace
from nestmap.model.errors import suggestion
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES
from nestmap.model.units import Count
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    ParameterColumn,
    parameter_column,
)
from nestmap.pipeline.sweep.result.summary import Front, Reason, SweepSummary, figures_of
from nestmap.pipeline.sweep.space.base_format import is_multicore
from nestmap.pipeline.sweep.space.swept_space import design_yaml

if TYPE_CHECKING:
    from nestmap.store import Relation

# --- the designs of a sweep as columns, to be drawn ---


def view_of(
    space: DesignSpace,
    base: Description,
    designs: Sequence[DesignResult],
    front: Sequence[DesignResult],
) -> DesignsView:
    """The feasible designs, with the free parameters that differ between them."""
    feasible = [x for x in designs if x.is_feasible]
    best = {(x.number, x.mapped_for) for x in front}
    return DesignsView(
        name=space.name,
        numbers=tuple(x.number for x in feasible),
        mapped_for=tuple(x.mapped_for for x in feasible),
        parameters=tuple(_parameters(space, feasible)),
        objectives=tuple(
            ObjectiveColumn(
                x,
                np.array([design.figure(x) for design in feasible], np.float64),
                space.limits_of(x),
                base.area_unit,
            )
            for x in space.objectives
        ),
        on_front=np.array([(x.number, x.mapped_for) in best for x in feasible], np.bool_),
        infeasible=len({x.number for x in designs} - {x.number for x in feasible}),
    )


def _parameters(space: DesignSpace, designs: Sequence[DesignResult]) -> Iterator[ParameterColumn]:
    free = {x.name for x in space.free}
    for place, parameter in enumerate(space.parameters):
        if parameter.name in free:
            column = parameter_column(parameter.name, [x.parameters[place][1] for x in designs])
            if len(column.values) > 1:
                yield column


# --- the result of a sweep: the figures of every design, the front, the best one ---


class SweepResult(Frozen, frozen=True):
    """The designs of a sweep, in the order in which they were chosen.

    ``mapped_for`` is what the mapping of each layer, or the schedule of each network, minimizes in
    turn: each design has a point for each of these, in their order. ``rejected`` counts the designs
    that were tried and do not meet the constraints; ``base`` is the description of the base
    accelerator; ``is_reference``: the figures are in the reference's counting.
    """

    space: DesignSpace
    base: Description
    mapped_for: tuple[Objective, ...]
    points: Annotated[tuple[DesignResult, ...], Field(min_length=1)]
    rejected: Count = 0
    static_energy: bool = False
    is_reference: bool = False

    def __repr__(self) -> str:
        count = len(self.points) // len(self.mapped_for)
        designs = f"{count} designs, {len({x.number for x in self.front})} on the front"
        return f"<{type(self).__name__}: {self.space.name}, {designs}>"

    __str__ = __repr__

    @cached_property
    def front(self) -> tuple[DesignResult, ...]:
        """The points that no other one dominates in the objectives of the space.

        Ascending by the objectives. Of points with equal figures, the first.
        """
        front = Front()
        for place, point in enumerate(self.points):
            front.add(figures_of(point, self.space.objectives), place)
        return tuple(self.points[place] for place in front.places)

    @property
    def infeasible(self) -> tuple[DesignResult, ...]:
        """The points without figures."""
        return tuple(x for x in self.points if not x.is_feasible)

    def best(self, objective: SweepObjective | str) -> DesignResult:
        """The point with the lowest value of an objective; of equal ones, one on the front.

        Args:
            objective: an objective, or the name of one of the space or of a quantity.

        Raises:
            InfeasibleError: where no design is feasible.
            ValueError: where there is no such objective.
        """
        if isinstance(objective, str):
            objective = self._objective(objective)
        front = {(x.number, x.mapped_for) for x in self.front}
        found = [(value, (x.number, x.mapped_for) not in front, n)
                 for n, x in enumerate(self.points)
                 if (value := x.figure(objective)) is not None]  # fmt: skip
        if not found:
            first = self.points[0]
            raise InfeasibleError(f"no design of {self.space.name} is feasible; {first.reason}")
        return self.points[min(found)[-1]]

    def _objective(self, name: str) -> SweepObjective:
        """The quantity or the objective of the space with a name."""
        known: dict[str, SweepObjective] = {}
        for objective in (*DESIGN_OBJECTIVES, *self.space.objectives):
            known[str(objective)] = objective
        if name not in known:
            raise ValueError(f"{name!r}; expected {suggestion(name, known)}")
        return known[name]

    def design(self, number: int, mapped_for: Objective | None = None) -> DesignResult:
        """The design with a number, mapped for one of the objectives (default: the first).

        Raises:
            KeyError: where the sweep has none with that number.
        """
        wanted = mapped_for or self.mapped_for[0]
        asked = (x for x in self.points if x.number == number and x.mapped_for is wanted)
        found = next(asked, None)
        if found is None:
            raise KeyError(number)
        return found

    def accelerator_yaml(self, design: DesignResult) -> str:
        """The description of a design's accelerator as the text of a YAML file.

        Without a mapping, ``nestmap explore`` finds the same figures on it; on several cores,
        ``nestmap stream`` with the plan of the sweep.
        """
        return design_yaml(
            self.space,
            self.base,
            design,
            static_energy=self.static_energy,
            is_reference=self.is_reference,
        )

    @cached_property
    def view(self) -> DesignsView:
        """The feasible designs as columns, which the figures of ``render.figures`` draw."""
        return view_of(self.space, self.base, self.points, self.front)

    @property
    def summary(self) -> SweepSummary:
        """The front, and what is to be said of the other designs."""
        reasons: dict[str, dict[int, None]] = {}
        for point in self.infeasible:
            reasons.setdefault(point.reason or "", {})[point.number] = None
        gaps = {x.number: x.gap or 0.0 for x in sorted(self.points, key=lambda x: x.gap or 0.0)
                if x.is_feasible}  # fmt: skip
        is_feasible = len(self.infeasible) < len(self.points)
        return SweepSummary(
            space=self.space,
            area_unit=self.base.area_unit,
            mapped_for=self.mapped_for,
            is_scheduled=is_multicore(self.base.values),
            designs=len(self.points) // len(self.mapped_for),
            rejected=self.rejected,
            front=self.front,
            best={x: self.best(x) for x in self.space.objectives} if is_feasible else {},
            reasons=tuple(Reason(x, min(some), len(some)) for x, some in reasons.items()),
            unproven=sum(gap > 0 for gap in gaps.values()),
            gap=max(gaps.values(), default=0.0),
            columns=lambda: self.view,
        )

    def relation(self) -> Relation:
        """The points as a table: parameters, figures, whether they are on the front, reasons."""
        # pyarrow takes long to import
        from nestmap.pipeline.sweep.result.result_relation import relation_of  # noqa: PLC0415

        return relation_of(self.space, self.points, self.front)
