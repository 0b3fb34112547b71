"""Charts the roofline of the layers, below the ceilings of array and memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import altair as alt

from nestmap.model import Accelerator, NetworkEvaluation
from nestmap.pipeline.analysis.network.roofline import Ceiling, Point, ceilings, peak, points
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of, memory_looks
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.pages.report.charts.alt_text import ceiling_text, roofline_text
from nestmap.pipeline.pages.report.charts.chart import Chart
from nestmap.pipeline.pages.report.charts.vega_spec import (
    DARK,
    INK,
    Data,
    Row,
    described,
    exact,
    faded,
    legend,
    letters,
    log_axis,
    parameter,
    picked,
    plain,
    scale_of,
    shown,
    spec_text,
    unvalidated,
    zoom,
)

_HEIGHT: Final = 420
_ROOM: Final = 2.5
_INTENSITY: Final = Unit(1.0, "MAC per byte moved")
_PERFORMANCE: Final = Unit(1.0, "MAC per cycle")


class _Span(NamedTuple):
    """The range of an axis."""

    low: float
    high: float


class _Colors(NamedTuple):
    """The ceilings and their colours."""

    labels: Sequence[str]
    looks: Sequence[Look]


@unvalidated
def roofline_chart(evaluation: NetworkEvaluation, accelerator: Accelerator) -> Chart:
    """MAC per cycle over MAC per byte, a point for each distinct layer and each memory.

    The large, filled point of a layer is at the memory with the lowest ceiling for it.

    Raises:
        InputError: if the accelerator is not that of the evaluation.
    """
    every, highest = points(evaluation, accelerator), peak(accelerator)
    drawn = {point.memory for point in every}
    found = [ceiling for ceiling in ceilings(accelerator) if ceiling.memory in drawn]
    labels = {ceiling.memory: ceiling_text(ceiling) for ceiling in found}
    looks, times = memory_looks(cmes_of(evaluation)), _times(evaluation)
    x, y = _spans(every, highest)
    colors = _Colors(list(labels.values()), [looks[name] for name in labels])
    summary = roofline_text(every, highest)
    data: Data = {
        "peak": [{"x": end, "y": highest, "ceiling": _peak_text(highest)} for end in x],
        "ceilings": [row for each in found for row in _ceiling(x, each, labels[each.memory])],
        "points": [_point(each, labels[each.memory], times[each.layer]) for each in every],
    }
    chart = _chart(x, y, colors).properties(description=summary)
    text = spec_text(chart, data, letters(colors.labels))
    return Chart(name="roofline", title="Roofline of the layers", summary=summary, spec=text)


def _times(evaluation: NetworkEvaluation) -> Mapping[str, int]:
    """The number of layers that each distinct one represents."""
    return Counter(result.repeats or result.cme.layer for result in evaluation.layers)


def _peak_text(highest: float) -> str:
    return f"array: {highest:,.6g} MAC/cycle"


def _spans(every: Sequence[Point], highest: float) -> tuple[_Span, _Span]:
    low, high = min(p.intensity for p in every), max(p.intensity for p in every)
    lowest = min(p.performance for p in every)
    return _Span(low / _ROOM, high * _ROOM), _Span(lowest / _ROOM, highest * 2)


def _ceiling(x: _Span, ceiling: Ceiling, label: str) -> list[Row]:
    return [{"x": end, "y": end * ceiling.width, "ceiling": label} for end in x]


def _point(point: Point, label: str, times: int) -> Row:
    return {
        "layer": plain(point.layer),
        "ceiling": label,
        "x": point.intensity,
        "y": point.performance,
        "binding": point.binding,
        "times": times,
        "cycles": point.weight,
    }


def _chart(x: _Span, y: _Span, colors: _Colors) -> alt.LayerChart:
    """Lines and points on the same scales; an item clicked in the legend is highlighted."""
    roof = _line("peak", INK).encode(tooltip=shown("ceiling"))
    lines = _line("ceilings", "").encode(
        stroke=alt.Stroke(
            field="ceiling", type="nominal", scale=scale_of(*colors), legend=legend()
        ),
        opacity=faded(),
        tooltip=shown("ceiling"),
    )
    layers = (roof, lines, _marks(colors).add_params(picked("ceiling"), zoom()))
    placed = (layer.encode(x=_across(x), y=_up(y)) for layer in layers)
    return (
        alt.LayerChart(layer=list(placed))
        .add_params(parameter(DARK, value=False))
        .properties(width="container", height=_HEIGHT)
    )


def _line(data: str, style: str) -> alt.Chart:
    mark = alt.MarkDef(type="line", clip=True, strokeWidth=2, style=style, aria=False)
    return alt.Chart(alt.NamedData(data), mark=mark)


def _marks(colors: _Colors) -> alt.Chart:
    """The points."""
    scale = scale_of(*colors)
    aria = "datum.layer + ' at ' + datum.ceiling + ': ' + datum.intensity + ', ' + datum.achieved"
    return (
        alt.Chart(alt.NamedData("points"), mark=alt.MarkDef(type="point", clip=True))
        .transform_calculate(
            intensity=exact("x", "MAC/byte"),
            achieved=exact("y", "MAC/cycle"),
            latency=exact("cycles", "cycles"),
        )
        .transform_calculate(aria=aria)
        .encode(
            stroke=alt.Stroke(field="ceiling", type="nominal", scale=scale, legend=legend()),
            fill=alt.Fill(field="ceiling", type="nominal", scale=scale, legend=legend()),
            fillOpacity=alt.condition("datum.binding", alt.value(0.9), alt.value(0)),
            size=alt.condition("datum.binding", alt.value(80), alt.value(25)),
            opacity=faded(),
            description=described(),
            tooltip=[
                shown("layer"),
                shown("times", "layers of this kind"),
                shown("ceiling", "memory"),
                shown("intensity", "operational intensity"),
                shown("achieved", "performance"),
                shown("latency", "latency of all of its kind"),
            ],
        )
    )


def _across(span: _Span) -> alt.X:
    return alt.X(
        field="x",
        type="quantitative",
        scale=_log(span),
        axis=log_axis("Operational intensity", _INTENSITY, "bottom"),
    )


def _up(span: _Span) -> alt.Y:
    return alt.Y(
        field="y",
        type="quantitative",
        scale=_log(span),
        axis=log_axis("Performance", _PERFORMANCE, "left"),
    )


def _log(span: _Span) -> alt.Scale:
    return alt.Scale(type="log", domain=list(span), nice=False)
