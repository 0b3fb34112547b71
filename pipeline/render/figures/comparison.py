"""Compares the costs of several runs: totals and layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from nestmap.pipeline.analysis.network.run_comparison import (
    NamedRun,
    layer_energies,
    layer_latencies,
    total_energies,
    total_latencies,
)
from nestmap.pipeline.analysis.network.stacked_bars import Bars
from nestmap.pipeline.format.numbers import TIMES, cycles, cycles_unit, energy_text, energy_unit
from nestmap.pipeline.render.figures.bars import (
    MOST_ROWS,
    Chart,
    add_legend,
    corners,
    draw_bars,
    legend_rows,
    name_rows,
    page_width,
    scale_axis,
)
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import SMALL, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name

_BAR: Final = 0.82
_ROOM: Final = 1.45
_EDGE: Final = "white"


@styled()
def comparison_figure(runs: Sequence[NamedRun], networks: str | None = None) -> Figure:
    """Energy and latency of several runs: totals, by component, and by layer.

    Layers are matched by name; a run without a layer has no bar for it. ``networks`` names the
    networks, for the title.

    Raises:
        ValueError: if there is no run.
    """
    if not runs:
        raise ValueError("no run to compare; expected at least one")
    totals, layers = _total_charts(runs), _layer_charts(runs)
    rows = len(layers[0].bars.names)
    panels = -(-rows // _most_rows(runs))
    each = -(-rows // panels)
    legend = max(legend_rows(chart) for chart in totals)
    upper = 0.3 * len(runs) + 0.15 * legend + 0.6
    lower = each * (0.07 + 0.085 * len(runs)) + 0.15 * len(runs) + 0.6
    figure = new_figure(page_width(panels, 2, layers[0].bars.names), upper + lower + 0.5)
    above, below = page_of(figure).subfigures(2, 1, height_ratios=[upper, lower])
    for i, chart in enumerate(totals):
        axes = above.add_subplot(1, 2, i + 1)
        _draw_totals(axes, chart, _texts(runs, chart), names=i == 0)
    columns = 2 * panels
    for place in range(columns):
        panel, i = divmod(place, 2)
        axes = below.add_subplot(1, columns, place + 1)
        _draw_layers(axes, layers[i], slice(panel * each, (panel + 1) * each), names=i == 0)
        if place == 0:
            add_legend(axes, layers[i])
    title = f"{len(runs)} runs compared"
    set_title(figure, title if networks is None else f"{short_name(networks, 70)}: {title}")
    return figure


def _total_charts(runs: Sequence[NamedRun]) -> tuple[Chart, Chart]:
    energies, latencies = total_energies(runs), total_latencies(runs)
    return (
        Chart("Energy of all layers", energy_unit(max(energies.totals)), energies),
        Chart("Latency of all layers", cycles_unit(max(latencies.totals)), latencies),
    )


def _layer_charts(runs: Sequence[NamedRun]) -> tuple[Chart, Chart]:
    energies, latencies = layer_energies(runs), layer_latencies(runs)
    return (
        Chart("Energy", energy_unit(_longest(energies)), energies),
        Chart("Latency", cycles_unit(_longest(latencies)), latencies),
    )


def _longest(bars: Bars) -> float:
    """The longest bar of a group."""
    return max(max(part.values) for part in bars.parts)


def _most_rows(runs: Sequence[NamedRun]) -> int:
    """The number of layers in a panel: fewer if each has more bars."""
    return max(20, 3 * MOST_ROWS // (1 + len(runs)))


def _texts(runs: Sequence[NamedRun], chart: Chart) -> list[str]:
    """The totals as numbers, with their changes from the first run."""
    totals = chart.bars.totals
    is_energy = chart.unit.name.endswith("J")
    texts = [energy_text(total) if is_energy else cycles(total) for total in totals]
    return [
        texts[0],
        *(_compared(*found, totals[0]) for found in list(zip(texts, totals, strict=True))[1:]),
    ]


def _compared(text: str, total: float, first: float) -> str:
    return f"{text} ({TIMES}{total / first:.3g})" if first else text


def _draw_totals(axes: Plot, chart: Chart, texts: Sequence[str], *, names: bool) -> None:
    draw_bars(axes, chart, slice(None), names=names)
    axes.set_xlim(0, max(chart.bars.totals) * _ROOM)
    for row, (total, text) in enumerate(zip(chart.bars.totals, texts, strict=True)):
        axes.annotate(
            text, (total, row), (3, 0), textcoords="offset points", va="center", fontsize=SMALL
        )
    add_legend(axes, chart)


def _draw_layers(axes: Plot, chart: Chart, shown: slice, *, names: bool) -> None:
    """A group of bars for each layer, one for each run."""
    rows = list(range(len(chart.bars.names))[shown])
    thin = _BAR / len(chart.bars.parts)
    for i, part in enumerate(chart.bars.parts):
        middle = [row - _BAR / 2 + (i + 0.5) * thin for row in rows]
        bars = PolyCollection(
            corners(middle, thin, [0.0] * len(rows), part.values[shown]),
            facecolor=part.look.color,
            hatch=part.look.hatch,
            label=short_name(part.label, 40),
            edgecolor=_EDGE,
            linewidths=0.2,
        )
        axes.add_collection(bars, autolim=False)
    name_rows(axes, rows, chart.bars.names[shown], names=names)
    scale_axis(axes, chart, _longest(chart.bars))
