"""The designs of a sweep as columns, to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import DesignSpace
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    ParameterColumn,
    parameter_column,
)


def view_of(
    space: DesignSpace, designs: Sequence[DesignResult], front: Sequence[DesignResult]
) -> DesignsView:
    """The feasible designs, with the free parameters that differ between them."""
    feasible = [x for x in designs if x.is_feasible]
    best = {x.number for x in front}
    return DesignsView(
        name=space.name,
        numbers=tuple(x.number for x in feasible),
        parameters=tuple(_parameters(space, feasible)),
        objectives=tuple(
            ObjectiveColumn(x, np.array([design.figure(x) for design in feasible], np.float64))
            for x in space.objectives
        ),
        on_front=np.array([x.number in best for x in feasible], np.bool_),
        infeasible=len(designs) - len(feasible),
    )


def _parameters(space: DesignSpace, designs: Sequence[DesignResult]) -> Iterator[ParameterColumn]:
    free = {x.name for x in space.free}
    for place, parameter in enumerate(space.parameters):
        if parameter.name in free:
            column = parameter_column(parameter.name, [x.parameters[place][1] for x in designs])
            if len(column.values) > 1:
                yield column
