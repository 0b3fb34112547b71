"""Draws the occupancy of channels over time, by kind of data."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.looks import KIND_LOOKS
from nestmap.pipeline.analysis.schedule.tables import BarKind, WireUse
from nestmap.pipeline.analysis.schedule.utilization import wire_uses
from nestmap.pipeline.format.numbers import share
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.schedule.colors import KIND_LABELS, row_label
from nestmap.pipeline.render.figures.schedule.gantt import hide_time, scale_time, schedule_title
from nestmap.pipeline.render.figures.schedule.gantt_legend import draw_fields, fields_height
from nestmap.pipeline.render.figures.style import SMALL, WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name

_BINS: Final = 120
_MOST_SINGLE: Final = 5
_MOST_WIRES: Final = 40
_PANEL: Final = 0.72


@styled()
def link_use_figure(schedule: Schedule) -> Figure:
    """The share of the time in which each channel is in use, over time, by kind of data.

    If there are very many channels, those with the highest occupancy are drawn. Channels of
    unlimited bandwidth are left out.
    """
    uses = sorted(wire_uses(schedule, _BINS), key=lambda use: (-use.busy, use.row.number))
    shown = uses[:_MOST_WIRES]
    columns = 1 if len(shown) <= _MOST_SINGLE else 2
    rows = max(1, -(-len(shown) // columns))
    kinds = [kind for kind in BarKind if any(use.cycles[kind].any() for use in shown)]
    fields = [(KIND_LABELS[kind], KIND_LOOKS[kind]) for kind in kinds]
    heights = fields_height(fields), rows * _PANEL + 0.45
    figure = new_figure(WIDTH, sum(heights) + 0.35)
    above, below = page_of(figure).subfigures(2, 1, height_ratios=heights)
    draw_fields(above.add_subplot(), fields)
    for i, use in enumerate(shown):
        axes = below.add_subplot(rows, columns, i + 1)
        _draw(axes, use, schedule.latency)
        if i // columns + 1 < rows:
            hide_time(axes)
    set_title(figure, schedule_title(schedule))
    return figure


def _draw(axes: Plot, use: WireUse, latency: int) -> None:
    """The kinds stacked, bin by bin."""
    edges, below = use.edges.astype(np.float64), np.zeros(len(use.edges))
    for kind in BarKind:
        shares = use.shares[kind]
        if shares.any():
            above = below + np.append(shares, shares[-1:])
            look = KIND_LOOKS[kind]
            axes.fill_between(
                edges, below, above, step="post", facecolor=look.color, hatch=look.hatch,
                edgecolor="#555555" if look.hatch else look.color, linewidth=0.2,
            )  # fmt: skip
            below = above
    scale_time(axes, latency)
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
    busy = share(use.busy / latency) if latency else share(0)
    title = f"{short_name(row_label(use.row), 24)}: taken {busy} of the time"
    axes.set_title(title, loc="left", fontsize=SMALL, pad=3)
    axes.grid(visible=True)
