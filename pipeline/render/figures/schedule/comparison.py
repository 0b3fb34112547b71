"""Compares schedules, such as layer by layer and fused, and their costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.analysis.schedule.comparison import align_layers, without_wires
from nestmap.pipeline.analysis.schedule.energy import energy_bars
from nestmap.pipeline.analysis.schedule.gantt import gantt
from nestmap.pipeline.analysis.schedule.resource_loads import onchip_peak
from nestmap.pipeline.analysis.schedule.tables import Gantt
from nestmap.pipeline.format.numbers import (
    TIMES,
    bits_unit,
    capacity,
    count,
    cycles,
    cycles_unit,
    energy_text,
    energy_unit,
)
from nestmap.pipeline.format.palette import SERIES, Look
from nestmap.pipeline.render.figures.bars import Chart, draw_bars
from nestmap.pipeline.render.figures.matplotlib_types import Page, Plot, page_of
from nestmap.pipeline.render.figures.schedule.gantt import CELLS, hide_time, scale_time
from nestmap.pipeline.render.figures.schedule.gantt_legend import (
    draw_fields,
    draw_kinds,
    draw_layers,
    fields_height,
    kinds_height,
    layers_height,
)
from nestmap.pipeline.render.figures.schedule.gantt_rows import Layout, row_layout
from nestmap.pipeline.render.figures.schedule.gantt_shapes import draw_chart
from nestmap.pipeline.render.figures.style import SMALL, WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name

_CHART: Final = 0.34
_AXIS: Final = 0.36
_SCALE: Final = 0.8
_ROOM: Final = 1.75


class NamedSchedule(NamedTuple):
    """A schedule with a label: "layer by layer", "rows fused"."""

    name: str
    schedule: Schedule


@styled()
def schedules_figure(schedules: Sequence[NamedSchedule]) -> Figure:
    """Gantt charts of schedules below each other on the same time axis, with their costs.

    Only cores and off-chip channels have rows. Below them are latency, energy by component, and the
    sum of the peaks of all on-chip memories, with changes from the first schedule.

    Raises:
        ValueError: if there is no schedule.
    """
    if not schedules:
        raise ValueError("no schedule to compare; expected at least one")
    charts = [without_wires(x) for x in align_layers([gantt(x.schedule, CELLS) for x in schedules])]
    layers = charts[0].layers
    layouts = [row_layout(chart.rows, scale=_SCALE) for chart in charts]
    bars = _charts(schedules)
    fields = [(part.label, part.look) for part in bars[1].bars.parts]
    heights = (
        kinds_height(charts),
        sum(layout.inches + _CHART for layout in layouts) + _AXIS,
        layers_height(layers),
        fields_height(fields),
        0.26 * len(schedules) + 0.75,
    )
    figure = new_figure(WIDTH, sum(heights) + 0.5)
    kinds, above, names, parts, below = page_of(figure).subfigures(5, 1, height_ratios=heights)
    draw_kinds(kinds.add_subplot(), charts)
    _draw_charts(above, schedules, charts, layouts)
    draw_layers(names.add_subplot(), charts)
    draw_fields(parts.add_subplot(), fields)
    _draw_costs(below, schedules, bars)
    set_title(figure, _heading(schedules))
    return figure


def _heading(schedules: Sequence[NamedSchedule]) -> str:
    """The networks, the accelerators and the number of schedules."""
    problems = [named.schedule.problem for named in schedules]
    networks = " and ".join(dict.fromkeys(problem.nodes.name for problem in problems))
    machines = " and ".join(dict.fromkeys(problem.accelerator.name for problem in problems))
    subject = f"{short_name(networks, 50)} on {short_name(machines, 30)}"
    return f"{subject}: {len(schedules)} schedules compared"


def _draw_charts(
    page: Page,
    schedules: Sequence[NamedSchedule],
    charts: Sequence[Gantt],
    layouts: Sequence[Layout],
) -> None:
    """Draws the charts below each other, up to the end of the longest schedule."""
    longest = max(chart.latency for chart in charts)
    heights = [layout.inches + _CHART for layout in layouts]
    heights[-1] += _AXIS
    places = page.add_gridspec(len(charts), 1, height_ratios=heights)  # aligns the time axes
    for i, (named, chart, layout) in enumerate(zip(schedules, charts, layouts, strict=True)):
        axes = page.add_subplot(places[i])
        draw_chart(axes, chart, layout, longest)
        scale_time(axes, longest)
        axes.set_title(_title(named), loc="left", fontsize=SMALL + 0.5, pad=2)
        if i + 1 < len(charts):
            hide_time(axes)


def _title(named: NamedSchedule) -> str:
    schedule = named.schedule
    return (
        f"{short_name(named.name, 50)}: {count(len(schedule.core))} nodes, "
        f"{cycles(schedule.latency)} cycles, {energy_text(schedule.energy.total)}"
    )


def _charts(schedules: Sequence[NamedSchedule]) -> tuple[Chart, Chart, Chart]:
    """Latency, energy and memory of each schedule."""
    names = tuple(named.name for named in schedules)
    found = [named.schedule for named in schedules]
    latency = tuple(float(x.latency) for x in found)
    memory = tuple(float(onchip_peak(x)) for x in found)
    unit = bits_unit(max(memory))
    memories = _single(names, tuple(x / unit.divisor for x in memory))
    energy = energy_bars(names, [x.energy for x in found])
    return (
        Chart("Latency", cycles_unit(max(latency)), _single(names, latency)),
        Chart("Energy", energy_unit(max(energy.totals)), energy),
        Chart("Peaks of memories on chip", unit._replace(divisor=1.0), memories),
    )


def _single(names: tuple[str, ...], values: tuple[float, ...]) -> Bars:
    return Bars(names, (Part("", Look(SERIES), values),))


def _draw_costs(
    page: Page, schedules: Sequence[NamedSchedule], charts: tuple[Chart, Chart, Chart]
) -> None:
    """The charts side by side, with numbers at the bars."""
    texts: tuple[list[str], ...] = (
        [cycles(named.schedule.latency) for named in schedules],
        [energy_text(named.schedule.energy.total) for named in schedules],
        [capacity(onchip_peak(named.schedule)) for named in schedules],
    )
    for i, (chart, numbers) in enumerate(zip(charts, texts, strict=True)):
        axes = page.add_subplot(1, 3, i + 1)
        draw_bars(axes, chart, slice(None), names=not i)
        _write(axes, chart.bars.totals, numbers)


def _write(axes: Plot, totals: Sequence[float], texts: Sequence[str]) -> None:
    """The number at the end of each bar, with the change from the first bar."""
    axes.set_xlim(0, max(totals) * _ROOM or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=3))
    for row, (total, text) in enumerate(zip(totals, texts, strict=True)):
        compared = f" ({TIMES}{total / totals[0]:.3g})" if row and totals[0] else ""
        axes.annotate(
            f"{text}{compared}", (total, row), (3, 0), textcoords="offset points", va="center",
            fontsize=SMALL,
        )  # fmt: skip
