"""Common elements of all charts: parameters, colours, axes, specification text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import altair as alt
from altair.utils.schemapi import debug_mode

from nestmap.pipeline.analysis.network.scatter import Floats, is_wide
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.format.palette import Look
from nestmap.pipeline.pages.report.charts.palette import tone
from nestmap.pipeline.render.text.plain_table import printable

Value = str | int | float | bool
Row = Mapping[str, Value]
Data = Mapping[str, Sequence[Row]]
"""Named tables, row by row."""

Side = Literal["top", "bottom", "left"]

DARK: Final = "dark"
"""The parameter for dark pages, set by ``charts.js``."""

INK: Final = "ink"
"""The style of lines in the text colour, also used in ``charts.js``."""

OUTLINED: Final = "outlined"
"""The style of areas with an outline in the text colour."""

ZOOM: Final = "zoom"
"""The parameter for the visible part of the axes, also used in ``charts.js``."""

_PICKED: Final = "picked"
_FADED: Final = 0.12
_MARGIN: Final = 0.04


def exact(field: str, unit: str) -> str:
    """An expression: a field with all significant digits, and its unit."""
    return f"format(datum.{field}, ',.15~r') + ' {unit}'"


def percent(field: str) -> str:
    """An expression: a field, a share of 1, in percent."""
    return f"format(100 * datum.{field}, ',.4~r') + ' %'"


def plain(name: str) -> str:
    """A name from the user, with invisible characters escaped."""
    return printable(name)


def axis(title: str, unit: Unit, orient: Side, *, grid: bool = True) -> alt.Axis:
    """A numeric axis with a unit, on a side of the chart."""
    return alt.Axis(
        title=f"{title} ({unit.name})",
        orient=orient,
        labelExpr=f"format(datum.value / {unit.divisor!r}, ',.4~g')",
        labelOverlap="greedy",
        tickCount=ticks(orient),
        grid=grid,
    )


def log_axis(title: str, unit: Unit, orient: Side) -> alt.Axis:
    """As :func:`axis`, for a logarithmic scale: only 1, 2 and 5 have labels and lines."""
    value = f"datum.value / {unit.divisor!r}"
    labelled = f"indexof('125', format({value}, '.0e')[0]) >= 0"
    written = f"{value} < 1 ? format({value}, '~g') : format({value}, '~s')"
    only = {"condition": {"test": labelled, "value": 1}, "value": 0}
    return alt.Axis(
        title=[title, f"({unit.name})"],
        orient=orient,
        labelExpr=f"{labelled} ? {written} : ''",
        labelOverlap="greedy",
        gridOpacity=only,
        tickOpacity=only,
        tickCount=ticks(orient),
    )


def cost_axis(values: Floats) -> Callable[[str, Unit, Side], alt.Axis]:
    """Makes the axis of costs: :func:`log_axis` if they differ much, else :func:`axis`."""
    return log_axis if is_wide(values) else axis


def cost_scale(values: Floats) -> alt.Scale:
    """The scale of costs: logarithmic if they differ much, with a small margin."""
    low, high = float(values.min()), float(values.max())
    if is_wide(values):
        room = (high / low) ** _MARGIN
        return alt.Scale(type="log", domain=[low / room, high * room], nice=False)
    room = (high - low) * _MARGIN or high * _MARGIN or 1.0
    return alt.Scale(type="linear", domain=[low - room, high + room], nice=False, zero=False)


def ticks(orient: Side) -> alt.ExprRef:
    """As many marks on an axis as their labels allow."""
    return alt.ExprRef("ceil(height / 50)" if orient == "left" else "ceil(width / 90)")


def scale_of(labels: Sequence[str], looks: Sequence[Look]) -> alt.Scale:
    """The colours of labelled parts."""
    tones = [tone(look) for look in looks]
    colors = [alt.ExprRef(f"{DARK} ? '{x.dark}' : '{x.light}'") for x in tones]
    return alt.Scale(domain=list(labels), range=colors)


def legend() -> alt.Legend:
    """A legend above the chart; ``charts.js`` sets its number of columns."""
    return alt.Legend(
        title=None, orient="top", direction="horizontal", labelLimit=260, symbolLimit=0
    )


def picked(field: str) -> alt.Parameter:
    """The item clicked in the legend."""
    return alt.selection_point(name=_PICKED, fields=[field], bind="legend")


def faded(opacity: float = 1.0) -> alt.OpacityValue:
    """Fades the items that were not clicked in the legend, once one was."""
    return alt.OpacityValue(_FADED, condition={"param": _PICKED, "value": opacity})


def zoom() -> alt.Parameter:
    """Dragging moves the chart, Ctrl and the wheel zoom, a double click resets it."""
    return alt.selection_interval(
        name=ZOOM, bind="scales", zoom="wheel![event.ctrlKey || event.metaKey]"
    )


def shown(field: str, title: str = "") -> alt.Tooltip:
    """A line of a tooltip."""
    return alt.Tooltip(field=field, type="nominal", title=title or field)


def described() -> alt.Description:
    """The description of a mark for screen readers: its field ``aria``."""
    return alt.Description(field="aria", type="nominal")


def parameter(name: str, value: object) -> alt.Parameter:
    """A named constant for expressions."""
    return alt.param(name=name, value=value)


unvalidated: Final = debug_mode(False)
"""Decorates functions that make charts: Altair then does not validate each part of a chart.

That takes half of the time, and a test validates the charts.
"""


class Letters(NamedTuple):
    """The lengths of the longest texts; ``charts.js`` reserves space for them."""

    legend: int
    axis: int


def letters(legend: Iterable[str], axis: Iterable[str] = ("0.123",)) -> Letters:
    """The lengths of texts in a legend and at the axis on the left."""
    return Letters(max(map(len, legend)), max(map(len, axis)))


def spec_text(
    chart: alt.Chart | alt.LayerChart, data: Data, longest: Letters, time: int | None = None
) -> str:
    """The specification including its data, without external addresses.

    Charts over a time from 0 to ``time`` show the same window of it, if they are of one run.
    """
    room = {"legendLetters": longest.legend, "axisLetters": longest.axis}
    if time is not None:
        room["time"] = time
    spec: dict[str, object] = chart.properties(usermeta=room).to_dict(validate=False)
    for name in ("$schema", "config"):
        spec.pop(name, None)
    tables = {name: [dict(row) for row in rows] for name, rows in data.items()}
    return json.dumps(
        spec | {"datasets": tables}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
