"""Draws the objectives of designs over each parameter of a sweep."""

from __future__ import annotations

from math import ceil
from typing import Final

from matplotlib.figure import Figure

from nestmap.model import InputError
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    ParameterColumn,
    check_not_empty,
)
from nestmap.pipeline.analysis.sweep.parallel_axes import shown_ticks
from nestmap.pipeline.format.palette import INK
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.sweep.front import draw_designs, sweep_title
from nestmap.pipeline.render.figures.sweep.objective_axes import set_y_objective
from nestmap.pipeline.render.figures.text_metrics import short_name

_IN_A_ROW: Final = 4
_HEIGHT: Final = 1.75
_LEGEND: Final = 0.25
_LETTERS: Final = 22
"""How many letters the labels of a panel have room for."""


@styled()
def sweep_parameters_figure(view: DesignsView) -> Figure:
    """Each objective over each parameter: a row of panels for an objective, a line of the best.

    Values of a parameter stand at equal distances in their order. The line connects the lowest
    value of the objective for each of them.

    Raises:
        InfeasibleError: if no design is feasible.
        InputError: if no parameter differs between the designs.
    """
    check_not_empty(view)
    _check_varies(view)
    columns = min(_IN_A_ROW, len(view.parameters))
    lines = ceil(len(view.parameters) / columns)
    rows = lines * len(view.objectives)
    height = _HEIGHT * rows
    figure = new_figure(WIDTH if columns > 1 else 4.2, height + _LEGEND + 0.4)
    head, body = page_of(figure).subfigures(2, 1, height_ratios=(_LEGEND, height))
    first: Plot | None = None
    for n, objective in enumerate(view.objectives):
        for place, parameter in enumerate(view.parameters):
            cell = n * lines * columns + place + 1
            axes = body.add_subplot(rows, columns, cell)
            _draw_panel(axes, view, parameter, objective)
            first = first or axes
            if place % columns:
                axes.set_ylabel("")
                axes.tick_params("y", length=3, labelleft=False)
    if first is not None:
        _add_legend(head.add_subplot(), first)
    set_title(figure, sweep_title(view))
    return figure


def _add_legend(axes: Plot, panel: Plot) -> None:
    """The legend of the panels, over all of them."""
    axes.set_axis_off()
    handles, _ = panel.get_legend_handles_labels()
    axes.legend(loc="center left", bbox_to_anchor=(0, 0.5), handles=handles, ncols=3)


def _check_varies(view: DesignsView) -> None:
    if not view.parameters:
        found = "no parameter that differs between the designs"
        raise InputError(f"parameters of {view.name}", found, "one or more")


def _draw_panel(
    axes: Plot, view: DesignsView, parameter: ParameterColumn, objective: ObjectiveColumn
) -> None:
    set_y_objective(axes, objective)
    axes.set_xlabel(short_name(parameter.name, 20))
    draw_designs(axes, view, parameter.places, objective.values)
    values = range(len(parameter.values))
    lowest = [float(objective.values[parameter.places == x].min()) for x in values]
    axes.plot(list(values), lowest, color=INK, linewidth=0.9, label="lowest", zorder=3)
    axes.set_xlim(-0.5, len(parameter.values) - 0.5)
    letters = _LETTERS * _IN_A_ROW // min(_IN_A_ROW, len(view.parameters))
    ticks = shown_ticks(parameter, letters)
    longest = max(4, letters // len(ticks))
    axes.set_xticks(ticks, [short_name(parameter.labels[x], longest) for x in ticks])
    axes.grid(visible=True, axis="y")
