"""Charts of a run: energy and cycles by component, roofline."""

from nestmap.model import Accelerator, NetworkEvaluation
from nestmap.pipeline.analysis.network.stacked_bars import (
    cmes_of,
    energy_bars,
    latency_bars,
    memory_bars,
    share_bars,
)
from nestmap.pipeline.format.numbers import PERCENT, cycles_unit, energy_text, energy_unit
from nestmap.pipeline.render.charts.alt_text import bars_text, cycles_text, utilization_text
from nestmap.pipeline.render.charts.bars import Drawing, Exact, stacked_chart
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.roofline import roofline_chart


def run_charts(evaluation: NetworkEvaluation, accelerator: Accelerator) -> tuple[Chart, ...]:
    """Energy and latency of each layer by component, energy of each memory, utilization, roofline.

    ``accelerator`` is the one of the evaluation. Energies are in pJ, latencies in cycles.

    Raises:
        InputError: if the accelerator is not that of the evaluation.
    """
    return (*layer_charts(evaluation), roofline_chart(evaluation, accelerator))


def layer_charts(evaluation: NetworkEvaluation) -> tuple[Chart, ...]:
    """The charts of :func:`run_charts` that need no accelerator: all but the roofline."""
    return (
        stacked_chart(_energy(evaluation)),
        stacked_chart(_latency(evaluation)),
        stacked_chart(_memories(evaluation)),
        stacked_chart(_utilization(evaluation)),
    )


def _energy(evaluation: NetworkEvaluation) -> Drawing:
    bars = energy_bars(evaluation)
    return Drawing(
        name="energy",
        title="Energy per layer",
        summary=bars_text(bars, energy_text),
        of="layer",
        quantity="Energy",
        unit=energy_unit(max(bars.totals)),
        exact=Exact.ENERGY,
        bars=bars,
    )


def _latency(evaluation: NetworkEvaluation) -> Drawing:
    bars = latency_bars(evaluation)
    return Drawing(
        name="latency",
        title="Latency per layer",
        summary=bars_text(bars, cycles_text),
        of="layer",
        quantity="Latency",
        unit=cycles_unit(max(bars.totals)),
        exact=Exact.CYCLES,
        bars=bars,
    )


def _memories(evaluation: NetworkEvaluation) -> Drawing:
    bars = memory_bars(cmes_of(evaluation))
    without = " Without vector operators." if evaluation.vector_counted else ""
    return Drawing(
        name="memories",
        title="Energy per memory and operand",
        summary=f"{bars_text(bars, energy_text)}{without}",
        of="memory",
        quantity="Energy",
        unit=energy_unit(max(bars.totals)),
        exact=Exact.ENERGY,
        bars=bars,
    )


def _utilization(evaluation: NetworkEvaluation) -> Drawing:
    bars = share_bars(evaluation)
    return Drawing(
        name="utilization",
        title="Utilization per layer",
        summary=utilization_text(evaluation, bars.parts[0]),
        of="layer",
        quantity="Share of latency",
        unit=PERCENT,
        exact=Exact.SHARE,
        bars=bars,
    )
