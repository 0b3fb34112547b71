"""Strips below each other over the time of a schedule: a row's height shows a utilization."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.schedule.time_axis import brush, time_axis, window, within

MOST_CELLS: Final = 4000
"""The approximate number of cells drawn in all strips."""

_HIGH: Final = 0.85
"""The share of a row's height that a full strip takes."""

_STEP: Final = 34.0
_DATA: Final = "cells"
_LINES: Final = "lines"
_ROWS: Final = "rows"
_SHORT: Final = "short"
_PARTS: Final = "parts"


class Part(NamedTuple):
    """A colour of the strips, and its meaning."""

    label: str
    look: Look


class Strips(NamedTuple):
    """The content: strips by name, parts in colours, and the meaning of the height.

    ``text`` is an expression for the exact height of a cell. With ``chooses``, dragging selects the
    time that other charts show; otherwise it moves the chart.
    """

    name: str
    title: str
    summary: str
    rows: Sequence[str]
    parts: Sequence[Part]
    quantity: str
    text: str
    latency: int
    chooses: bool = False


def cell(row: int, start: int, end: int, low: float, high: float) -> dict[str, int | float]:
    """A cell of a strip: its start and end, its lower and upper edge as shares of a full row."""
    bottom, top = (round(row + 1 - _HIGH * min(part, 1.0), 5) for part in (low, high))
    return {"row": row, "start": start, "end": end, "y": bottom, "top": top}


def strips_chart(strips: Strips, cells: Sequence[vega.Row]) -> Chart:
    """The strips; each cell has at least the fields of :func:`cell`, and ``part``."""
    labels = [part.label for part in strips.parts]
    names = [vega.plain(name) for name in strips.rows]
    several = len(labels) > 1
    selections = [
        *([vega.picked("label")] if several else []),
        brush() if strips.chooses else window(),
    ]
    chart: vega.Spec = {
        "layer": [_full(_down(strips)), vega.main_view(_cells(strips, labels))],
        "params": [
            *vega.in_main_view(*selections),
            vega.parameter(vega.DARK, value=False),
            vega.parameter(_ROWS, names),
            vega.parameter(_SHORT, [shortened(name) for name in names]),
            vega.parameter(_PARTS, labels),
        ],
        "height": _STEP * len(names) * (1.6 if strips.chooses else 1.0),
        "description": strips.summary,
    }
    longest = vega.letters(labels, map(shortened, names))
    text = vega.spec_text(
        chart, {_DATA: cells, _LINES: _heights(strips)}, longest, time=strips.latency
    )
    return Chart(name=strips.name, title=strips.title, summary=strips.summary, spec=text)


def _down(strips: Strips) -> vega.Spec:
    """Rows from the top, each one unit high."""
    count = len(strips.rows)
    names: vega.Spec = {
        "title": None,
        "values": [row + 1 - _HIGH / 2 for row in range(count)],
        "labelExpr": f"{_SHORT}[floor(datum.value)]",
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
        "grid": False,
    }
    scale: vega.Spec = {"domain": [0, count], "reverse": True, "nice": False, "zero": False}
    return vega.quantitative("y", {"axis": names, "scale": scale})


def _cells(strips: Strips, labels: Sequence[str]) -> vega.Spec:
    several = len(labels) > 1
    scale = vega.scale_of(labels, [part.look for part in strips.parts])
    return vega.unit_view(
        _DATA,
        {"type": "bar", "clip": True, "strokeWidth": 0, "minBandSize": 0},
        {
            **time_axis(strips.latency),
            "y": _down(strips),
            "y2": {"field": "top"},
            "color": vega.nominal(
                "label", {"scale": scale, "legend": vega.legend() if several else None}
            ),
            "opacity": vega.faded() if several else {"value": 1},
            "description": vega.described(),
            "tooltip": [
                vega.shown("name", "of"),
                *([vega.shown("label", "what")] if several else []),
                vega.shown("text", strips.quantity),
                vega.shown("begin", "from"),
                vega.shown("finish", "to"),
            ],
        },
        [
            {"filter": "true" if strips.chooses else within(strips.latency)},
            *vega.calculated(
                {
                    "name": f"{_ROWS}[datum.row]",
                    "label": f"{_PARTS}[datum.part]",
                    "text": strips.text,
                    "begin": vega.exact("start", "cycles"),
                    "finish": vega.exact("end", "cycles"),
                    "aria": "datum.name + ', ' + datum.label + ', '"
                    " + datum.begin + ': ' + datum.text",
                }
            ),
        ],
    )


def _full(down: vega.Spec) -> vega.Spec:
    """Lines at the heights of empty and full strips."""
    faint: vega.Spec = {"style": vega.INK, "strokeWidth": 0.7, "strokeOpacity": 0.35, "aria": False}
    return vega.unit_view(_LINES, {"type": "rule", **faint}, {"y": down})


def _heights(strips: Strips) -> list[vega.Row]:
    """The positions of the lines."""
    rows = range(len(strips.rows))
    return [{"y": round(y, 5)} for row in rows for y in (row + 1.0, row + 1 - _HIGH)]
