"""Draws measured and modelled figures of a chip side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from matplotlib.figure import Figure

from benchmarks.silicon.eyeriss import Modelled
from benchmarks.silicon.measured import Network
from benchmarks.silicon.several_cores import MEASURED as CORES
from benchmarks.silicon.several_cores import Modelled as CoresModelled
from benchmarks.silicon.tpu import MEASURED as TPU
from benchmarks.silicon.tpu import Modelled as TpuModelled
from nestmap.pipeline.format.palette import GREYS, INK, RUNS
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import WIDTH, new_figure, set_title, styled

_HEIGHT: Final = 0.38


class _Bars(NamedTuple):
    """One bar a layer."""

    label: str
    color: str
    place: float
    values: Sequence[float]


@styled()
def eyeriss_figure(network: Network, found: Mapping[str, Modelled]) -> Figure:
    """Processing time and traffic of buffer and DRAM of each layer."""
    figure = new_figure(WIDTH, 1.1 + 0.36 * len(network.layers))
    set_title(figure, f"{network.title} on Eyeriss: chip and model")
    page, names = page_of(figure), list(network.layers)
    chips, models = list(network.layers.values()), [found[name] for name in names]
    chip, model = ("chip", GREYS[2], -_HEIGHT / 2), ("model", RUNS[0], _HEIGHT / 2)
    times = (
        _Bars(*chip, [x.milliseconds for x in chips]),
        _Bars(*model, [x.costs.milliseconds for x in models]),
    )
    buffer = (
        _Bars(*chip, [x.buffer for x in chips]),
        _Bars(*model, [x.costs.buffer for x in models]),
    )
    dram = (_Bars(*chip, [x.dram for x in chips]), _Bars(*model, [x.costs.dram for x in models]))
    left = page.add_subplot(1, 3, 1)
    _draw(left, names, "Processing time (ms)", times)
    left.plot(
        [x.ideal for x in models],
        [n + _HEIGHT / 2 for n in range(len(names))],
        color=INK,
        linewidth=0.0,
        marker="|",
        markersize=9.0,
        label="model without stalls",
    )
    left.legend(loc="lower right", bbox_to_anchor=(1.0, 0.0))
    _draw(page.add_subplot(1, 3, 2), names, "Accesses of the buffer (MB)", buffer)
    _draw(page.add_subplot(1, 3, 3), names, "Accesses of DRAM (MB)", dram)
    return figure


@styled()
def tpu_figure(found: Mapping[str, TpuModelled]) -> Figure:
    """Operations a second, and the share of cycles in which the array is idle, of each network."""
    figure = new_figure(WIDTH, 2.4)
    set_title(figure, "TPU v1: chip and model")
    page, names = page_of(figure), list(TPU)
    chip, model = ("chip", GREYS[2], -_HEIGHT / 2), ("model", RUNS[0], _HEIGHT / 2)
    rates = (
        _Bars(*chip, [x.teraops for x in TPU.values()]),
        _Bars(*model, [found[name].teraops for name in names]),
    )
    idle = (
        _Bars(*chip, [100 * x.idle for x in TPU.values()]),
        _Bars(*model, [100 * found[name].idle for name in names]),
    )
    left = page.add_subplot(1, 2, 1)
    _draw(left, names, "8-bit operations (10^12 a second)", rates)
    left.legend(loc="lower right", bbox_to_anchor=(1.0, 0.0))
    _draw(page.add_subplot(1, 2, 2), names, "Idle cycles of the array (%)", idle)
    return figure


@styled()
def cores_figure(found: Mapping[str, CoresModelled]) -> Figure:
    """Cycles and memory in use of each chip that fuses layers."""
    figure = new_figure(WIDTH, 1.9)
    set_title(figure, "Layers fused by rows: chip and model")
    page, names = page_of(figure), list(CORES)
    chip, model = ("chip", GREYS[2], -_HEIGHT / 2), ("model", RUNS[0], _HEIGHT / 2)
    cycles = (
        _Bars(*chip, [x.measured.cycles / 1e6 for x in CORES.values()]),
        _Bars(*model, [found[name].fused.cycles / 1e6 for name in names]),
    )
    memory = (
        _Bars(*chip, [x.measured.kilobytes for x in CORES.values()]),
        _Bars(*model, [found[name].fused.kilobytes for name in names]),
    )
    left = page.add_subplot(1, 2, 1)
    _draw(left, names, "Cycles (10^6)", cycles)
    left.legend(loc="lower right", bbox_to_anchor=(1.0, 0.0))
    _draw(page.add_subplot(1, 2, 2), names, "Memory in use (KB)", memory)
    return figure


def _draw(axes: Plot, names: Sequence[str], title: str, series: Sequence[_Bars]) -> None:
    """Bars from top to bottom."""
    for bars in series:
        axes.barh(
            [n + bars.place for n in range(len(names))],
            bars.values,
            height=_HEIGHT,
            color=bars.color,
            hatch="",
            label=bars.label,
            edgecolor="white",
            linewidth=[0.0] * len(names),
        )
    axes.set_yticks(range(len(names)), labels=list(names))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=True, axis="x")
    axes.set_title(title, loc="left", fontsize=8.0)
