"""Draws the designs of a sweep as lines over parallel axes of parameters and objectives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    Floats,
    check_not_empty,
)
from nestmap.pipeline.analysis.sweep.dominated import dominated_shown
from nestmap.pipeline.analysis.sweep.parallel_axes import ParallelAxis, parallel_axes
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import INK, MUTED, SERIES, ramp_color
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import SMALL, WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.sweep.front import sweep_title
from nestmap.pipeline.render.figures.text_metrics import short_name

MOST_LINES: Final = 2_000
"""The largest number of dominated designs that are drawn."""

_HEIGHT: Final = 3.6
_WIDEST: Final = 1.3
"""The distance of axes (inches) where there are many."""

_MANY: Final = 200

_LETTERS: Final = 26
_CUT: Final = 18
"""The length of labels that have more letters than that: two of them fit side by side."""


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
    every = parallel_axes(view)
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


def _draw_axis(axes: Plot, place: int, axis: ParallelAxis) -> None:
    axes.plot([place, place], [0, 1], color=MUTED, linewidth=0.7, zorder=3)
    for height, value in axis.ticks:
        text = short_name(value, 14)
        axes.plot([place - 0.02, place], [height, height], color=MUTED, linewidth=0.7, zorder=3)
        label = axes.text(
            place - 0.04, height, text, ha="right", va="center", fontsize=SMALL, color=INK, zorder=4
        )
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6})
    name = short_name(axis.label, _LETTERS if len(axis.label) <= _LETTERS else _CUT)
    axes.text(place, -0.07, name, ha="center", va="top", color=INK)
