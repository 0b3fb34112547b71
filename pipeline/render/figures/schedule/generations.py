"""Draws a search for allocations: all individuals, and the Pareto front by generation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nestmap.model.multicore.population import Generation, Individual
from nestmap.pipeline.analysis.schedule.search_progress import (
    best_by_generation,
    front_view,
    staircase,
)
from nestmap.pipeline.analysis.schedule.tables import FrontView
from nestmap.pipeline.format.numbers import PERCENT, count, cycles_unit, energy_unit
from nestmap.pipeline.format.palette import INK, MUTED, SERIES
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.scatter import label_costs, scale_costs
from nestmap.pipeline.render.figures.style import WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name, unit_formatter

_FRONTS: Final = 4
"""The number of fronts drawn: the first, the last, and some between."""

_SHADES: Final = ("#cccccc", "#9aa8b5", SERIES)
_LINES: Final = (("latency", INK, "-"), ("energy", MUTED, "--"))


@styled()
def front_figure(
    generations: Iterable[Generation], title: str, chosen: Individual | None = None
) -> Figure:
    """Energy and latency of all allocations that a search evaluated, and the progress of the front.

    Points are the individuals; later generations are darker. Lines are fronts: the first, the last,
    and two between. The star is the ``chosen`` one. The plot on the right has the least latency and
    the least energy of each generation, in percent of the first generation. ``title`` describes the
    search.

    Raises:
        ValueError: if no individual can be scheduled.
    """
    view = front_view(generations)
    if not view.allocations:
        raise ValueError("no allocation that can be scheduled; expected at least one")
    figure = new_figure(WIDTH, 3.7)
    left, right = page_of(figure).add_subplot(1, 2, 1), page_of(figure).add_subplot(1, 2, 2)
    scale_costs(left.set_xscale, view.latency.astype(np.float64))
    scale_costs(left.set_yscale, view.energy)
    _draw_points(left, view)
    _draw_fronts(left, view)
    if chosen is not None and chosen.fitness is not None:
        _mark(left, chosen.fitness.latency, chosen.fitness.energy)
    label_costs(left, cycles_unit(float(view.latency.max())), energy_unit(float(view.energy.max())))
    left.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    _draw_progress(right, view)
    right.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    different = count(len(view.allocations))
    set_title(figure, f"{short_name(title, 50)}: {different} allocations")
    return figure


def _draw_points(axes: Plot, view: FrontView) -> None:
    """The individuals in three groups of generations, later ones darker."""
    last = max(1, int(view.generation.max()) + 1)
    third = np.minimum(view.generation * len(_SHADES) // last, len(_SHADES) - 1)
    for i, shade in enumerate(_SHADES):
        here = np.flatnonzero(third == i)
        if len(here):
            marks = axes.scatter(
                view.latency[here], view.energy[here], s=8, facecolors=shade, edgecolors="none",
                linewidths=0, alpha=0.8, label=_seen(view, here.tolist()),
            )  # fmt: skip
            marks.set_rasterized(True)


def _seen(view: FrontView, places: list[int]) -> str:
    first, last = int(view.generation[places].min()), int(view.generation[places].max())
    return f"generation {first}" if first == last else f"generations {first} to {last}"


def _draw_fronts(axes: Plot, view: FrontView) -> None:
    """Early fronts thin, the last one thick with its points."""
    last = len(view.fronts) - 1
    shown = sorted({last * i // (_FRONTS - 1) for i in range(_FRONTS)})
    for place in (x for x in shown if len(view.fronts[x])):
        latency, energy = staircase(view, place)
        is_last = place == shown[-1]
        axes.plot(
            latency, energy,
            color=INK if is_last else SERIES,
            linewidth=1.1 if is_last else 0.7,
            linestyle="-" if is_last else ":",
            drawstyle="steps-post",
            marker="o" if is_last else ".",
            markersize=3.5 if is_last else 2.0,
            markerfacecolor="white" if is_last else SERIES,
            markeredgecolor=INK if is_last else SERIES,
            markeredgewidth=0.5,
            label=_front_label(view, place, is_last=is_last),
        )  # fmt: skip


def _front_label(view: FrontView, place: int, *, is_last: bool) -> str | None:
    """Labels the last front with its size, and the earlier fronts together."""
    if is_last:
        return f"front of generation {view.numbers[place]} ({len(view.fronts[place])})"
    return "earlier fronts" if place == 0 else None


def _mark(axes: Plot, latency: float, energy: float) -> None:
    axes.plot(
        [latency], [energy], color=INK, linewidth=0, marker="*", markersize=11,
        markerfacecolor=INK, markeredgecolor=INK, markeredgewidth=0.7, label="chosen",
        zorder=5,
    )  # fmt: skip


def _draw_progress(axes: Plot, view: FrontView) -> None:
    """The improvement of the best value of each objective."""
    numbers = [n for n, front in zip(view.numbers, view.fronts, strict=True) if len(front)]
    for (name, color, style), values in zip(_LINES, best_by_generation(view), strict=True):
        shares = values / (values[0] or 1.0)
        axes.plot(
            numbers, shares, color=color, linewidth=1.2, linestyle=style, drawstyle="steps-post",
            marker="." if len(numbers) < 30 else "", markersize=4, label=f"least {name}",
        )  # fmt: skip
    axes.set_xlabel("Generation")
    axes.set_ylabel(f"Of the best of generation {numbers[0]} ({PERCENT.name})")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_formatter(unit_formatter(PERCENT))
    axes.grid(visible=True)
