"""Places the rows of a Gantt chart: groups with headings, channels thinner than cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from nestmap.pipeline.analysis.schedule.tables import Row, RowKind

HEADINGS: Final = {
    RowKind.CORE: "Cores",
    RowKind.WIRE: "Channels between cores",
    RowKind.OFFCHIP: "Channels to off-chip memory",
}

_HEADING: Final = 0.17
_WIRE: Final = 0.62
"""The height of a channel's row, relative to a core's."""


class Layout(NamedTuple):
    """Positions from the top down, in inches: middle and height of each row, headings."""

    middles: tuple[float, ...]
    heights: tuple[float, ...]
    headings: tuple[tuple[float, str], ...]
    inches: float


def row_layout(rows: Sequence[Row], *, scale: float = 1.0) -> Layout:
    """The layout of rows; the more rows, the thinner they are, down to a limit."""
    core = scale * min(0.27, max(0.15, 4.6 / max(1, len(rows))))
    middles: list[float] = []
    heights: list[float] = []
    headings: list[tuple[float, str]] = []
    at = 0.0
    for i, row in enumerate(rows):
        if not i or row.kind is not rows[i - 1].kind:
            headings.append((at + _HEADING / 2, HEADINGS[row.kind]))
            at += _HEADING
        height = core if row.kind is RowKind.CORE else max(_WIRE * core, 0.125)
        middles.append(at + height / 2)
        heights.append(height)
        at += height
    return Layout(tuple(middles), tuple(heights), tuple(headings), at)
