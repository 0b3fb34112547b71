"""Draws a schedule: a row for each core and channel over time, with the critical path."""

from __future__ import annotations

from typing import Final

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.gantt import gantt
from nestmap.pipeline.format.numbers import count, cycles, cycles_unit, energy_text
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.schedule.gantt_legend import (
    draw_kinds,
    draw_layers,
    kinds_height,
    layers_height,
)
from nestmap.pipeline.render.figures.schedule.gantt_rows import row_layout
from nestmap.pipeline.render.figures.schedule.gantt_shapes import draw_chart
from nestmap.pipeline.render.figures.style import WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name, unit_formatter

CELLS: Final = 1400
"""The number of distinguishable cells of the time axis; narrower bars are merged."""

_AXIS: Final = 0.75


@styled()
def schedule_figure(schedule: Schedule) -> Figure:
    """The Gantt chart of a schedule: cores, then the channels in use, off-chip channels last.

    Nodes have the colour of their layer, transfers that of their kind; streams are hatched. Idle
    times of cores are light; the line is the critical path. Bars narrower than a pixel are merged
    (:func:`~nestmap.pipeline.analysis.schedule.downsample.downsample_bars`).
    """
    chart = gantt(schedule, CELLS)
    layout = row_layout(chart.rows)
    heights = kinds_height([chart]), layout.inches + _AXIS, layers_height(chart.layers)
    figure = new_figure(WIDTH, sum(heights) + 0.3)
    above, middle, below = page_of(figure).subfigures(3, 1, height_ratios=heights)
    draw_kinds(above.add_subplot(), [chart])
    axes = middle.add_subplot()
    draw_chart(axes, chart, layout, chart.latency)
    scale_time(axes, chart.latency)
    draw_layers(below.add_subplot(), [chart])
    set_title(figure, schedule_title(schedule))
    return figure


def schedule_title(schedule: Schedule) -> str:
    """The network, the accelerator and the cost of the schedule."""
    nodes, machine = schedule.problem.nodes, schedule.problem.accelerator
    return (
        f"{short_name(nodes.name)} on {short_name(machine.name)}: {count(len(nodes))} nodes, "
        f"{cycles(schedule.latency)} cycles, {energy_text(schedule.energy.total)}"
    )


def scale_time(axes: Plot, latency: int) -> None:
    """The time axis at the bottom, in cycles."""
    unit = cycles_unit(latency)
    axes.set_xlim(0, latency or 1)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8))
    axes.xaxis.set_major_formatter(unit_formatter(unit))
    axes.set_xlabel(f"Time ({unit.name})")


def hide_time(axes: Plot) -> None:
    """Removes the numbers of the time axis, which are below another plot."""
    axes.tick_params("x", length=2, labelbottom=False)
    axes.set_xlabel("")
