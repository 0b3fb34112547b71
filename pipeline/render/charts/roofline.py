"""Charts the roofline of the layers, below the ceilings of array and memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from nestmap.model import Accelerator, NetworkEvaluation
from nestmap.pipeline.analysis.network.roofline import Ceiling, Point, ceilings, peak, points
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of, memory_looks
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.render.charts.alt_text import ceiling_text, roofline_text
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.vega_spec import (
    DARK,
    INK,
    Data,
    Row,
    Spec,
    calculated,
    described,
    either,
    exact,
    faded,
    in_main_view,
    legend,
    letters,
    log_axis,
    main_view,
    nominal,
    parameter,
    picked,
    plain,
    quantitative,
    scale_of,
    shown,
    spec_text,
    unit_view,
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
    summary, text = roofline_text(every, highest), _peak_text(highest)
    data: Data = {
        "peak": [
            {"x": end, "y": highest, "ceiling": text, "name": text if end == x.high else ""}
            for end in x
        ],
        "ceilings": [row for each in found for row in _ceiling(x, each, labels[each.memory])],
        "points": [_point(each, labels[each.memory], times[each.layer]) for each in every],
    }
    chart: Spec = {**_chart(x, y, colors), "description": summary}
    spec = spec_text(chart, data, letters(colors.labels))
    return Chart(name="roofline", title="Roofline of the layers", summary=summary, spec=spec)


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


def _chart(x: _Span, y: _Span, colors: _Colors) -> Spec:
    """Lines and points on the same scales; an item clicked in the legend is highlighted."""
    place: Spec = {
        "x": _scaled("x", x, log_axis("Operational intensity", _INTENSITY, "bottom")),
        "y": _scaled("y", y, log_axis("Performance", _PERFORMANCE, "left")),
    }
    color = nominal("ceiling", {"scale": scale_of(*colors), "legend": legend()})
    ceiling: Spec = {**place, "tooltip": shown("ceiling")}
    lines: Spec = {**ceiling, "stroke": color, "opacity": faded()}
    return {
        "layer": [
            unit_view("peak", _line(INK), ceiling),
            _peak_name(place),
            unit_view("ceilings", _line(""), lines),
            main_view(_marks(place, color)),
        ],
        "params": [*in_main_view(picked("ceiling"), zoom()), parameter(DARK, value=False)],
        "height": _HEIGHT,
    }


def _scaled(field: str, span: _Span, axis: Spec) -> Spec:
    scale: Spec = {"type": "log", "domain": list(span), "nice": False}
    return quantitative(field, {"scale": scale, "axis": axis})


def _peak_name(place: Spec) -> Spec:
    """The name of the array's line, at its right end."""
    mark: Spec = {"type": "text", "align": "right", "dx": -4, "dy": -7, "aria": False, "style": INK}
    return unit_view("peak", {**mark, "strokeWidth": 0}, {**place, "text": nominal("name")})


def _line(style: str) -> Spec:
    return {"type": "line", "clip": True, "strokeWidth": 2, "style": style, "aria": False}


def _marks(place: Spec, color: Spec) -> Spec:
    """The points."""
    return unit_view(
        "points",
        {"type": "point", "clip": True},
        {
            **place,
            "stroke": color,
            "fill": color,
            "fillOpacity": either("datum.binding", 0.9, 0),
            "size": either("datum.binding", 80, 25),
            "opacity": faded(),
            "description": described(),
            "tooltip": [
                shown("layer"),
                shown("times", "layers of this kind"),
                shown("ceiling", "memory"),
                shown("intensity", "operational intensity"),
                shown("achieved", "performance"),
                shown("latency", "latency of all of its kind"),
            ],
        },
        calculated(
            {
                "intensity": exact("x", "MAC/byte"),
                "achieved": exact("y", "MAC/cycle"),
                "latency": exact("cycles", "cycles"),
                "aria": "datum.layer + ' at ' + datum.ceiling + ': ' + datum.intensity + ', ' + "
                "datum.achieved",
            }
        ),
    )
