"""Draws what each parameter of a sweep is worth."""

from __future__ import annotations

from math import ceil
from typing import Final

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nestmap.pipeline.analysis.sweep.designs_view import DesignsView
from nestmap.pipeline.analysis.sweep.importance import Importance, importances
from nestmap.pipeline.analysis.sweep.objective_units import objective_title
from nestmap.pipeline.format.numbers import PERCENT, count, share
from nestmap.pipeline.format.palette import MUTED, SERIES
from nestmap.pipeline.render.figures.bars import name_rows
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import SMALL, WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name, unit_formatter

_ROW: Final = 0.26
_LETTERS: Final = 72
"""How many letters the titles of all panels together have room for."""


@styled()
def sweep_importance_figure(view: DesignsView) -> Figure:
    """How much each parameter decides whether a design is among the best by each objective.

    Parameters are in the order of their largest importance. See
    :func:`~nestmap.pipeline.analysis.sweep.importance.importances`.

    Raises:
        InputError: if Optuna is not installed, there are too few designs, or no parameter differs.
        InfeasibleError: if no design is feasible.
    """
    found = importances(view)
    order = sorted(range(len(view.parameters)), key=lambda n: -_largest(found, n))
    figure = new_figure(WIDTH, _ROW * len(order) + 1.2)
    for panel, importance in enumerate(found):
        axes = page_of(figure).add_subplot(1, len(found), panel + 1)
        names = [short_name(view.parameters[n].name) for n in order]
        name_rows(axes, range(len(order)), names, names=panel == 0)
        title = short_name(objective_title(importance.objective), _LETTERS // len(found))
        axes.set_title(title, loc="left", fontsize=SMALL + 0.5)
        _draw(axes, importance, order)
    best = f"the best {count(ceil(found[0].best * len(view)))} of {count(len(view))} designs"
    set_title(figure, f"{short_name(view.name, 30)}: importance of parameters for {best}")
    return figure


def _largest(found: tuple[Importance, ...], place: int) -> float:
    return max(x.shares[place] if x.shares else 0.0 for x in found)


def _draw(axes: Plot, importance: Importance, order: list[int]) -> None:
    axes.set_xlim(0, 1.18)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.xaxis.set_major_formatter(unit_formatter(PERCENT))
    axes.set_xlabel(f"Importance ({PERCENT.name})")
    axes.grid(visible=True, axis="x")
    if importance.shares is None:
        axes.text(0.03, 0, "the same for all designs", va="center", fontsize=SMALL, color=MUTED)
        return
    shares = [importance.shares[n] for n in order]
    axes.barh(
        range(len(order)), shares, height=0.62, color=SERIES, hatch="", label="importance",
        edgecolor="white", linewidth=[0.0] * len(order),
    )  # fmt: skip
    for row, value in enumerate(shares):
        axes.text(value + 0.02, row, share(value), va="center", fontsize=SMALL, color=MUTED)
