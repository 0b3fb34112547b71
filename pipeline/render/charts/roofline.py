"""Charts the roofline of the layers, below the ceilings of array and memories."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from nestmap.model import Accelerator, NetworkEvaluation
from nestmap.pipeline.analysis.network.roofline import Ceiling, Point, ceilings, peak, points
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of, memory_looks
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.alt_text import ceiling_text, roofline_text
from nestmap.pipeline.render.charts.chart import Chart

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
    data: vega.Data = {
        "peak": [
            {"x": end, "y": highest, "ceiling": text, "name": text if end == x.high else ""}
            for end in x
        ],
        "ceilings": [row for each in found for row in _ceiling(x, each, labels[each.memory])],
        "points": [_point(each, labels[each.memory], times[each.layer]) for each in every],
    }
    chart: vega.Spec = {**_chart(x, y, colors), "description": summary}
    spec = vega.spec_text(chart, data, vega.letters(colors.labels))
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


def _ceiling(x: _Span, ceiling: Ceiling, label: str) -> list[vega.Row]:
    return [{"x": end, "y": end * ceiling.width, "ceiling": label} for end in x]


def _point(point: Point, label: str, times: int) -> vega.Row:
    return {
        "layer": vega.plain(point.layer),
        "ceiling": label,
        "x": point.intensity,
        "y": point.performance,
        "binding": point.binding,
        "times": times,
        "cycles": point.weight,
    }


def _chart(x: _Span, y: _Span, colors: _Colors) -> vega.Spec:
    """Lines and points on the same scales; an item clicked in the legend is highlighted."""
    place: vega.Spec = {
        "x": _scaled("x", x, vega.log_axis("Operational intensity", _INTENSITY, "bottom")),
        "y": _scaled("y", y, vega.log_axis("Performance", _PERFORMANCE, "left")),
    }
    color = vega.nominal("ceiling", {"scale": vega.scale_of(*colors), "legend": vega.legend()})
    ceiling: vega.Spec = {**place, "tooltip": vega.shown("ceiling")}
    lines: vega.Spec = {**ceiling, "stroke": color, "opacity": vega.faded()}
    return {
        "layer": [
            vega.unit_view("peak", _line(vega.INK), ceiling),
            _peak_name(place),
            vega.unit_view("ceilings", _line(""), lines),
            vega.main_view(_marks(place, color)),
        ],
        "params": [
            *vega.in_main_view(vega.picked("ceiling"), vega.zoom()),
            vega.parameter(vega.DARK, value=False),
        ],
        "height": _HEIGHT,
    }


def _scaled(field: str, span: _Span, axis: vega.Spec) -> vega.Spec:
    scale: vega.Spec = {"type": "log", "domain": list(span), "nice": False}
    return vega.quantitative(field, {"scale": scale, "axis": axis})


def _peak_name(place: vega.Spec) -> vega.Spec:
    """The name of the array's line, at its right end."""
    mark: vega.Spec = {
        "type": "text",
        "align": "right",
        "dx": -4,
        "dy": -7,
        "aria": False,
        "style": vega.INK,
    }
    return vega.unit_view(
        "peak", {**mark, "strokeWidth": 0}, {**place, "text": vega.nominal("name")}
    )


def _line(style: str) -> vega.Spec:
    return {"type": "line", "clip": True, "strokeWidth": 2, "style": style, "aria": False}


def _marks(place: vega.Spec, color: vega.Spec) -> vega.Spec:
    """The points."""
    return vega.unit_view(
        "points",
        {"type": "point", "clip": True},
        {
            **place,
            "stroke": color,
            "fill": color,
            "fillOpacity": vega.either("datum.binding", 0.9, 0),
            "size": vega.either("datum.binding", 80, 25),
            "opacity": vega.faded(),
            "description": vega.described(),
            "tooltip": [
                vega.shown("layer"),
                vega.shown("times", "layers of this kind"),
                vega.shown("ceiling", "memory"),
                vega.shown("intensity", "operational intensity"),
                vega.shown("achieved", "performance"),
                vega.shown("latency", "latency of all of its kind"),
            ],
        },
        vega.calculated(
            {
                "intensity": vega.exact("x", "MAC/byte"),
                "achieved": vega.exact("y", "MAC/cycle"),
                "latency": vega.exact("cycles", "cycles"),
                "aria": "datum.layer + ' at ' + datum.ceiling + ': ' + datum.intensity + ', ' + "
                "datum.achieved",
            }
        ),
    )
