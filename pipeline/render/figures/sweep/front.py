"""Draws the designs of a sweep by their objectives, with the Pareto front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import ceil
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    check_not_empty,
)
from nestmap.pipeline.analysis.sweep.dominated import dominated_shown
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import INK, SERIES
from nestmap.pipeline.render.figures.label_placement import Label, place_labels
from nestmap.pipeline.render.figures.matplotlib_types import Place, Plot, page_of
from nestmap.pipeline.render.figures.style import WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.sweep.objective_axes import set_x_objective, set_y_objective
from nestmap.pipeline.render.figures.text_metrics import short_name

MOST_LABELS: Final = 12
"""The largest number of designs on the front that are labelled."""

MOST_POINTS: Final = 20_000
"""The largest number of dominated designs that are drawn."""

_IN_A_ROW: Final = 3
_HEIGHT: Final = 2.9
_ALONE: Final = 4.2
_ALONG: Final = 25


@styled()
def sweep_front_figure(view: DesignsView) -> Figure:
    """The designs by two objectives, a panel for each pair, with those on the front marked.

    The front is that of all objectives together, so with three or more a design on it may be
    dominated in a panel; with two, a line connects its designs. They are labelled with their
    numbers if they are few; a label that does not fit is left out. One objective is drawn over the
    number of the design.

    Raises:
        InfeasibleError: if no design is feasible.
    """
    check_not_empty(view)
    pairs = list(combinations(view.objectives, 2))
    panels = max(1, len(pairs))
    columns, rows = min(panels, _IN_A_ROW), ceil(panels / _IN_A_ROW)
    width, height = (4.8, _ALONE) if panels == 1 else (WIDTH, _HEIGHT * rows)
    figure = new_figure(width, height)
    every = [page_of(figure).add_subplot(rows, columns, n + 1) for n in range(panels)]
    if not pairs:
        _draw_single(every[0], view)
    for axes, (first, second) in zip(every, pairs, strict=False):
        _draw_pair(axes, view, second, first)
    every[0].legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3 if panels > 1 else 2)
    set_title(figure, sweep_title(view))
    if len(pairs) == 1:
        _place_labels(figure, every[0], view)
    return figure


def sweep_title(view: DesignsView) -> str:
    """The name of the space, and how many designs are drawn."""
    without = f", {count(view.infeasible)} infeasible" if view.infeasible else ""
    designs = f"{count(len(view))} {'design' if len(view) == 1 else 'designs'}{without}"
    return f"{short_name(view.name, 42)}: {designs}"


def _draw_pair(axes: Plot, view: DesignsView, x: ObjectiveColumn, y: ObjectiveColumn) -> None:
    set_x_objective(axes, x)
    set_y_objective(axes, y)
    front = view.front_places
    draw_designs(axes, view, x.values, y.values)
    if len(view.objectives) == 2:
        axes.plot(
            x.values[front], y.values[front], color=INK, linewidth=0.9, drawstyle="steps-pre",
            zorder=3,
        )  # fmt: skip
    axes.grid(visible=True)


def _draw_single(axes: Plot, view: DesignsView) -> None:
    """One objective over the numbers of the designs."""
    set_y_objective(axes, view.objectives[0])
    axes.set_xlabel("Design")
    draw_designs(axes, view, np.array(view.numbers, float), view.objectives[0].values)
    axes.grid(visible=True)


def draw_designs(axes: Plot, view: DesignsView, x: object, y: object) -> None:
    """All designs as points: those on the front with an edge, the others light."""
    across, up = np.asarray(x, np.float64), np.asarray(y, np.float64)
    others = dominated_shown(view, MOST_POINTS)
    if len(others.places):
        marks = axes.scatter(
            across[others.places], up[others.places], s=9, facecolors=SERIES, edgecolors="none",
            linewidths=0, alpha=0.45, label=others.label, zorder=2,
        )  # fmt: skip
        marks.set_rasterized(True)
    front = view.front_places
    axes.scatter(
        across[front], up[front], s=15, facecolors="white", edgecolors=INK, linewidths=0.8,
        alpha=1.0, label=f"Pareto front ({count(len(front))})", zorder=4,
    )  # fmt: skip


def _stairs(points: Sequence[Place]) -> Iterator[Place]:
    """Points on the line of the front, which labels are to leave free."""
    for (x, y), (right, up) in pairwise(points):
        for share in np.linspace(0, 1, _ALONG).tolist():
            yield x, y + share * (up - y)
            yield x + share * (right - x), up


def _place_labels(figure: Figure, axes: Plot, view: DesignsView) -> None:
    """The numbers of the designs on the front, beside points and line, if they are few."""
    first, second = view.objectives
    points: list[Place] = list(zip(second.values.tolist(), first.values.tolist(), strict=True))
    front: list[int] = view.front_places.tolist()
    shown: list[int] = dominated_shown(view, MOST_POINTS).places.tolist()
    if len(front) <= MOST_LABELS:
        labels = [Label(*points[n], text=f"#{view.numbers[n]}") for n in front]
        line = _stairs([points[n] for n in front])
        place_labels(figure, axes, labels, [*(points[n] for n in (*shown, *front)), *line])
