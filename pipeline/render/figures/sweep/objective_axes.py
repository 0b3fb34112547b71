"""Axes of objectives: their labels, scales and numbers."""

from __future__ import annotations

from typing import Final

from matplotlib.axis import Axis
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullFormatter

from nestmap.pipeline.analysis.network.scatter import is_wide
from nestmap.pipeline.analysis.sweep.designs_view import ObjectiveColumn
from nestmap.pipeline.analysis.sweep.objective_units import labelled
from nestmap.pipeline.render.figures.matplotlib_types import Plot
from nestmap.pipeline.render.figures.text_metrics import short_name, unit_formatter

_LETTERS: Final = 26
_MANY_POWERS: Final = 1000.0


def set_x_objective(axes: Plot, column: ObjectiveColumn) -> None:
    """Makes the horizontal axis one of an objective; before anything is drawn."""
    axes.set_xscale("log" if is_wide(column.values) else "linear")
    axes.set_xlabel(short_name(labelled(column).label, _LETTERS))
    _format_numbers(axes.xaxis, column)


def set_y_objective(axes: Plot, column: ObjectiveColumn) -> None:
    """Makes the vertical axis one of an objective; before anything is drawn."""
    axes.set_yscale("log" if is_wide(column.values) else "linear")
    axes.set_ylabel(short_name(labelled(column).label, _LETTERS))
    _format_numbers(axes.yaxis, column)


def _format_numbers(axis: Axis, column: ObjectiveColumn) -> None:
    """Few numbers, in the unit."""
    axis.set_major_locator(_locator(column))
    axis.set_major_formatter(unit_formatter(labelled(column).unit))
    axis.set_minor_formatter(NullFormatter())


def _locator(column: ObjectiveColumn) -> Locator:
    """Powers of ten, with their double and fivefold if they are few, or equal distances."""
    if not is_wide(column.values):
        return MaxNLocator(nbins=5)
    if column.values.max() / column.values.min() > _MANY_POWERS:
        return LogLocator(numticks=6)
    return LogLocator(subs=(1, 2, 5), numticks=12)
