"""Draws stacked horizontal bars, a row for each name, in several panels if there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nestmap.pipeline.analysis.network.stacked_bars import Bars
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.render.figures.matplotlib_types import Place, Plot, page_of
from nestmap.pipeline.render.figures.style import WIDTH, new_figure, set_title
from nestmap.pipeline.render.figures.text_metrics import (
    escape_undrawable,
    short_name,
    unit_formatter,
)

MOST_ROWS: Final = 60
"""The maximum number of rows in a panel; more rows go to panels side by side."""

_NARROWEST: Final = 2.0
"""The width of the narrowest chart (inches), without the names of its rows."""

_LETTER: Final = 0.06
"""The width of a letter of a row's name (inches)."""

_ROW: Final = 0.135
_THICK_ROW: Final = 0.26
_BAR: Final = 0.78


class Chart(NamedTuple):
    """Bars with the meaning and the unit of their length."""

    quantity: str
    unit: Unit
    bars: Bars

    @property
    def label(self) -> str:
        """The label of the axis."""
        return f"{self.quantity} ({self.unit.name})"


def bar_figure(title: str, charts: Sequence[Chart]) -> Figure:
    """Draws charts with the same rows side by side: names on the left, legends above."""
    rows = len(charts[0].bars.names)
    panels = -(-rows // MOST_ROWS)
    each = -(-rows // panels)
    legend = max(legend_rows(chart) for chart in charts)
    figure = new_figure(
        page_width(panels, len(charts), charts[0].bars.names),
        each * _row_height(each) + 0.15 * legend + 0.95,
    )
    axes = [
        page_of(figure).add_subplot(1, panels * len(charts), i + 1)
        for i in range(panels * len(charts))
    ]
    for panel in range(panels):
        shown = slice(panel * each, (panel + 1) * each)
        for i, chart in enumerate(charts):
            draw_bars(axes[panel * len(charts) + i], chart, shown, names=i == 0)
    for i, chart in enumerate(charts):
        add_legend(axes[i], chart)
    set_title(figure, title)
    return figure


def page_width(panels: int, charts: int, names: Sequence[str]) -> float:
    """The width (inches) of panels with so many charts: a page if they are wide enough on it."""
    longest = max(len(short_name(name)) for name in names)
    return max(WIDTH, panels * (_NARROWEST * charts + _LETTER * longest))


def draw_bars(axes: Plot, chart: Chart, shown: slice, *, names: bool) -> None:
    """Draws the rows of a slice, the first at the top.

    The bars of a part are one artist, since matplotlib lays out and draws each by itself.
    """
    rows = range(len(chart.bars.names))[shown]
    left = [0.0] * len(rows)
    for part in chart.bars.parts:
        values = part.values[shown]
        right = [a + b for a, b in zip(left, values, strict=True)]
        bars = PolyCollection(
            corners(rows, _BAR, left, right),
            facecolor=part.look.color,
            hatch=part.look.hatch,
            label=escape_undrawable(part.label),
            edgecolor="white" if part.look.color != "#ffffff" else "#888888",
            linewidths=[0.2 if value else 0.0 for value in values],
        )
        axes.add_collection(bars, autolim=False)
        left = right
    name_rows(axes, rows, chart.bars.names[shown], names=names)
    scale_axis(axes, chart, max(chart.bars.totals))


def corners(
    rows: Sequence[float], height: float, left: Sequence[float], right: Sequence[float]
) -> list[list[Place]]:
    """The corners of bars of that height around the middles of rows."""
    low, high = -height / 2, height / 2
    return [
        [(a, row + low), (b, row + low), (b, row + high), (a, row + high)]
        for row, a, b in zip(rows, left, right, strict=True)
    ]


def name_rows(axes: Plot, rows: Sequence[int], labels: Sequence[str], *, names: bool) -> None:
    """Rows from the top down, with or without their names."""
    axes.set_ylim(rows[-1] + 0.6, rows[0] - 0.6)
    if names:
        axes.set_yticks(rows, [short_name(label) for label in labels])
    else:
        axes.set_yticks([], [])
    axes.tick_params("y", length=0)
    axes.spines["left"].set_visible(False)


def scale_axis(axes: Plot, chart: Chart, longest: float) -> None:
    """The common scale of all panels of a chart, with its unit."""
    axes.set_xlim(0, longest * 1.02 or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.xaxis.set_major_formatter(unit_formatter(chart.unit))
    axes.set_xlabel(chart.label)
    axes.grid(visible=True, axis="x")


def add_legend(axes: Plot, chart: Chart) -> None:
    """The legend of the colours, above the bars."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=_columns(chart), borderpad=0.1)


def _columns(chart: Chart) -> int:
    """The columns of a legend over half the width of a figure."""
    longest = max(len(escape_undrawable(part.label)) for part in chart.bars.parts)
    return max(1, min(4, 56 // (longest + 6)))


def legend_rows(chart: Chart) -> int:
    """The rows of a chart's legend."""
    return -(-len(chart.bars.parts) // _columns(chart))


def _row_height(rows: int) -> float:
    """The height of a row (inches); many rows are thin."""
    return min(_THICK_ROW, max(_ROW, 4.5 / rows))
