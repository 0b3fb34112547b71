"""Draws energy, latency and utilization of each layer."""

from __future__ import annotations

from matplotlib.figure import Figure

from nestmap.model import NetworkEvaluation
from nestmap.pipeline.analysis.network.stacked_bars import energy_bars, latency_bars, share_bars
from nestmap.pipeline.format.numbers import (
    PERCENT,
    count,
    cycles,
    cycles_unit,
    energy_text,
    energy_unit,
    share,
)
from nestmap.pipeline.render.figures.bars import Chart, bar_figure
from nestmap.pipeline.render.figures.style import styled
from nestmap.pipeline.render.figures.text_metrics import short_name


@styled()
def layers_figure(evaluation: NetworkEvaluation, network: str | None = None) -> Figure:
    """Energy (by array component, memory, leakage) and latency (by cause) of each layer.

    ``network`` is its name, for the title; so in the other figures.
    """
    energies, latencies = energy_bars(evaluation), latency_bars(evaluation)
    charts = (
        Chart("Energy", energy_unit(max(energies.totals)), energies),
        Chart("Latency", cycles_unit(max(latencies.totals)), latencies),
    )
    return bar_figure(totals_title(evaluation, network), charts)


@styled()
def utilization_figure(evaluation: NetworkEvaluation, network: str | None = None) -> Figure:
    """The utilization of the array by each layer, and what reduces it."""
    chart = Chart("Share of latency", PERCENT, share_bars(evaluation))
    title = f"{subject(evaluation, network)}: MAC utilization {share(evaluation.utilization)}"
    return bar_figure(title, (chart,))


def totals_title(evaluation: NetworkEvaluation, network: str | None) -> str:
    """The network, the accelerator, and the total cost."""
    return (
        f"{subject(evaluation, network)}: {energy_text(evaluation.energy)}, "
        f"{cycles(evaluation.latency)} cycles"
    )


def subject(evaluation: NetworkEvaluation, network: str | None) -> str:
    """The network, or else its number of layers, and the accelerator."""
    layers = len(evaluation.layers)
    unnamed = f"{count(layers)} {'layer' if layers == 1 else 'layers'}"
    name = unnamed if network is None else short_name(network)
    return f"{name} on {short_name(evaluation.layers[0].cme.accelerator)}"
