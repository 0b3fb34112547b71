"""Bar charts: stacked, a row for each name, or grouped, a bar for each run."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, Literal, NamedTuple

import altair as alt

from nestmap.pipeline.analysis.network.stacked_bars import Bars
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.pages.report.charts.chart import Chart
from nestmap.pipeline.pages.report.charts.vega_spec import (
    DARK,
    Row,
    axis,
    described,
    exact,
    faded,
    legend,
    letters,
    parameter,
    percent,
    picked,
    plain,
    scale_of,
    shown,
    spec_text,
    unvalidated,
)

_STEPS: Final = ((8, 24.0), (40, 18.0), (80, 14.0))
_SMALLEST: Final = 12.0
_THINNEST: Final = 6.0
_CLOSE: Final = 0.2
_APART: Final = 0.35
"""The gap between rows, as a share of them."""

_TALL: Final = 25
_DATA: Final = "bars"
_NAMES: Final = "names"
_SHORT: Final = "short"
_PARTS: Final = "parts"


class Exact(Enum):
    """The exact length of a bar: an expression for a field ``value``."""

    ENERGY = exact("value", "pJ")
    CYCLES = exact("value", "cycles")
    BITS = exact("value", "bit")
    SHARE = percent("value")


class Drawing(NamedTuple):
    """Bars, their subject (``of``: layer, memory, run), and the meaning of their length."""

    name: str
    title: str
    summary: str
    of: str
    quantity: str
    unit: Unit
    exact: Exact
    bars: Bars


@unvalidated
def stacked_chart(drawing: Drawing) -> Chart:
    """A row for each name, with its components stacked; empty ones are left out."""
    chart = (
        _bars(drawing)
        .transform_joinaggregate(total="sum(value)", groupby=["row"])
        .transform_calculate(share="format(datum.value / datum.total, '.1%')")
        .encode(
            x=_length(drawing, stack="zero"),
            order=alt.Order(field="part", type="quantitative"),
            tooltip=[*_told(drawing, "part"), shown("share", f"share of {drawing.of}")],
        )
    )
    return _finished(drawing, chart, _step(drawing))


@unvalidated
def grouped_chart(drawing: Drawing) -> Chart:
    """A group of bars for each name, one for each part (a run), below each other."""
    places = list(range(len(drawing.bars.parts)))
    offset = alt.YOffset(field="part", type="ordinal", scale=alt.Scale(domain=places))
    chart = _bars(drawing, _APART).encode(
        x=_length(drawing, stack=None), yOffset=offset, tooltip=_told(drawing, "run")
    )
    return _finished(drawing, chart, max(_step(drawing), _THINNEST * len(places)))


def _bars(drawing: Drawing, padding: float = _CLOSE) -> alt.Chart:
    """The bars without their lengths."""
    bars = drawing.bars
    labels = _labels(bars)
    names = [plain(name) for name in bars.names]
    color = alt.Color(
        field="label",
        type="nominal",
        scale=scale_of(labels, [part.look for part in bars.parts]),
        legend=legend(),
    )
    return (
        alt.Chart(alt.NamedData(_DATA), mark="bar")
        .transform_calculate(
            name=f"{_NAMES}[datum.row]",
            label=f"{_PARTS}[datum.part]",
            text=drawing.exact.value,
        )
        .transform_calculate(aria="datum.name + ', ' + datum.label + ': ' + datum.text")
        .encode(y=_rows(len(names), padding), color=color, opacity=faded(), description=described())
        .add_params(
            parameter(DARK, value=False),
            parameter(_NAMES, names),
            parameter(_SHORT, [shortened(name) for name in names]),
            parameter(_PARTS, labels),
            picked("label"),
        )
    )


def _rows(count: int, padding: float) -> alt.Y:
    """All rows with their names, including those without length."""
    names = alt.Axis(
        title=None,
        labelExpr=f"{_SHORT}[datum.value]",
        labelFontSize=11 if count <= _TALL else 9.5,
        labelOverlap=False,
        ticks=False,
        domain=False,
    )
    scale = alt.Scale(domain=list(range(count)), paddingInner=padding, paddingOuter=0.1)
    return alt.Y(field="row", type="ordinal", axis=names, scale=scale)


def _length(drawing: Drawing, stack: Literal["zero"] | None) -> alt.X:
    """The axis is above tall charts, since they begin at the top."""
    tall = len(drawing.bars.names) > _TALL
    scale = axis(drawing.quantity, drawing.unit, "top" if tall else "bottom")
    return alt.X(field="value", type="quantitative", stack=stack, axis=scale)


def _told(drawing: Drawing, part: str) -> list[alt.Tooltip]:
    return [shown("name", drawing.of), shown("label", part), shown("text", drawing.quantity)]


def _finished(drawing: Drawing, chart: alt.Chart, step: float) -> Chart:
    """Sets the distance between rows, in pixels."""
    height = step * len(drawing.bars.names)  # alt.Step gives a warning together with "container"
    whole = chart.properties(width="container", height=height, description=drawing.summary)
    longest = letters(_labels(drawing.bars), map(shortened, drawing.bars.names))
    return Chart(
        name=drawing.name,
        title=drawing.title,
        summary=drawing.summary,
        spec=spec_text(whole, {_DATA: list(_data(drawing.bars))}, longest),
    )


def _data(bars: Bars) -> Iterator[Row]:
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
    found = [plain(part.label) for part in bars.parts]
    return [
        f"{label} ({i + 1})" if found.count(label) > 1 else label for i, label in enumerate(found)
    ]
