"""Axes of objectives: their labels, scales and numbers."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from nestmap.pipeline.analysis.network.scatter import is_wide
from nestmap.pipeline.analysis.sweep.designs_view import ObjectiveColumn
from nestmap.pipeline.analysis.sweep.objective_units import labelled
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.render.figures.matplotlib_types import Plot
from nestmap.pipeline.render.figures.text_metrics import unit_formatter


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
