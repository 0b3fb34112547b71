"""Draws the usage of memories over time, with peaks and capacities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.tables import MemoryUse
from nestmap.pipeline.analysis.schedule.utilization import memory_uses
from nestmap.pipeline.format.numbers import capacity, share
from nestmap.pipeline.format.palette import INK, SERIES
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.schedule.gantt import hide_time, scale_time, schedule_title
from nestmap.pipeline.render.figures.style import SMALL, WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name

_CELLS: Final = 600
_MOST_SINGLE: Final = 6
"""The maximum number of panels in one column; more panels take two columns."""

_PANEL: Final = 0.85
_NEAR: Final = 2.5
"""A capacity of up to this multiple of the peak is drawn."""

_ROOM: Final = 1.3


@styled()
def memory_use_figure(schedule: Schedule) -> Figure:
    """The usage of each on-chip memory over time, its peak and its capacity.

    The dashed line is the capacity; if the peak is far below it, it is only given as a number.
    Memories that are never used are listed; the off-chip memory is left out.
    """
    found = [use for use in memory_uses(schedule, _CELLS) if not use.offchip]
    used = [use for use in found if use.peak]
    idle = [use for use in found if not use.peak]
    columns = 1 if len(used) <= _MOST_SINGLE else 2
    rows = max(1, -(-len(used) // columns))
    figure = new_figure(WIDTH, rows * _PANEL + 0.85)
    for i, use in enumerate(used):
        axes = page_of(figure).add_subplot(rows, columns, i + 1)
        _draw(axes, use, schedule.latency)
        if i // columns + 1 < rows:
            hide_time(axes)
    set_title(figure, schedule_title(schedule))
    if idle:
        page_of(figure).supxlabel(_not_used(idle), x=0.01, ha="left", fontsize=SMALL)
    return figure


def _draw(axes: Plot, use: MemoryUse, latency: int) -> None:
    """The usage of a memory as steps, from the first change to the end."""
    times = np.concatenate(([0], use.times, [latency])).astype(np.float64)
    bits = np.concatenate(([0], use.bits, use.bits[-1:])).astype(np.float64)
    axes.fill_between(times, bits, step="post", facecolor=SERIES, linewidth=0)
    axes.plot(times, bits, color=SERIES, linewidth=0.7, drawstyle="steps-post")
    high = use.peak * _ROOM
    if use.capacity <= _NEAR * use.peak:
        high = max(high, use.capacity * 1.12)
        axes.plot([0, latency], [use.capacity] * 2, color=INK, linewidth=0.9, linestyle="--")
    scale_time(axes, latency)
    axes.set_ylim(0, high)
    ticks = _ticks(int(high))
    axes.set_yticks(ticks, [capacity(bits) for bits in ticks])
    axes.set_title(f"{_name(use)}: {_peak(use)}", loc="left", fontsize=SMALL, pad=3)
    axes.grid(visible=True)


def _ticks(high: int) -> list[int]:
    """Two or three sizes up to a maximum: 1, 2 or 5 times 1, 10 or 100 units."""
    unit = 8
    while high >= 1024 * unit:
        unit *= 1024
    steps = (unit * 10**power * first for power in range(4) for first in (1, 2, 5))
    step = next((x for x in steps if high < 3 * x), unit)
    return list(range(0, high + 1, step))


def _peak(use: MemoryUse) -> str:
    """The text of peak and capacity."""
    part = share(use.peak / use.capacity)
    return f"peak {capacity(use.peak)} of {capacity(use.capacity)} ({part})"


def _name(use: MemoryUse) -> str:
    name, cores = short_name(use.home.name, 20), ", ".join(map(str, use.home.cores))
    return f"{name} of core{'s' if len(use.home.cores) > 1 else ''} {cores}"


def _not_used(idle: Sequence[MemoryUse]) -> str:
    """The names of unused memories; only the first ones if there are many."""
    names = [_name(use) for use in idle]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Not used: {', '.join(names[:3])}{more}"
