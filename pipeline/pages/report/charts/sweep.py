"""Charts of a sweep: its designs by two objectives, and as lines over parallel axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import altair as alt

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
from nestmap.pipeline.pages.report.charts.chart import Chart
from nestmap.pipeline.pages.report.charts.vega_spec import (
    DARK,
    INK,
    Row,
    Side,
    cost_axis,
    cost_scale,
    described,
    letters,
    parameter,
    plain,
    scale_of,
    shown,
    spec_text,
    unvalidated,
)

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
_LOOKS: Final = (Look(SERIES), Look(RAMP[4]))
_HEIGHT: Final = 360
_IS_CHOSEN: Final = f"length({CHOSEN}) == 0 || indexof({CHOSEN}, datum.design) >= 0"
_TOLD: Final = (shown("design"), shown("told", "parameters"), shown("figures"))
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


@unvalidated
def _front_chart(view: DesignsView) -> Chart:
    """The designs as points."""
    up, across = view.objectives[:2]
    places = _drawn(view, MOST_POINTS)
    x = alt.X(
        field="x",
        type="quantitative",
        scale=cost_scale(across.values),
        axis=_axis(across, "bottom"),
    )
    y = alt.Y(field="y", type="quantitative", scale=cost_scale(up.values), axis=_axis(up, "left"))
    chart = (
        alt.Chart(alt.NamedData(_DESIGNS), mark=alt.MarkDef(type="point", filled=True, clip=True))
        .transform_calculate(aria=_ARIA)
        .encode(
            x=x,
            y=y,
            color=_colors(),
            size=alt.condition(f"datum.kind === '{FRONT}'", alt.value(55), alt.value(18)),
            opacity=_clicked(0.8),
            tooltip=list(_TOLD),
            description=described(),
        )
        .add_params(parameter(DARK, value=False), parameter(CHOSEN, []))
        .properties(width="container", height=_HEIGHT)
    )
    title = f"{labelled(up).label} over {labelled(across).label}"
    summary = _summary(view, up, len(places))
    rows = [
        {**_design(view, n), "x": float(across.values[n]), "y": float(up.values[n])} for n in places
    ]
    text = spec_text(
        chart.properties(description=summary), {_DESIGNS: rows}, letters((FRONT, DOMINATED))
    )
    return Chart(name="designs", title=title, summary=summary, spec=text)


@unvalidated
def _parallel_chart(view: DesignsView) -> Chart:
    """The designs as lines."""
    every = parallel_axes(view)
    places = _drawn(view, MOST_LINES)
    lines = (
        alt.Chart(alt.NamedData(_PLACES), mark=alt.MarkDef(type="line", clip=True))
        .transform_lookup(
            lookup="design",
            from_=alt.LookupData(
                data=alt.NamedData(_DESIGNS), key="design", fields=["kind", "told", "figures"]
            ),
        )
        .transform_calculate(aria=_ARIA)
        .encode(
            x=_across(len(every)),
            y=alt.Y(field="height", type="quantitative", axis=None),
            detail=alt.Detail(field="design", type="nominal"),
            color=_colors(),
            strokeWidth=alt.condition(f"datum.kind === '{FRONT}'", alt.value(1.8), alt.value(0.7)),
            opacity=_clicked(0.7),
            tooltip=list(_TOLD),
            description=described(),
        )
    )
    chart = (
        alt.LayerChart(layer=[lines, *_ticks(len(every))])
        .add_params(
            parameter(DARK, value=False),
            parameter(CHOSEN, []),
            parameter(_NAMES, [shortened(plain(x.label), 26) for x in every]),
        )
        .properties(width="container", height=_HEIGHT)
    )
    drawn = "" if len(places) == len(view) else f" of {count(len(view))}"
    axes = ", ".join(plain(x.label) for x in every)
    summary = f"A line for each of {count(len(places))}{drawn} designs over {axes}."
    data = {
        _DESIGNS: [_design(view, n) for n in places],
        _PLACES: list(_heights(view, every, places)),
        _TICKS: list(_marks(every)),
    }
    text = spec_text(chart.properties(description=summary), data, letters((FRONT, DOMINATED)))
    return Chart(name="parallel", title="Parallel coordinates", summary=summary, spec=text)


def _drawn(view: DesignsView, most: int) -> list[int]:
    """The places of the designs that are drawn, the front last: above the others."""
    dominated: list[int] = dominated_shown(view, most).places.tolist()
    front: list[int] = view.front_places.tolist()
    return [*dominated, *front]


def _design(view: DesignsView, place: int) -> Row:
    """What a chart tells of a design."""
    parameters = (f"{x.name}={x.labels[x.places[place]]}" for x in view.parameters)
    figures = (_figure(x, place) for x in view.objectives)
    return {
        "design": view.numbers[place],
        "kind": FRONT if view.on_front[place] else DOMINATED,
        "told": plain(", ".join(parameters)),
        "figures": ", ".join(figures),
    }


def _figure(column: ObjectiveColumn, place: int) -> str:
    unit = labelled(column).unit
    return f"{column.objective} {unit.number(float(column.values[place]))} {unit.name}".rstrip()


def _heights(
    view: DesignsView, every: Sequence[ParallelAxis], places: Sequence[int]
) -> Iterator[Row]:
    for place in places:
        for n, one in enumerate(every):
            height = round(float(one.heights[place]), 5)
            yield {"design": view.numbers[place], "axis": n, "height": height}


def _marks(every: Sequence[ParallelAxis]) -> Iterator[Row]:
    for n, one in enumerate(every):
        for height, text in one.ticks:
            yield {"axis": n, "height": height, "text": shortened(plain(text), 14)}


def _across(axes: int) -> alt.X:
    """The axes side by side, with their names below."""
    named = alt.Axis(
        title=None, labelExpr=f"{_NAMES}[datum.value]", labelAngle=0, labelOverlap=False,
        labelPadding=10, grid=True, ticks=False, domain=False,
    )  # fmt: skip
    scale = alt.Scale(domain=list(range(axes)), padding=0.4)
    return alt.X(field="axis", type="ordinal", axis=named, scale=scale)


def _ticks(axes: int) -> Iterator[alt.Chart]:
    """The values at the axes."""
    data = alt.NamedData(_TICKS)
    height = alt.Y(field="height", type="quantitative", axis=None)
    dots = alt.MarkDef(type="point", filled=True, size=8, style=INK, opacity=1, aria=False)
    texts = alt.MarkDef(
        type="text", align="right", dx=-5, fontSize=10, style=INK, strokeWidth=0, aria=False
    )
    yield alt.Chart(data, mark=dots).encode(x=_across(axes), y=height)
    text = alt.Text(field="text", type="nominal")
    yield alt.Chart(data, mark=texts).encode(x=_across(axes), y=height, text=text)


def _colors() -> alt.Color:
    return alt.Color(
        field="kind",
        type="nominal",
        scale=scale_of((DOMINATED, FRONT), _LOOKS),
        legend=alt.Legend(
            title=None, orient="top", direction="horizontal", symbolOpacity=1, symbolStrokeWidth=2
        ),
    )


def _clicked(opacity: float) -> alt.OpacityValue:
    """Fades the designs that were not clicked, once some were."""
    return alt.OpacityValue(0.08, condition={"test": _IS_CHOSEN, "value": opacity})


def _axis(column: ObjectiveColumn, side: Side) -> alt.Axis:
    label, unit = labelled(column)
    made = cost_axis(column.values)(label, unit, side)
    made.title = label
    return made


def _summary(view: DesignsView, column: ObjectiveColumn, drawn: int) -> str:
    best = int(column.values.argmin())
    front = int(view.on_front.sum())
    text = f"{count(len(view))} designs, {count(front)} on the Pareto front. "
    if drawn < len(view):
        text += f"{count(drawn)} are drawn. "
    return text + f"Least {column.objective}: design {view.numbers[best]}, {_figure(column, best)}."
