"""Charts of a sweep: its designs by each two objectives, and as lines over parallel axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple, final

import numpy as np

from nestmap.pipeline.analysis.network.scatter import is_wide
from nestmap.pipeline.analysis.sweep.designs_view import (
    DesignsView,
    Floats,
    ObjectiveColumn,
    check_not_empty,
    dominated_shown,
    labelled,
)
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
_NUMBERS: Final = "numbers"
_LIMITS: Final = "limits"
_NAMES: Final = "names"
LOOKS: Final = (Look(SERIES), Look(RAMP[4]))
"""The colours of dominated designs and of the front."""

_SHAPES: Final = ("circle", "square", "triangle-up")
_HEIGHT: Final = 360
_LABEL_SIZE: Final = 10
_WIDTHS: Final = (250, 500)
"""The widths (pixels) of a narrow and a wide chart, for which labels are placed."""

_AT_THE_END: Final = 0.9
"""From which share of the width on numbers stand to the left of their points."""

_NAME_WIDTH: Final = 110
"""The pixels between two axes from which on their names stand in one row."""

_NEAR: Final = 2.0
"""How many times the largest value, or what part of the least, a limit may be to widen the axis."""

_IS_CHOSEN: Final = f"length({CHOSEN}) == 0 || indexof({CHOSEN}, datum.design) >= 0"
_IS_BEST: Final = f"datum.kind === '{FRONT}'"
_TOLD: Final = (vega.shown("design"), vega.shown("told", "parameters"), vega.shown("figures"))
_ARIA: Final = "datum.kind + ', design ' + datum.design + ': ' + datum.told + '; ' + datum.figures"


def sweep_charts(view: DesignsView) -> tuple[Chart, ...]:
    """The designs by each two objectives, and as lines over parallel axes.

    The front is complete; of many dominated designs some are drawn. With one objective, there is
    the last chart alone.

    Raises:
        InfeasibleError: if no design is feasible.
    """
    check_not_empty(view)
    fronts = (
        _front_chart(view, "designs" if n == 1 else f"designs-{n}", *pair)
        for n, pair in enumerate(combinations(view.objectives, 2), start=1)
    )
    return (*fronts, _parallel_chart(view))


def _front_chart(
    view: DesignsView, name: str, up: ObjectiveColumn, across: ObjectiveColumn
) -> Chart:
    """The designs as points, those of the front with their numbers."""
    places = _drawn(view, MOST_POINTS)
    title = f"{labelled(up).label} over {labelled(across).label}"
    summary = _summary(view, up, len(places))
    rows = [
        {**_design(view, n), "x": float(across.values[n]), "y": float(up.values[n])} for n in places
    ]
    data: vega.Data = {
        _DESIGNS: rows,
        _NUMBERS: list(_numbers(view, up, across)),
        _LIMITS: list(_limit_rows(up, across)),
    }
    layers = [_points(view, up, across), *_labels(up, across), *_limits(up, across)]
    letters = vega.letters((FRONT, DOMINATED))
    if len(view.objectives_mapped_for) > 1:  # another legend is beside it
        letters = letters._replace(legend=letters.legend + 6)
    text = vega.spec_text({"layer": layers, **_frame(summary)}, data, letters)
    return Chart(name=name, title=title, summary=summary, spec=text)


def _points(view: DesignsView, up: ObjectiveColumn, across: ObjectiveColumn) -> vega.Spec:
    return vega.unit_view(
        _DESIGNS,
        {"type": "point", "filled": True, "clip": True},
        {
            **_cost_place(up, across),
            "size": vega.either(_IS_BEST, 55, 18),
            **_mapped(view),
            **_looks(0.8),
        },
        vega.calculated({"aria": _ARIA}),
    )


def _cost_place(up: ObjectiveColumn, across: ObjectiveColumn) -> vega.Spec:
    return {
        "x": vega.quantitative(
            "x", {"scale": vega.cost_scale(_near(across)), "axis": _axis(across, "bottom")}
        ),
        "y": vega.quantitative(
            "y", {"scale": vega.cost_scale(_near(up)), "axis": _axis(up, "left")}
        ),
    }


def _near(column: ObjectiveColumn) -> Floats:
    """The values of an axis, and the limits that are not far from them."""
    least, most = float(column.values.min()) / _NEAR, float(column.values.max()) * _NEAR
    return np.append(column.values, [x for x in column.limits if 0 < least <= x <= most])


# --- the numbers of designs on the front, where there is room ---


def _labels(up: ObjectiveColumn, across: ObjectiveColumn) -> Iterator[vega.Spec]:
    mark: vega.Spec = {
        "type": "text", "dy": -6, "fontSize": _LABEL_SIZE, "clip": True,
        "style": vega.INK, "strokeWidth": 0, "aria": False,
    }  # fmt: skip
    is_shown = f"datum.narrow || width >= {_WIDTHS[-1]}"
    for align, dx, which in (("left", 5, "!datum.left"), ("right", -5, "datum.left")):
        yield vega.unit_view(
            _NUMBERS,
            {**mark, "align": align, "dx": dx},
            {
                **_cost_place(up, across),
                "text": vega.nominal("design"),
                "opacity": vega.either(is_shown, 1, 0),
            },
            [{"filter": which}],
        )


@final
class _Label(NamedTuple):
    """The number of a design; its place along both axes, from 0 to 1, and where it begins."""

    place: int
    number: int
    x: float
    y: float

    @property
    def is_left(self) -> bool:
        """Whether it is to the left of its point, because the chart ends."""
        return self.x > _AT_THE_END

    def touches(self, other: _Label, width: int) -> bool:
        """Whether two labels overlap in a chart of so many pixels."""
        mine, others = self._span(width), other._span(width)
        is_beside = mine[1] < others[0] or others[1] < mine[0]
        return not is_beside and abs(self.y - other.y) < (_LABEL_SIZE + 2) / _HEIGHT

    def _span(self, width: int) -> tuple[float, float]:
        room = (0.65 * _LABEL_SIZE * len(str(self.number)) + 10) / width
        return (self.x - room, self.x) if self.is_left else (self.x, self.x + room)


def _numbers(view: DesignsView, up: ObjectiveColumn, across: ObjectiveColumn) -> Iterator[vega.Row]:
    """The labels that do not touch: first those in a narrow chart, then more in a wide one."""
    x, y = _unit_places(across), _unit_places(up)
    front: list[int] = view.front_places.tolist()
    first: dict[int, int] = {}
    for place in front:  # a design is there once for each objective it is mapped for
        first.setdefault(view.numbers[place], place)
    labels = [_Label(n, number, float(x[n]), float(y[n])) for number, n in first.items()]
    shown: list[_Label] = []
    for width in _WIDTHS:
        for label in labels:
            if label in shown or any(label.touches(x, width) for x in shown):
                continue
            shown.append(label)
            yield {
                "x": float(across.values[label.place]),
                "y": float(up.values[label.place]),
                "design": label.number,
                "left": label.is_left,
                "narrow": width == _WIDTHS[0],
            }


def _unit_places(column: ObjectiveColumn) -> Floats:
    """From 0 to 1 along the axis."""
    values, near = column.values, _near(column)
    if is_wide(near):
        values, near = np.log(values), np.log(near)
    low, high = float(near.min()), float(near.max())
    places: Floats = (values - low) / ((high - low) or 1.0)
    return places


# --- where constraints remove designs ---


def _limits(up: ObjectiveColumn, across: ObjectiveColumn) -> Iterator[vega.Spec]:
    """A dashed line at each limit of an axis."""
    place = _cost_place(up, across)
    line: vega.Spec = {
        "type": "rule", "clip": True, "strokeDash": [4, 3], "style": vega.INK, "aria": False,
    }  # fmt: skip
    text: vega.Spec = {"type": "text", "clip": True, "style": vega.INK, "strokeWidth": 0}
    places: dict[str, vega.Spec] = {
        "x": {"align": "right", "baseline": "top", "dx": -4, "y": 2},
        "y": {"align": "right", "baseline": "bottom", "dy": -3, "x": {"expr": "width - 2"}},
    }
    for channel, column in (("x", across), ("y", up)):
        if not column.limits:
            continue
        only: list[vega.Spec] = [{"filter": f"isValid(datum.{channel})"}]
        yield vega.unit_view(_LIMITS, line, {channel: place[channel]}, only)
        named: vega.Spec = {**text, **places[channel]}
        yield vega.unit_view(
            _LIMITS, named, {channel: place[channel], "text": vega.nominal("text")}, only
        )


def _limit_rows(up: ObjectiveColumn, across: ObjectiveColumn) -> Iterator[vega.Row]:
    for channel, column in (("x", across), ("y", up)):
        unit = labelled(column).unit
        for limit in column.limits:
            yield {channel: limit, "text": f"constraint: {unit.number(limit)}"}


# --- lines over parallel axes ---


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
    """The axes side by side, with their names below: in two rows where they are close."""
    is_close, name = f"width / {axes} < {_NAME_WIDTH}", f"{_NAMES}[datum.value]"
    named: vega.Spec = {
        "title": None, "labelAngle": 0, "labelOverlap": False, "labelPadding": 10,
        "labelExpr": f"{is_close} && datum.value % 2 ? ['', {name}] : {name}",
        "labelLimit": {"expr": f"({is_close} ? 2 : 1) * width / {axes} - 8"},
        "grid": True, "ticks": False, "domain": False,
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
    legend: vega.Spec = {**vega.legend(), "labelExpr": "'for ' + datum.label"}
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
    return {**vega.cost_axis(_near(column))(label, unit, side), "title": label}


def _summary(view: DesignsView, column: ObjectiveColumn, drawn: int) -> str:
    best = int(column.values.argmin())
    text = f"{count(view.designs)} designs, {count(view.front_designs)} on the Pareto front. "
    if drawn < len(view):
        text += f"{count(drawn)} of {count(len(view))} points are drawn. "
    return text + f"Least {column.objective}: design {view.numbers[best]}, {_figure(column, best)}."
