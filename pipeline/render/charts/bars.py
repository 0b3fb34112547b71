"""Bar charts: stacked, a row for each name, or grouped, a bar for each run."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from math import floor, log10
from typing import Final, Literal, NamedTuple

from nestmap.pipeline.analysis.network.stacked_bars import Bars
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.chart import Chart

_STEPS: Final = ((8, 24.0), (40, 18.0), (80, 14.0))
_SMALLEST: Final = 12.0
_THINNEST: Final = 6.0
_CLOSE: Final = 0.2
_APART: Final = 0.35
"""The gap between rows, as a share of them."""

_TALL: Final = 25
_TICKS: Final = 6
_DATA: Final = "bars"
_NAMES: Final = "names"
_SHORT: Final = "short"
_PARTS: Final = "parts"


class Exact(StrEnum):
    """The exact length of a bar: an expression for a field ``value``."""

    ENERGY = vega.exact("value", "pJ")
    CYCLES = vega.exact("value", "cycles")
    BITS = vega.exact("value", "bit")
    SHARE = vega.percent("value")


class Drawing(NamedTuple):
    """Bars, their subject (``of``: layer, memory, run), and the meaning of their length.

    ``exact`` is an expression for the exact length, such as those of :class:`Exact`.
    """

    name: str
    title: str
    summary: str
    of: str
    quantity: str
    unit: Unit
    exact: str
    bars: Bars


def stacked_chart(drawing: Drawing) -> Chart:
    """A row for each name, with its components stacked; empty ones are left out."""
    total = {"op": "sum", "field": "value", "as": "total"}
    share = "format(datum.value / datum.total, '.1%')"
    return _finished(
        drawing,
        _step(drawing),
        {
            "y": _rows(drawing, _CLOSE),
            "x": _length(drawing, stack="zero"),
            "order": vega.quantitative("part"),
            "tooltip": [*_told(drawing, "part"), vega.shown("share", f"share of {drawing.of}")],
        },
        [{"joinaggregate": [total], "groupby": ["row"]}, *vega.calculated({"share": share})],
    )


def grouped_chart(drawing: Drawing) -> Chart:
    """A group of bars for each name, one for each part (a run), below each other."""
    places = list(range(len(drawing.bars.parts)))
    return _finished(
        drawing,
        max(_step(drawing), _THINNEST * len(places)),
        {
            "y": _rows(drawing, _APART),
            "x": _length(drawing, stack=None),
            "yOffset": vega.ordinal("part", {"scale": {"domain": places}}),
            "tooltip": _told(drawing, "run"),
        },
    )


def _rows(drawing: Drawing, padding: float) -> vega.Spec:
    """All rows with their names, including those without length."""
    count = len(drawing.bars.names)
    names: vega.Spec = {
        "title": None,
        "labelExpr": f"{_SHORT}[datum.value]",
        "labelFontSize": 11 if count <= _TALL else 9.5,
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
    }
    scale: vega.Spec = {"domain": list(range(count)), "paddingInner": padding, "paddingOuter": 0.1}
    return vega.ordinal("row", {"axis": names, "scale": scale})


def _length(drawing: Drawing, stack: Literal["zero"] | None) -> vega.Spec:
    """The axis is above tall charts, since they begin at the top."""
    tall = len(drawing.bars.names) > _TALL
    axis = vega.axis(drawing.quantity, drawing.unit, "top" if tall else "bottom")
    largest = max(drawing.bars.totals, default=0.0)
    if log10(drawing.unit.divisor) % 1 and largest:
        axis = {**axis, "values": [*_round_ticks(largest, drawing.unit)]}
    return vega.quantitative("value", {"stack": stack, "axis": axis})


def _round_ticks(largest: float, unit: Unit) -> list[float]:
    """Round numbers of KiB and the like; those that Vega chooses are round in bits."""
    whole = largest / unit.divisor
    power = 10.0 ** floor(log10(whole / _TICKS))
    step = next(n * power for n in (1, 2, 5, 10) if whole / (n * power) <= _TICKS)
    return [n * step * unit.divisor for n in range(floor(whole / step) + 1)]


def _told(drawing: Drawing, part: str) -> list[vega.Spec]:
    return [
        vega.shown("name", drawing.of),
        vega.shown("label", part),
        vega.shown("text", drawing.quantity),
    ]


def _finished(
    drawing: Drawing, step: float, encoding: vega.Spec, transform: Sequence[vega.Spec] = ()
) -> Chart:
    """The bars with these channels; ``step`` is the distance between rows, in pixels."""
    labels, names = _labels(drawing.bars), [vega.plain(name) for name in drawing.bars.names]
    chart: vega.Spec = {
        **_bars(drawing, labels, encoding, transform),
        "params": [
            vega.parameter(vega.DARK, value=False),
            vega.parameter(_NAMES, names),
            vega.parameter(_SHORT, [shortened(name) for name in names]),
            vega.parameter(_PARTS, labels),
            vega.picked("label"),
        ],
        "height": step * len(names),  # a step gives a warning together with "container"
        "description": drawing.summary,
    }
    longest = vega.letters(labels, map(shortened, drawing.bars.names))
    return Chart(
        name=drawing.name,
        title=drawing.title,
        summary=drawing.summary,
        spec=vega.spec_text(chart, {_DATA: list(_data(drawing.bars))}, longest),
    )


def _bars(
    drawing: Drawing, labels: Sequence[str], encoding: vega.Spec, transform: Sequence[vega.Spec]
) -> vega.Spec:
    """The bars in the colours of their parts."""
    scale = vega.scale_of(labels, [part.look for part in drawing.bars.parts])
    return vega.unit_view(
        _DATA,
        {"type": "bar"},
        {
            **encoding,
            "color": vega.nominal("label", {"scale": scale, "legend": vega.legend()}),
            "opacity": vega.faded(),
            "description": vega.described(),
        },
        [
            *vega.calculated(
                {
                    "name": f"{_NAMES}[datum.row]",
                    "label": f"{_PARTS}[datum.part]",
                    "text": str(drawing.exact),
                    "aria": "datum.name + ', ' + datum.label + ': ' + datum.text",
                }
            ),
            *transform,
        ],
    )


def _data(bars: Bars) -> Iterator[vega.Row]:
    """The bars as a table: row, part, length."""
    for number, part in enumerate(bars.parts):
        for row, value in enumerate(part.values):
            if value:
                yield {"row": row, "part": number, "value": value}


def _step(drawing: Drawing) -> float:
    """The distance between rows, in pixels."""
    rows = len(drawing.bars.names)
    return next((step for most, step in _STEPS if rows <= most), _SMALLEST)


def _labels(bars: Bars) -> list[str]:
    """The labels of parts, numbered if several would be equal."""
    found = [vega.plain(part.label) for part in bars.parts]
    return [
        f"{label} ({i + 1})" if found.count(label) > 1 else label for i, label in enumerate(found)
    ]
