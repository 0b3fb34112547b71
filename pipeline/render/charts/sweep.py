"""Charts of a sweep: its designs by two objectives, and as lines over parallel axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    ObjectiveColumn,
    check_not_empty,
)
from nestmap.pipeline.analysis.sweep.dominated import dominated_shown
from nestmap.pipeline.analysis.sweep.objective_units import labelled
from nestmap.pipeline.analysis.sweep.parallel_axes import ParallelAxis, parallel_axes
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import RAMP, SERIES, Look
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.chart import Chart

MOST_POINTS: Final = 2000
MOST_LINES: Final = 300
"""The largest numbers of dominated designs in the charts."""

CHOSEN: Final = "chosen"
"""The parameter for the numbers of the designs that were clicked, set by ``charts.js``."""

FRONT: Final = "Pareto front"
DOMINATED: Final = "dominated"

_DESIGNS: Final = "designs"
_PLACES: Final = "places"
_TICKS: Final = "ticks"
_NAMES: Final = "names"
LOOKS: Final = (Look(SERIES), Look(RAMP[4]))
"""The colours of dominated designs and of the front."""

_SHAPES: Final = ("circle", "square", "triangle-up")
_HEIGHT: Final = 360
_IS_CHOSEN: Final = f"length({CHOSEN}) == 0 || indexof({CHOSEN}, datum.design) >= 0"
_IS_BEST: Final = f"datum.kind === '{FRONT}'"
_TOLD: Final = (vega.shown("design"), vega.shown("told", "parameters"), vega.shown("figures"))
_ARIA: Final = "datum.kind + ', design ' + datum.design + ': ' + datum.told + '; ' + datum.figures"


def sweep_charts(view: DesignsView) -> tuple[Chart, ...]:
    """The designs by the first two objectives, and as lines over parallel axes.

    The front is complete; of many dominated designs some are drawn. With one objective, there is
    the second chart alone.

    Raises:
        InfeasibleError: if no design is feasible.
    """
    check_not_empty(view)
    if len(view.objectives) < 2:
        return (_parallel_chart(view),)
    return (_front_chart(view), _parallel_chart(view))


def _front_chart(view: DesignsView) -> Chart:
    """The designs as points."""
    up, across = view.objectives[:2]
    places = _drawn(view, MOST_POINTS)
    marks = vega.unit_view(
        _DESIGNS,
        {"type": "point", "filled": True, "clip": True},
        {
            "x": vega.quantitative(
                "x", {"scale": vega.cost_scale(across.values), "axis": _axis(across, "bottom")}
            ),
            "y": vega.quantitative(
                "y", {"scale": vega.cost_scale(up.values), "axis": _axis(up, "left")}
            ),
            "size": vega.either(_IS_BEST, 55, 18),
            **_mapped(view),
            **_looks(0.8),
        },
        vega.calculated({"aria": _ARIA}),
    )
    title = f"{labelled(up).label} over {labelled(across).label}"
    summary = _summary(view, up, len(places))
    rows = [
        {**_design(view, n), "x": float(across.values[n]), "y": float(up.values[n])} for n in places
    ]
    text = vega.spec_text(
        {**marks, **_frame(summary)}, {_DESIGNS: rows}, vega.letters((FRONT, DOMINATED))
    )
    return Chart(name="designs", title=title, summary=summary, spec=text)


def _parallel_chart(view: DesignsView) -> Chart:
    """The designs as lines."""
    every = parallel_axes(view)
    places = _drawn(view, MOST_LINES)
    drawn = "" if len(places) == len(view) else f" of {count(len(view))}"
    axes = ", ".join(vega.plain(x.label) for x in every)
    what = "designs" if len(view) == view.designs else "mapped designs"
    summary = f"A line for each of {count(len(places))}{drawn} {what} over {axes}."
    data = {
        _DESIGNS: [_design(view, n) for n in places],
        _PLACES: list(_heights(view, every, places)),
        _TICKS: list(_marks(every)),
    }
    names = vega.parameter(_NAMES, [shortened(vega.plain(x.label), 26) for x in every])
    chart: vega.Spec = {
        "layer": [_lines(len(every)), *_ticks(len(every))],
        **_frame(summary, names),
    }
    text = vega.spec_text(chart, data, vega.letters((FRONT, DOMINATED)))
    return Chart(name="parallel", title="Parallel coordinates", summary=summary, spec=text)


def _frame(summary: str, *constants: vega.Spec) -> vega.Spec:
    """What both charts state besides their marks."""
    params = [vega.parameter(vega.DARK, value=False), vega.parameter(CHOSEN, []), *constants]
    return {"params": params, "height": _HEIGHT, "description": summary}


def _drawn(view: DesignsView, most: int) -> list[int]:
    """The places of the designs that are drawn, the front last: above the others."""
    dominated: list[int] = dominated_shown(view, most).places.tolist()
    front: list[int] = view.front_places.tolist()
    return [*dominated, *front]


def _design(view: DesignsView, place: int) -> vega.Row:
    """What a chart tells of a design."""
    parameters = [f"{x.name}={x.labels[x.places[place]]}" for x in view.parameters]
    if len(view.objectives_mapped_for) > 1:
        parameters.append(f"mapped for {view.mapped_for[place]}")
    figures = (_figure(x, place) for x in view.objectives)
    return {
        "row": place,
        "design": view.numbers[place],
        "mapped": view.mapped_for[place].value,
        "kind": FRONT if view.on_front[place] else DOMINATED,
        "told": vega.plain(", ".join(parameters)),
        "figures": ", ".join(figures),
    }


def _figure(column: ObjectiveColumn, place: int) -> str:
    unit = labelled(column).unit
    return f"{column.objective} {unit.number(float(column.values[place]))} {unit.name}".rstrip()


def _heights(
    view: DesignsView, every: Sequence[ParallelAxis], places: Sequence[int]
) -> Iterator[vega.Row]:
    for place in places:
        for n, one in enumerate(every):
            height = round(float(one.heights[place]), 5)
            yield {"row": place, "axis": n, "height": height}


def _marks(every: Sequence[ParallelAxis]) -> Iterator[vega.Row]:
    for n, one in enumerate(every):
        for height, text in one.ticks:
            yield {"axis": n, "height": height, "text": shortened(vega.plain(text), 14)}


def _lines(axes: int) -> vega.Spec:
    told: vega.Spec = {
        "data": {"name": _DESIGNS},
        "key": "row",
        "fields": ["design", "kind", "told", "figures"],
    }
    return vega.unit_view(
        _PLACES,
        {"type": "line", "clip": True},
        {
            **_place(axes),
            "detail": vega.nominal("row"),
            "strokeWidth": vega.either(_IS_BEST, 1.8, 0.7),
            **_looks(0.7),
        },
        [{"lookup": "row", "from": told}, *vega.calculated({"aria": _ARIA})],
    )


def _place(axes: int) -> vega.Spec:
    """The axes side by side, with their names below."""
    named: vega.Spec = {
        "title": None, "labelExpr": f"{_NAMES}[datum.value]", "labelAngle": 0,
        "labelOverlap": False, "labelPadding": 10, "grid": True, "ticks": False, "domain": False,
    }  # fmt: skip
    scale: vega.Spec = {"domain": list(range(axes)), "padding": 0.4}
    return {
        "x": vega.ordinal("axis", {"axis": named, "scale": scale}),
        "y": vega.quantitative("height", {"axis": None}),
    }


def _ticks(axes: int) -> Iterator[vega.Spec]:
    """The values at the axes."""
    drawn: vega.Spec = {"style": vega.INK, "aria": False}
    dots: vega.Spec = {"type": "point", "filled": True, "size": 8, "opacity": 1, **drawn}
    texts: vega.Spec = {
        "type": "text",
        "align": "right",
        "dx": -5,
        "fontSize": 10,
        "strokeWidth": 0,
    }
    yield vega.unit_view(_TICKS, dots, _place(axes))
    yield vega.unit_view(_TICKS, {**texts, **drawn}, {**_place(axes), "text": vega.nominal("text")})


def _mapped(view: DesignsView) -> vega.Spec:
    """A shape for each objective that designs are mapped for, if there are several."""
    objectives = [x.value for x in view.objectives_mapped_for]
    if len(objectives) < 2:
        return {}
    legend: vega.Spec = {**vega.legend(), "title": "mapped for", "titleOrient": "left"}
    scale: vega.Spec = {"domain": objectives, "range": list(_SHAPES[: len(objectives)])}
    return {"shape": vega.nominal("mapped", {"scale": scale, "legend": legend})}


def _looks(opacity: float) -> vega.Spec:
    """Colours, tooltips and descriptions; once designs were clicked, the others fade."""
    above: vega.Spec = {"title": None, "orient": "top", "direction": "horizontal"}
    symbols: vega.Spec = {**above, "symbolOpacity": 1, "symbolStrokeWidth": 2}
    scale = vega.scale_of((DOMINATED, FRONT), LOOKS)
    return {
        "color": vega.nominal("kind", {"scale": scale, "legend": symbols}),
        "opacity": vega.either(_IS_CHOSEN, opacity, 0.08),
        "tooltip": _TOLD,
        "description": vega.described(),
    }


def _axis(column: ObjectiveColumn, side: vega.Side) -> vega.Spec:
    label, unit = labelled(column)
    return {**vega.cost_axis(column.values)(label, unit, side), "title": label}


def _summary(view: DesignsView, column: ObjectiveColumn, drawn: int) -> str:
    best = int(column.values.argmin())
    text = f"{count(view.designs)} designs, {count(view.front_designs)} on the Pareto front. "
    if drawn < len(view):
        text += f"{count(drawn)} of {count(len(view))} points are drawn. "
    return text + f"Least {column.objective}: design {view.numbers[best]}, {_figure(column, best)}."
