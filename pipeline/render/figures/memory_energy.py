"""Draws energy and stall of each memory, summed over all layers."""

from __future__ import annotations

from matplotlib.figure import Figure

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.analysis.network.memory_bars import memory_bars, stall_bars
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of
from nestmap.pipeline.format.numbers import cycles_unit, energy_unit
from nestmap.pipeline.render.figures.bars import Chart, bar_figure
from nestmap.pipeline.render.figures.layers import totals_title
from nestmap.pipeline.render.figures.style import styled


@styled()
def memories_figure(evaluation: NetworkEvaluation, network: str | None = None) -> Figure:
    """The energy of each memory by operand and direction, and the stall that it causes alone.

    Values are summed over all layers. Stalls of several memories overlap, so they do not add up to
    the stall of the network. Vector operators are not included.
    """
    cmes = cmes_of(evaluation)
    energies, stalls = memory_bars(cmes), stall_bars(cmes)
    charts = [Chart("Energy", energy_unit(max(energies.totals)), energies)]
    if any(stalls.totals):
        charts.append(Chart("Stall", cycles_unit(max(stalls.totals)), stalls))
    return bar_figure(totals_title(evaluation, network), charts)
