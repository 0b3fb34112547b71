"""Axes of objectives: their names, units and scales."""

from __future__ import annotations

from typing import Final, NamedTuple

from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from nestmap.model.design_space.space import DesignObjective
from nestmap.pipeline.analysis.network.scatter import is_wide
from nestmap.pipeline.analysis.sweep.designs_view import ObjectiveColumn
from nestmap.pipeline.format.numbers import TIMES, Unit, cycles_unit, energy_unit
from nestmap.pipeline.render.figures.matplotlib_types import Plot
from nestmap.pipeline.render.figures.text_metrics import unit_formatter

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


def set_x_objective(axes: Plot, column: ObjectiveColumn) -> None:
    """Makes the horizontal axis one of an objective; before anything is drawn."""
    axes.set_xscale("log" if is_wide(column.values) else "linear")
    axes.set_xlabel(labelled(column).label)
    format_numbers(axes.xaxis, labelled(column).unit)


def set_y_objective(axes: Plot, column: ObjectiveColumn) -> None:
    """Makes the vertical axis one of an objective; before anything is drawn."""
    axes.set_yscale("log" if is_wide(column.values) else "linear")
    axes.set_ylabel(labelled(column).label)
    format_numbers(axes.yaxis, labelled(column).unit)


def format_numbers(axis: Axis, unit: Unit) -> None:
    """Few numbers, in the unit."""
    is_logarithmic = axis.get_scale() == "log"
    axis.set_major_locator(
        LogLocator(subs=(1, 2, 5), numticks=12) if is_logarithmic else MaxNLocator(nbins=5)
    )
    axis.set_major_formatter(unit_formatter(unit))
    axis.set_minor_formatter(NullFormatter())
