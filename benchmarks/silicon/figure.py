"""Charts of measured and modelled figures of a chip side by side."""

from collections.abc import Mapping, Sequence

from benchmarks.silicon.eyeriss import Modelled
from benchmarks.silicon.measured import Network
from benchmarks.silicon.several_cores import MEASURED as CORES
from benchmarks.silicon.several_cores import Modelled as CoresModelled
from benchmarks.silicon.tpu import MEASURED as TPU
from benchmarks.silicon.tpu import Modelled as TpuModelled
from nestmap.pipeline.analysis.network.stacked_bars import Bars, Part
from nestmap.pipeline.format.numbers import Unit
from nestmap.pipeline.format.palette import GREYS, RUNS, Look
from nestmap.pipeline.render.charts import Chart
from nestmap.pipeline.render.charts.bars import Drawing, grouped_chart
from nestmap.pipeline.render.charts.vega_spec import exact

_LOOKS = (Look(GREYS[2]), Look(RUNS[0]), Look(RUNS[1]))


def eyeriss_charts(network: Network, found: Mapping[str, Modelled]) -> tuple[Chart, ...]:
    """Processing time and traffic of buffer and DRAM of each layer."""
    layers, models = network.layers, [found[name] for name in network.layers]
    times = {
        "chip": [x.milliseconds for x in layers.values()],
        "model": [x.costs.milliseconds for x in models],
        "model without stalls": [x.ideal for x in models],
    }
    buffer = {
        "chip": [x.buffer for x in layers.values()],
        "model": [x.costs.buffer for x in models],
    }
    dram = {"chip": [x.dram for x in layers.values()], "model": [x.costs.dram for x in models]}
    title = f"{network.title} on Eyeriss"
    return (
        _chart("time", f"{title}: processing time", "ms", list(layers), times),
        _chart("buffer", f"{title}: accesses of the buffer", "MB", list(layers), buffer),
        _chart("dram", f"{title}: accesses of DRAM", "MB", list(layers), dram),
    )


def tpu_charts(found: Mapping[str, TpuModelled]) -> tuple[Chart, ...]:
    """Operations a second, and the share of cycles in which the array is idle, of each network."""
    rates = {
        "chip": [x.teraops for x in TPU.values()],
        "model": [found[name].teraops for name in TPU],
    }
    idle = {
        "chip": [100 * x.idle for x in TPU.values()],
        "model": [100 * found[name].idle for name in TPU],
    }
    return (
        _chart("rate", "TPU v1: 8-bit operations", "10^12 per second", list(TPU), rates),
        _chart("idle", "TPU v1: idle cycles of the array", "%", list(TPU), idle),
    )


def cores_charts(found: Mapping[str, CoresModelled]) -> tuple[Chart, ...]:
    """Cycles and memory in use of each chip that fuses layers."""
    cycles = {
        "chip": [x.measured.cycles / 1e6 for x in CORES.values()],
        "model": [found[name].fused.cycles / 1e6 for name in CORES],
    }
    memory = {
        "chip": [x.measured.kilobytes for x in CORES.values()],
        "model": [found[name].fused.kilobytes for name in CORES],
    }
    return (
        _chart("cycles", "Layers fused by rows: cycles", "million cycles", list(CORES), cycles),
        _chart("memory", "Layers fused by rows: memory in use", "KB", list(CORES), memory),
    )


def _chart(
    name: str, title: str, unit: str, rows: Sequence[str], series: Mapping[str, Sequence[float]]
) -> Chart:
    """A bar for chip and model in each row."""
    parts = zip(series.items(), _LOOKS, strict=False)
    bars = Bars(tuple(rows), tuple(Part(x, look, tuple(values)) for (x, values), look in parts))
    return grouped_chart(
        Drawing(
            name=name,
            title=title,
            summary=f"{title} ({unit}), chip and model.",
            of="layer",
            quantity=title.rpartition(": ")[2].capitalize(),
            unit=Unit(1.0, unit),
            exact=exact("value", unit),
            bars=bars,
        )
    )
