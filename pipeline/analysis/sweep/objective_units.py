"""Names and units of the objectives of a sweep."""

from __future__ import annotations

from typing import Final, NamedTuple

from nestmap.model.design_space.space import DesignObjective
from nestmap.pipeline.analysis.sweep.designs_view import ObjectiveColumn
from nestmap.pipeline.format.numbers import TIMES, Unit, cycles_unit, energy_unit

NAMES: Final = {
    DesignObjective.ENERGY: "Energy",
    DesignObjective.LATENCY: "Latency",
    DesignObjective.EDP: "EDP",
    DesignObjective.AREA: "Area",
}
"""The names of objectives, as in tables."""


class Labelled(NamedTuple):
    """The label of an axis, and the unit of its numbers."""

    label: str
    unit: Unit


def labelled(column: ObjectiveColumn) -> Labelled:
    """The label and the unit for the values of an objective; areas have the description's unit."""
    name, largest = NAMES[column.objective], float(column.values.max())
    match column.objective:
        case DesignObjective.ENERGY:
            unit = energy_unit(largest)
        case DesignObjective.LATENCY:
            unit = cycles_unit(largest)
        case DesignObjective.EDP:
            energy = energy_unit(largest)
            unit = Unit(energy.divisor, f"{energy.name} {TIMES} cycles")
        case DesignObjective.AREA:
            return Labelled(name, Unit(1.0, ""))
    return Labelled(f"{name} ({unit.name})", unit)
