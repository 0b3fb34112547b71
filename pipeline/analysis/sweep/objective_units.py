"""Names and units of the objectives of a sweep."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from nestmap.model.design_space.objective import DesignObjective, ObjectiveFormula, SweepObjective
from nestmap.pipeline.analysis.sweep.designs_view import ObjectiveColumn
from nestmap.pipeline.format.numbers import (
    TIMES,
    Unit,
    area_unit,
    cycles_unit,
    energy_unit,
    power_unit,
)

_NAMES: Final = {
    DesignObjective.ENERGY: "Energy",
    DesignObjective.LATENCY: "Latency",
    DesignObjective.EDP: "EDP",
    DesignObjective.AREA: "Area",
}


def objective_title(objective: SweepObjective) -> str:
    """The name of an objective, as in tables."""
    return str(objective) if isinstance(objective, ObjectiveFormula) else _NAMES[objective]


class Labelled(NamedTuple):
    """The label of an axis, and the unit of its numbers."""

    label: str
    unit: Unit


def labelled(column: ObjectiveColumn) -> Labelled:
    """The label and the unit for the values of an objective.

    Expressions have none, but a power of ten if they are large or small.
    """
    name, largest = objective_title(column.objective), float(column.values.max())
    match column.objective:
        case DesignObjective.ENERGY:
            unit = energy_unit(largest)
        case DesignObjective.LATENCY:
            unit = cycles_unit(largest)
        case DesignObjective.EDP:
            energy = energy_unit(largest)
            unit = Unit(energy.divisor, f"{energy.name} {TIMES} cycles")
        case DesignObjective.AREA:
            unit = Unit(1.0, area_unit(column.area_unit))
        case ObjectiveFormula():
            unit = power_unit(float(np.abs(column.values).max()))
            if not unit.name:
                return Labelled(name, unit)
    return Labelled(f"{name} ({unit.name})", unit)
