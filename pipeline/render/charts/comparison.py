"""Charts that compare runs: total costs, and costs by layer."""

from collections.abc import Sequence

from nestmap.pipeline.analysis.network.run_comparison import (
    NamedRun,
    layer_energies,
    layer_latencies,
    total_energies,
    total_latencies,
)
from nestmap.pipeline.analysis.network.stacked_bars import Bars
from nestmap.pipeline.format.numbers import cycles_unit, energy_text, energy_unit
from nestmap.pipeline.render.charts.alt_text import cycles_text, layers_text, totals_text
from nestmap.pipeline.render.charts.bars import Drawing, Exact, grouped_chart, stacked_chart
from nestmap.pipeline.render.charts.chart import Chart


def comparison_charts(runs: Sequence[NamedRun]) -> tuple[Chart, ...]:
    """Energy (pJ) and latency (cycles) of runs: totals by component, and by layer.

    Layers are matched by name; a run without a layer has no bar for it.

    Raises:
        ValueError: if there is no run.
    """
    if not runs:
        raise ValueError("no run to compare; expected at least one")
    return (
        stacked_chart(_total_energy(runs)),
        stacked_chart(_total_latency(runs)),
        grouped_chart(_layer_energy(runs)),
        grouped_chart(_layer_latency(runs)),
    )


def _total_energy(runs: Sequence[NamedRun]) -> Drawing:
    bars = total_energies(runs)
    return Drawing(
        name="total-energy",
        title="Energy of each run",
        summary=totals_text(runs, bars.totals, energy_text),
        of="run",
        quantity="Energy",
        unit=energy_unit(max(bars.totals)),
        exact=Exact.ENERGY,
        bars=bars,
    )


def _total_latency(runs: Sequence[NamedRun]) -> Drawing:
    bars = total_latencies(runs)
    return Drawing(
        name="total-latency",
        title="Latency of each run",
        summary=totals_text(runs, bars.totals, cycles_text),
        of="run",
        quantity="Latency",
        unit=cycles_unit(max(bars.totals)),
        exact=Exact.CYCLES,
        bars=bars,
    )


def _layer_energy(runs: Sequence[NamedRun]) -> Drawing:
    bars = layer_energies(runs)
    return Drawing(
        name="layer-energy",
        title="Energy of each layer in each run",
        summary=layers_text(runs, len(bars.names)),
        of="layer",
        quantity="Energy",
        unit=energy_unit(_longest(bars)),
        exact=Exact.ENERGY,
        bars=bars,
    )


def _layer_latency(runs: Sequence[NamedRun]) -> Drawing:
    bars = layer_latencies(runs)
    return Drawing(
        name="layer-latency",
        title="Latency of each layer in each run",
        summary=layers_text(runs, len(bars.names)),
        of="layer",
        quantity="Latency",
        unit=cycles_unit(_longest(bars)),
        exact=Exact.CYCLES,
        bars=bars,
    )


def _longest(bars: Bars) -> float:
    """The longest bar of a group."""
    return max(max(part.values) for part in bars.parts)
