"""What each parameter of a sweep is worth: Optuna's importances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from nestmap.model import InputError
from nestmap.model.design_space.objective import SweepObjective
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    ParameterColumn,
    Places,
    check_not_empty,
)
from nestmap.pipeline.util.extras import check_installed
from nestmap.pipeline.util.quiet_optuna import quiet_optuna

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

FEWEST: Final = 20
"""The smallest number of designs for which importances mean something."""

MOST: Final = 4_000
"""The largest number of designs that Optuna gets; of more, some at equal distances."""

_SHARE: Final = 0.1
_FEWEST_BEST: Final = 5
"""Optuna advises at least five designs among the best."""


class Importance(NamedTuple):
    """How much each parameter decides whether a design is among the best by an objective.

    ``shares`` are those of the parameters, and add up to 1; ``best`` is the share of the designs
    that count as the best. ``None`` for an objective that is the same for all designs.
    """

    objective: SweepObjective
    shares: tuple[float, ...] | None
    best: float


def check_importances(view: DesignsView) -> None:
    """Checks that Optuna is installed, and that there are designs enough.

    Raises:
        InputError: if it is not, and the message says how to install it; if there are fewer than
            :data:`FEWEST` feasible designs, or no parameter differs between them.
    """
    where = f"importances of the parameters of {view.name}"
    check_installed(where, ("optuna",), "optuna")
    if not view.parameters:
        raise InputError(where, "no parameter that differs between the designs", "one or more")
    if view.designs < FEWEST:
        raise InputError(where, f"{view.designs:,} feasible designs", f"{FEWEST} or more")


def importances(view: DesignsView) -> tuple[Importance, ...]:
    """The importance of each parameter for each objective, by PED-ANOVA.

    A parameter is important if its values among the best designs are distributed otherwise than
    among all (Watanabe et al., PED-ANOVA, IJCAI 2023). The best are a tenth of the designs, or
    five. Equal designs give equal numbers.

    Raises:
        InputError: as :func:`check_importances`.
        InfeasibleError: if no design is feasible.
    """
    check_not_empty(view)
    check_importances(view)
    best = max(_SHARE, _FEWEST_BEST / view.designs)
    return tuple(
        _importance(view, column, _shown(_lowest(view, column)), best) for column in view.objectives
    )


def _lowest(view: DesignsView, column: ObjectiveColumn) -> Places:
    """The row of each design that is lowest in an objective, in the order of the designs."""
    order: list[int] = np.argsort(column.values, kind="stable").tolist()
    found = {view.numbers[n]: n for n in reversed(order)}
    return np.array(sorted(found.values()), np.intp)


def _shown(places: Places) -> Places:
    """All places, or of more than :data:`MOST` some at equal distances."""
    return places[np.linspace(0, len(places) - 1, min(MOST, len(places))).astype(np.intp)]


def _importance(
    view: DesignsView, column: ObjectiveColumn, places: Places, best: float
) -> Importance:
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances  # noqa: PLC0415
    from optuna.study import create_study  # noqa: PLC0415 (Optuna is optional and takes long to import)
    from optuna.trial import create_trial  # noqa: PLC0415

    if column.values.min() == column.values.max():
        return Importance(column.objective, None, best)
    distributions = {x.name: _distribution(x) for x in view.parameters}
    with quiet_optuna():
        study = create_study(direction="minimize")
        study.add_trials(
            create_trial(
                params={x.name: int(x.places[n]) for x in view.parameters},
                distributions=distributions,
                value=float(column.values[n]),
            )
            for n in places.tolist()
        )
        found = get_param_importances(
            study, evaluator=PedAnovaImportanceEvaluator(target_quantile=best)
        )
    return Importance(column.objective, tuple(found[x.name] for x in view.parameters), best)


def _distribution(parameter: ParameterColumn) -> BaseDistribution:
    """The places of values: near to each other if they are numbers, else unrelated."""
    from optuna.distributions import CategoricalDistribution, IntDistribution  # noqa: PLC0415

    count = len(parameter.values)
    if parameter.is_ordered:
        return IntDistribution(0, count - 1)
    return CategoricalDistribution(tuple(range(count)))
