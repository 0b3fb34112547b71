"""Draws the shapes of a Gantt chart: bars, idle times, layer numbers, critical path."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from matplotlib.collections import PolyCollection

from nestmap.pipeline.analysis.schedule.critical_path_rows import path_line
from nestmap.pipeline.analysis.schedule.looks import KIND_LOOKS, STALL_LOOKS
from nestmap.pipeline.analysis.schedule.tables import (
    NONE,
    BarKind,
    Floats,
    Gantt,
    GanttBars,
    Ints,
    StallReason,
)
from nestmap.pipeline.format.palette import INK, MUTED, on
from nestmap.pipeline.render.figures.matplotlib_types import Plot
from nestmap.pipeline.render.figures.schedule.colors import (
    layer_colors,
    row_label,
)
from nestmap.pipeline.render.figures.schedule.gantt_rows import Layout
from nestmap.pipeline.render.figures.style import SMALL
from nestmap.pipeline.render.figures.text_metrics import short_name

_MOST_SHAPES: Final = 5_000
"""Above this number, shapes are rasterized in vector files."""

_BAR: Final = (-0.46, 0.28)
_STALL: Final = (-0.3, 0.12)
_PATH: Final = (0.34, 0.48)
"""The extents of bars, idle times and critical path in a row: -0.5 is its top, 0.5 its bottom."""

_MOST_CROSSINGS: Final = 80
"""The maximum number of row changes drawn; more of them would hide the chart."""

_FILLED: Final = 0.6
"""A layer is labelled if bars fill this share of the time from its first to its last bar."""

_PIXEL: Final = 1 / 1200
_EDGED: Final = 5 * _PIXEL
"""Bars that take at least this share of the time have an edge."""

_LETTER: Final = 13 * _PIXEL
"""The share of the time that a letter in a bar takes."""


class _Boxes(NamedTuple):
    """Rectangles as columns: row, start, end."""

    row: Ints
    start: Ints
    end: Ints


class _Panel(NamedTuple):
    """The axes of a chart, and the time at its right border."""

    axes: Plot
    chart: Gantt
    layout: Layout
    until: int

    def places(self, rows: Ints, place: float) -> Floats:
        """A vertical position in each of the rows: 0 is the middle, 0.5 the lower border."""
        heights, middles = np.array(self.layout.heights), np.array(self.layout.middles)
        found: Floats = middles[rows] + heights[rows] * place
        return found

    def corners(self, boxes: _Boxes, part: tuple[float, float]) -> list[Floats]:
        """The corners of each box, which fills that part of its row's height."""
        low, high = (self.places(boxes.row, place) for place in part)
        left, right = boxes.start.astype(np.float64), boxes.end.astype(np.float64)
        x = np.stack((left, right, right, left), axis=1)
        return list(np.stack((x, np.stack((low, low, high, high), axis=1)), axis=2))

    def add(self, shapes: PolyCollection, count: int) -> None:
        """Draws the shapes; ``count`` is their number."""
        shapes.set_rasterized(count > _MOST_SHAPES)
        self.axes.add_collection(shapes, autolim=False)


def draw_chart(axes: Plot, chart: Gantt, layout: Layout, until: int) -> None:
    """All rows with their names, without the time axis, which ends at ``until``."""
    panel = _Panel(axes, chart, layout, max(until, 1))
    _draw_stalls(panel)
    _draw_bars(panel)
    _write_layers(panel)
    _draw_path(panel)
    axes.set_ylim(layout.inches, 0)
    axes.set_yticks(layout.middles, [short_name(row_label(row), 22) for row in chart.rows])
    axes.tick_params("y", length=0, labelleft=True)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    for place, text in layout.headings:
        _head(axes, text, place)


def _head(axes: Plot, text: str, place: float) -> None:
    """A heading, in front of lines."""
    axes.annotate(
        text, (0, place), (0, 0), textcoords="offset points", va="center", fontsize=SMALL,
        fontweight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4}, zorder=3,
    )  # fmt: skip


def _draw_stalls(panel: _Panel) -> None:
    """Idle times of cores; left out if too narrow to be seen or hidden."""
    stalls = panel.chart.stalls
    seen = stalls.end - stalls.start >= panel.until * _PIXEL
    shown = np.flatnonzero(seen & (stalls.reason != StallReason.NOTHING))
    boxes = _Boxes(stalls.row[shown], stalls.start[shown], stalls.end[shown])
    colors = [STALL_LOOKS[StallReason(reason)].color for reason in stalls.reason[shown].tolist()]
    corners = panel.corners(boxes, _STALL)
    panel.add(PolyCollection(corners, facecolors=colors, edgecolors="none"), len(shown))


def _draw_bars(panel: _Panel) -> None:
    """Nodes have the colour of their layer, transfers and streams that of their kind."""
    bars = panel.chart.bars
    edges = np.where(bars.end - bars.start >= panel.until * _EDGED, 0.3, 0.0)
    filled = PolyCollection(
        panel.corners(_Boxes(bars.row, bars.start, bars.end), _BAR),
        facecolors=_colors(bars, len(panel.chart.layers)),
        edgecolors="white",
        linewidths=edges,
    )
    panel.add(filled, len(bars))


def _colors(bars: GanttBars, layers: int) -> list[str]:
    of_layers = layer_colors(layers)
    of_kinds = {int(kind): look.color for kind, look in KIND_LOOKS.items()}
    pairs = zip(bars.kind.tolist(), bars.layer.tolist(), strict=True)
    return [of_layers[i] if kind == BarKind.NODE else of_kinds[kind] for kind, i in pairs]


def _write_layers(panel: _Panel) -> None:
    """The layer number on consecutive bars of one layer, if it fits."""
    bars = panel.chart.bars
    colors = layer_colors(len(panel.chart.layers))
    found = _runs(bars)
    letters = np.char.str_len(bars.layer[found.first].astype(str)) + 0.6
    spans = found.end - bars.start[found.first]
    shown = (spans >= letters * _LETTER * panel.until) & (found.busy >= _FILLED * spans)
    places = panel.places(bars.row[found.first], sum(_BAR) / 2)
    for i in np.flatnonzero(shown).tolist():
        number, start = int(bars.layer[found.first[i]]), int(bars.start[found.first[i]])
        panel.axes.text(
            (start + int(found.end[i])) / 2, float(places[i]), str(number), ha="center",
            va="center_baseline", fontsize=SMALL - 0.5, color=on(colors[number]), zorder=4,
        )  # fmt: skip


class _Runs(NamedTuple):
    """Consecutive bars of one layer: the first one, their end, their total cycles."""

    first: Ints
    end: Ints
    busy: Ints


def _runs(bars: GanttBars) -> _Runs:
    nodes = np.flatnonzero(bars.kind == BarKind.NODE)
    if not len(nodes):
        return _Runs(nodes, nodes, nodes)
    row, layer, start, end = (x[nodes] for x in (bars.row, bars.layer, bars.start, bars.end))
    new = np.concatenate(([True], (np.diff(row) != 0) | (np.diff(layer) != 0)))
    firsts = np.flatnonzero(new)
    busy = np.add.reduceat(end - start, firsts)
    return _Runs(nodes[firsts], np.maximum.reduceat(end, firsts), busy)


def _draw_path(panel: _Panel) -> None:
    """The critical path: lines below its bars, and thin lines between rows if they are few."""
    path, path_rows = panel.chart.critical, panel.chart.path_rows
    shown = np.flatnonzero(path_rows != NONE)
    boxes = _Boxes(path_rows[shown], path.start[shown], path.end[shown])
    corners = panel.corners(boxes, _PATH)
    panel.add(PolyCollection(corners, facecolors=INK, edgecolors=INK, linewidths=0.3), len(shown))
    if np.count_nonzero(np.diff(path_rows[shown])) <= _MOST_CROSSINGS:
        times, rows = path_line(panel.chart)
        places = panel.places(rows, sum(_PATH) / 2)
        panel.axes.plot(times, places, color=MUTED, linewidth=0.45, zorder=0.9)
