"""Draws the data sent over each channel and between each pair of cores, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.figure import Figure

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.analysis.schedule.looks import KIND_LOOKS
from nestmap.pipeline.analysis.schedule.tables import BarKind, Traffic
from nestmap.pipeline.analysis.schedule.traffic import core_traffic, wire_traffic
from nestmap.pipeline.format.numbers import bits_unit, capacity
from nestmap.pipeline.render.figures.bars import Chart, draw_bars
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.schedule.colors import KIND_LABELS, core_ranges
from nestmap.pipeline.render.figures.schedule.gantt import schedule_title
from nestmap.pipeline.render.figures.schedule.gantt_legend import draw_fields, fields_height
from nestmap.pipeline.render.figures.style import SMALL, WIDTH, new_figure, set_title, styled

_MOST_ROWS: Final = 40
_ROW: Final = 0.17
_ROOM: Final = 1.25
_NOTHING: Final = Traffic("nothing", (0,) * len(BarKind))


@styled()
def data_sent_figure(schedule: Schedule) -> Figure:
    """The data sent over each channel and from each core to each other core, most first.

    A tensor for several cores at the same time counts once for a channel, and once for each of
    these cores. If there are very many bars, the last ones are merged into one.
    """
    wires, pairs = (_shown(x) for x in (wire_traffic(schedule), core_traffic(schedule)))
    kinds = [kind for kind in BarKind if any(sent.bits[kind] for sent in (*wires, *pairs))]
    charts = _chart("Over channels", wires, kinds), _chart("From core to core", pairs, kinds)
    rows = max(len(wires), len(pairs))
    fields = [(KIND_LABELS[kind], KIND_LOOKS[kind]) for kind in kinds]
    heights = fields_height(fields), rows * _ROW + 0.6
    figure = new_figure(WIDTH, sum(heights) + 0.35)
    above, below = page_of(figure).subfigures(2, 1, height_ratios=heights)
    draw_fields(above.add_subplot(), fields)
    for i, (chart, found) in enumerate(zip(charts, (wires, pairs), strict=True)):
        axes = below.add_subplot(1, 2, i + 1)
        draw_bars(axes, chart, slice(None), names=True)
        axes.set_ylim(rows - 0.4, -0.6)  # equal bar height in both charts
        _write(axes, found, chart)
    set_title(figure, schedule_title(schedule))
    return figure


def _shown(found: Sequence[Traffic]) -> list[Traffic]:
    """Sorted by size; the rest beyond the limit is summed."""
    ordered = sorted(found, key=lambda sent: -sent.total) or [_NOTHING]
    if len(ordered) <= _MOST_ROWS:
        return ordered
    kept, others = ordered[: _MOST_ROWS - 1], ordered[_MOST_ROWS - 1 :]
    bits = tuple(sum(column) for column in zip(*(sent.bits for sent in others), strict=True))
    return [*kept, Traffic(f"{len(others)} others", bits)]


def _chart(quantity: str, found: Sequence[Traffic], kinds: Sequence[BarKind]) -> Chart:
    """Bars in a unit of their own, with round numbers on the axis."""
    unit = bits_unit(max(sent.total for sent in found))
    names = tuple(core_ranges(sent.name) for sent in found)
    parts = tuple(
        Part(
            KIND_LABELS[kind],
            KIND_LOOKS[kind],
            tuple(sent.bits[kind] / unit.divisor for sent in found),
        )
        for kind in kinds or [BarKind.ACTIVATION]
    )
    return Chart(quantity, unit._replace(divisor=1.0), Bars(names, parts))


def _write(axes: Plot, found: Sequence[Traffic], chart: Chart) -> None:
    """The numbers at the ends of the bars."""
    totals = chart.bars.totals
    axes.set_xlim(0, max(totals) * _ROOM or 1.0)
    for row, (total, sent) in enumerate(zip(totals, found, strict=True)):
        axes.annotate(
            capacity(sent.total), (total, row), (3, 0), textcoords="offset points", va="center",
            fontsize=SMALL - 0.5,
        )  # fmt: skip
