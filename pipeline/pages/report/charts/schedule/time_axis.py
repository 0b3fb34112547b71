"""The time axis of all charts of a schedule, with a common visible window."""

from __future__ import annotations

from typing import Final

import altair as alt

from nestmap.pipeline.format.numbers import cycles_unit
from nestmap.pipeline.pages.report.charts.vega_spec import ZOOM, Side, axis

BEGIN: Final = "start"
"""The field on the axis, also used in ``charts.js``."""

_HAND: Final = "wheel![event.ctrlKey || event.metaKey]"


def time_axis(latency: int, orient: Side = "bottom") -> alt.X:
    """The time from 0 up to the latency, in cycles."""
    return alt.X(
        field=BEGIN,
        type="quantitative",
        scale=alt.Scale(domain=[0, max(latency, 1)], nice=False),
        axis=axis("Time", cycles_unit(latency), orient),
    )


def until() -> alt.X2:
    """The end of a bar that begins at ``start``."""
    return alt.X2(field="end")


def window() -> alt.Parameter:
    """Dragging moves the window, Ctrl and the wheel zoom, a double click shows the whole time."""
    return alt.selection_interval(name=ZOOM, encodings=["x"], bind="scales", zoom=_HAND)


def brush() -> alt.Parameter:
    """Dragging selects the window of all other charts."""
    return alt.selection_interval(name=ZOOM, encodings=["x"], zoom=_HAND)


def within(latency: int) -> str:
    """An expression: whether a bar is in the window."""
    first, last = _from(), _to(latency)
    return f"datum.end >= {first} && datum.{BEGIN} <= {last}"


def is_narrow(latency: int, limit: float) -> str:
    """An expression: whether the window is shorter than so many cycles."""
    return f"{shown_length(latency)} < {limit!r}"


def shown_length(latency: int) -> str:
    """An expression: the length of the window, in cycles."""
    return f"{_to(latency)} - {_from()}"


def _from() -> str:
    return f"({ZOOM}.{BEGIN} ? {ZOOM}.{BEGIN}[0] : 0)"


def _to(latency: int) -> str:
    return f"({ZOOM}.{BEGIN} ? {ZOOM}.{BEGIN}[1] : {latency})"
