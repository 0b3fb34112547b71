"""Draws the energy of a schedule by layer and component."""

from __future__ import annotations

from matplotlib.figure import Figure

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.network.stacked_bars import Bars
from nestmap.pipeline.analysis.schedule.energy import layer_energy_bars
from nestmap.pipeline.format.numbers import energy_unit, share
from nestmap.pipeline.render.figures.bars import Chart, bar_figure
from nestmap.pipeline.render.figures.schedule.gantt import schedule_title
from nestmap.pipeline.render.figures.style import styled


@styled()
def schedule_energy_figure(schedule: Schedule) -> Figure:
    """The energy of each layer by component, with the share of each component in the total.

    A transfer counts for the layer that produces the tensor, constants for the layer that reads
    them first.
    """
    bars = _with_shares(layer_energy_bars(schedule))
    chart = Chart("Energy", energy_unit(max(bars.totals)), bars)
    return bar_figure(schedule_title(schedule), (chart,))


def _with_shares(bars: Bars) -> Bars:
    """The components with their shares of the total energy."""
    total = sum(bars.totals) or 1.0
    parts = (
        part._replace(label=f"{part.label} ({share(sum(part.values) / total)})")
        for part in bars.parts
    )
    return bars._replace(parts=tuple(parts))
