"""Draws the designs of a sweep as lines over parallel axes of parameters and objectives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from nestmap.pipeline.analysis.network.scatter import is_wide
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    Floats,
    ObjectiveColumn,
    ParameterColumn,
    check_not_empty,
)
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import INK, MUTED, SERIES, ramp_color
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import SMALL, WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.sweep.front import dominated_shown, sweep_title
from nestmap.pipeline.render.figures.sweep.objective_axes import labelled
from nestmap.pipeline.render.figures.sweep.parameters import shown_ticks
from nestmap.pipeline.render.figures.text_metrics import short_name

MOST_LINES: Final = 2_000
"""The largest number of dominated designs that are drawn."""

_HEIGHT: Final = 3.6
_WIDEST: Final = 1.3
"""The distance of axes (inches) where there are many."""

_TICKS: Final = 5
_LETTERS: Final = 60
_MANY: Final = 200


class _Axis(NamedTuple):
    """An axis: its label, the heights of the designs (0 to 1), and texts at heights."""

    label: str
    heights: Floats
    ticks: tuple[tuple[float, str], ...]


@styled()
def sweep_parallel_figure(view: DesignsView) -> Figure:
    """A line for each design over axes of the parameters, then of the objectives.

    Lines of the front are dark blue for the lowest value of the first objective, and light for the
    highest; the others are grey. Values of parameters stand at equal distances in their order,
    those of objectives on a linear scale, or a logarithmic one if they differ much.

    Raises:
        InfeasibleError: if no design is feasible.
    """
    check_not_empty(view)
    every = [*map(_parameter_axis, view.parameters), *map(_objective_axis, view.objectives)]
    figure = new_figure(max(WIDTH, _WIDEST * len(every)), _HEIGHT)
    axes = page_of(figure).add_subplot()
    heights = np.stack([axis.heights for axis in every], axis=1)
    _draw_lines(axes, view, heights)
    for place, axis in enumerate(every):
        _draw_axis(axes, place, axis)
    axes.set_xlim(-0.3, len(every) - 0.4)
    axes.set_ylim(-0.16, 1.04)
    axes.set_axis_off()
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    set_title(figure, sweep_title(view))
    return figure


def _parameter_axis(parameter: ParameterColumn) -> _Axis:
    last = max(1, len(parameter.values) - 1)
    # a single value stands in the middle
    first = 0.0 if len(parameter.values) > 1 else 0.5
    ticks = shown_ticks(parameter, _LETTERS)
    texts = tuple((first + x / last, short_name(parameter.labels[x], 14)) for x in ticks)
    return _Axis(short_name(parameter.name, 16), first + parameter.places / last, texts)


def _objective_axis(column: ObjectiveColumn) -> _Axis:
    label, unit = labelled(column)
    is_logarithmic = is_wide(column.values)
    values = np.log(column.values) if is_logarithmic else column.values
    low, high = float(values.min()), float(values.max())
    if low == high:
        return _Axis(label, np.full(len(values), 0.5), ((0.5, unit.number(column.values[0])),))
    heights = (values - low) / (high - low)
    places = np.linspace(0, 1, _TICKS)
    at = low + places * (high - low)
    numbers = np.exp(at) if is_logarithmic else at
    texts = (f"{float(x) / unit.divisor:,.3g}" for x in numbers)
    return _Axis(label, heights, tuple(zip(places.tolist(), texts, strict=True)))


def _draw_lines(axes: Plot, view: DesignsView, heights: Floats) -> None:
    """The designs that are dominated below, those of the front above."""
    places, label = dominated_shown(view, MOST_LINES)
    if len(places):
        faint = 0.5 if len(places) < _MANY else 0.15
        lines = LineCollection(
            list(_lines(heights[places])), colors=SERIES, linewidths=0.5, alpha=faint, zorder=1
        )
        lines.set_rasterized(True)
        axes.add_collection(lines)
        axes.plot([], [], color=SERIES, linewidth=0.5, label=label)
    front = view.front_places
    for rank, place in enumerate(front.tolist()):
        color = ramp_color(len(front) - 1 - rank, len(front))
        axes.plot(
            range(heights.shape[1]), heights[place], color=color, linewidth=1.4, zorder=2,
            label=f"Pareto front ({count(len(front))})" if rank == 0 else None,
        )  # fmt: skip


def _lines(heights: Floats) -> Iterator[Floats]:
    across = np.arange(heights.shape[1], dtype=np.float64)
    for row in heights:
        yield np.stack([across, row], axis=1)


def _draw_axis(axes: Plot, place: int, axis: _Axis) -> None:
    axes.plot([place, place], [0, 1], color=MUTED, linewidth=0.7, zorder=3)
    for height, text in axis.ticks:
        axes.plot([place - 0.02, place], [height, height], color=MUTED, linewidth=0.7, zorder=3)
        label = axes.text(
            place - 0.04, height, text, ha="right", va="center", fontsize=SMALL, color=INK, zorder=4
        )
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6})
    axes.text(place, -0.07, axis.label, ha="center", va="top", color=INK)
