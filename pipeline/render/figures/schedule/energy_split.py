"""Where the energy of a schedule goes: by layer and by part."""

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
    """The energy of each layer by part, with the share of each part in all of it.

    What is sent counts for the layer that makes it, constants for the one that reads them first.
    """
    bars = _with_shares(layer_energy_bars(schedule))
    chart = Chart("Energy", energy_unit(max(bars.totals)), bars)
    return bar_figure(schedule_title(schedule), (chart,))


def _with_shares(bars: Bars) -> Bars:
    """The parts with what they are of all energy."""
    total = sum(bars.totals) or 1.0
    parts = (
        part._replace(label=f"{part.label} ({share(sum(part.values) / total)})")
        for part in bars.parts
    )
    return bars._replace(parts=tuple(parts))
