"""Common elements of all charts: parameters, colours, axes, specification text."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from nestmap.pipeline.analysis.network.scatter import Floats, is_wide
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.format.palette import Look, Tone, tone
from nestmap.pipeline.render.text.plain_table import printable

Value = str | int | float | bool
Row = Mapping[str, Value]
Data = Mapping[str, Sequence[Row]]
"""Named tables, row by row."""

Node = None | bool | int | float | str | Sequence["Node"] | Mapping[str, "Node"]
Spec = Mapping[str, Node]
"""An object of a specification: a chart or a part of it; tests validate whole charts."""

Side = Literal["top", "bottom", "left"]

DARK: Final = "dark"
"""The parameter for dark pages, set by ``charts.js``."""

INK: Final = "ink"
"""The style of lines in the text colour, also used in ``charts.js``."""

OUTLINED: Final = "outlined"
"""The style of areas with an outline in the text colour."""

ZOOM: Final = "zoom"
"""The parameter for the visible part of the axes, also used in ``charts.js``."""

WHEEL: Final = "wheel![event.ctrlKey || event.metaKey]"
"""The events that zoom."""

_CONFIG: Final[Spec] = {
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": 600, "titlePadding": 8,
        "gridOpacity": 0.15, "domainOpacity": 0.5, "tickOpacity": 0.5,
    },
    "legend": {"labelFontSize": 12, "symbolStrokeWidth": 0.6},
    "bar": {"strokeWidth": 0.6, "strokeOpacity": 0.45},
    "style": {"outlined": {"strokeWidth": 0.6}},
}  # fmt: skip
"""Sizes in all charts; colours are those of the page or the paper."""

_NOTHING: Final[Spec] = {}
_MAIN: Final = "main"
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


def axis(title: str, unit: Unit, orient: Side, *, grid: bool = True) -> Spec:
    """A numeric axis with a unit, on a side of the chart."""
    return {
        "title": f"{title} ({unit.name})",
        "orient": orient,
        "labelExpr": f"format(datum.value / {unit.divisor!r}, ',.7~g')",
        "labelOverlap": "greedy",
        "tickCount": ticks(orient),
        "grid": grid,
    }


def log_axis(title: str, unit: Unit, orient: Side) -> Spec:
    """As :func:`axis`, for a logarithmic scale: only 1, 2 and 5 have labels and lines."""
    value = f"datum.value / {unit.divisor!r}"
    labelled = f"indexof('125', format({value}, '.0e')[0]) >= 0"
    written = f"{value} < 1 ? format({value}, '~g') : format({value}, '~s')"
    return {
        "title": [title, f"({unit.name})"],
        "orient": orient,
        "labelExpr": f"{labelled} ? {written} : ''",
        "labelOverlap": "greedy",
        "gridOpacity": either(labelled, 1, 0),
        "tickOpacity": either(labelled, 1, 0),
        "tickCount": ticks(orient),
    }


def cost_axis(values: Floats) -> Callable[[str, Unit, Side], Spec]:
    """Makes the axis of costs: :func:`log_axis` if they differ much, else :func:`axis`."""
    return log_axis if is_wide(values) else axis


def cost_scale(values: Floats) -> Spec:
    """The scale of costs: logarithmic if they differ much, with a small margin."""
    low, high = float(values.min()), float(values.max())
    if is_wide(values):
        room = (high / low) ** _MARGIN
        return {"type": "log", "domain": [low / room, high * room], "nice": False}
    room = (high - low) * _MARGIN or abs(high) * _MARGIN or 1.0
    return {"type": "linear", "domain": [low - room, high + room], "nice": False, "zero": False}


def ticks(orient: Side) -> Spec:
    """As many marks on an axis as their labels allow."""
    return {"expr": "ceil(height / 50)" if orient == "left" else "ceil(width / 90)"}


def scale_of(labels: Sequence[str], looks: Sequence[Look]) -> Spec:
    """The colours of labelled parts."""
    return {"domain": labels, "range": [color_of(tone(look)) for look in looks]}


def color_of(colors: Tone) -> Spec:
    """A colour for light pages and one for dark pages."""
    return {"expr": f"{DARK} ? '{colors.dark}' : '{colors.light}'"}


def legend() -> Spec:
    """A legend above the chart; ``charts.js`` sets its number of columns."""
    place: Spec = {"title": None, "orient": "top", "direction": "horizontal"}
    return {**place, "labelLimit": 260, "symbolLimit": 0}


def quantitative(field: str, properties: Spec = _NOTHING) -> Spec:
    """A channel for the numbers of a field."""
    return {"field": field, "type": "quantitative", **properties}


def ordinal(field: str, properties: Spec = _NOTHING) -> Spec:
    """A channel for the numbers of a field as places in an order."""
    return {"field": field, "type": "ordinal", **properties}


def nominal(field: str, properties: Spec = _NOTHING) -> Spec:
    """A channel for the texts of a field."""
    return {"field": field, "type": "nominal", **properties}


def either(test: str, value: float, otherwise: float) -> Spec:
    """One of two values, as an expression says."""
    return {"condition": {"test": test, "value": value}, "value": otherwise}


def picked(field: str) -> Spec:
    """The item clicked in the legend."""
    return {"name": _PICKED, "select": {"type": "point", "fields": [field]}, "bind": "legend"}


def faded(opacity: float = 1.0) -> Spec:
    """Fades the items that were not clicked in the legend, once one was."""
    return {"condition": {"param": _PICKED, "value": opacity}, "value": _FADED}


def zoom() -> Spec:
    """Dragging moves the chart, Ctrl and the wheel zoom, a double click resets it."""
    return {"name": ZOOM, "select": {"type": "interval", "zoom": WHEEL}, "bind": "scales"}


def shown(field: str, title: str = "") -> Spec:
    """A line of a tooltip."""
    return nominal(field, {"title": title or field})


def described() -> Spec:
    """The description of a mark for screen readers: its field ``aria``."""
    return nominal("aria")


def parameter(name: str, value: Node) -> Spec:
    """A named constant for expressions."""
    return {"name": name, "value": value}


def calculated(expressions: Mapping[str, str]) -> list[Spec]:
    """Fields by name, computed by expressions one after the other."""
    return [{"calculate": expression, "as": field} for field, expression in expressions.items()]


def unit_view(data: str, mark: Spec, encoding: Spec, transform: Sequence[Spec] = ()) -> Spec:
    """Marks for the rows of a table."""
    made: Spec = {"data": {"name": data}, "mark": mark, "encoding": encoding}
    return {**made, "transform": transform} if transform else made


def in_main_view(*selections: Spec) -> list[Spec]:
    """Selections in a chart with layers: among the items of its :func:`main_view`."""
    return [{**selection, "views": [_MAIN]} for selection in selections]


def main_view(layer: Spec) -> Spec:
    """The layer whose items can be selected."""
    return {**layer, "name": _MAIN}


class Letters(NamedTuple):
    """The lengths of the longest texts; ``charts.js`` reserves space for them."""

    legend: int
    axis: int


def letters(legend: Iterable[str], axis: Iterable[str] = ("0.123",)) -> Letters:
    """The lengths of texts in a legend and at the axis on the left."""
    return Letters(max(map(len, legend)), max(map(len, axis)))


def spec_text(chart: Spec, data: Data, longest: Letters, time: int | None = None) -> str:
    """The specification of a chart as wide as its place, including its data.

    Charts over a time from 0 to ``time`` show the same window of it, if they are of one run.
    """
    room = {"legendLetters": longest.legend, "axisLetters": longest.axis}
    if time is not None:
        room["time"] = time
    wide: Spec = {"width": "container"} if "height" in chart else {}  # else panels have widths
    whole: Spec = {**chart, **wide, "config": _CONFIG, "usermeta": room, "datasets": data}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
