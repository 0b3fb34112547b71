"""The time axis of all charts of a schedule, with a common visible window."""

from typing import Final

from nestmap.pipeline.format.numbers import cycles_unit
from nestmap.pipeline.render.charts import vega_spec as vega

BEGIN: Final = "start"
"""The field on the axis, also used in ``charts.js``."""


def time_axis(latency: int, orient: vega.Side = "bottom") -> vega.Spec:
    """The channels of bars over the time from 0 up to the latency, in cycles."""
    scale: vega.Spec = {"domain": [0, max(latency, 1)], "nice": False}
    begin = vega.quantitative(
        BEGIN, {"scale": scale, "axis": vega.axis("Time", cycles_unit(latency), orient)}
    )
    return {"x": begin, "x2": {"field": "end"}}


def window() -> vega.Spec:
    """Dragging moves the window, Ctrl and the wheel zoom, a double click shows the whole time."""
    return {**brush(), "bind": "scales"}


def brush() -> vega.Spec:
    """Dragging selects the window of all other charts."""
    return {
        "name": vega.ZOOM,
        "select": {"type": "interval", "encodings": ["x"], "zoom": vega.WHEEL},
    }


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
    return f"({vega.ZOOM}.{BEGIN} ? {vega.ZOOM}.{BEGIN}[0] : 0)"


def _to(latency: int) -> str:
    return f"({vega.ZOOM}.{BEGIN} ? {vega.ZOOM}.{BEGIN}[1] : {latency})"
