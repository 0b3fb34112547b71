"""Draws the roofline of the layers, below the ceilings of array and memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from nestmap.model import Accelerator, NetworkEvaluation
from nestmap.pipeline.analysis.network.roofline import Ceiling, Point, ceilings, peak, points
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of, memory_looks
from nestmap.pipeline.format.numbers import TIMES, count
from nestmap.pipeline.format.palette import INK
from nestmap.pipeline.render.figures.label_placement import Label, place_labels
from nestmap.pipeline.render.figures.layers import subject
from nestmap.pipeline.render.figures.matplotlib_types import Plot, formatter, page_of
from nestmap.pipeline.render.figures.style import WIDTH, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name, short_numbers

_STYLES: Final = ("-", "--", "-.")


@styled()
def roofline_figure(
    evaluation: NetworkEvaluation, accelerator: Accelerator, network: str | None = None
) -> Figure:
    """MAC per cycle over MAC per byte, with the ceiling of the array and one for each memory.

    A layer has a point for each memory: its operational intensity for the bytes read or written
    there. The filled, labelled point is at the memory with the lowest ceiling for the layer. Labels
    that do not fit are left out, those of the layers with the least latency first. A point may lie
    a little above a ceiling: the latency model lets the first tiles of several operands use one
    port at the same time.

    Raises:
        InputError: if the accelerator is not that of the evaluation.
    """
    every = points(evaluation, accelerator)
    drawn = {point.memory for point in every}
    looks = memory_looks(cmes_of(evaluation))
    figure = new_figure(WIDTH, 4.9)
    axes = page_of(figure).add_subplot()
    _frame(axes, every, peak(accelerator))
    _draw_peak(axes, accelerator)
    for i, ceiling in enumerate(ceilings(accelerator)):
        if ceiling.memory in drawn:
            color = looks[ceiling.memory].color
            _draw_ceiling(axes, ceiling, color, _STYLES[i % len(_STYLES)])
            _draw_points(axes, [p for p in every if p.memory == ceiling.memory], color)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    different = sum(point.binding for point in every)
    title = f"{subject(evaluation, network)}: roofline of {count(different)} different layers"
    set_title(figure, title)
    place_labels(figure, axes, _labels(evaluation, every), _positions(every))
    return figure


def _frame(axes: Plot, every: Sequence[Point], highest: float) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = min(p.intensity for p in every), max(p.intensity for p in every)
    lowest = min(p.performance for p in every)
    axes.set_xlim(low / 2.5, high * 2.5)
    axes.set_ylim(lowest / 2.5, highest * 2)
    axes.set_xlabel("Operational intensity (MAC per byte moved in the memory)")
    axes.set_ylabel("Performance (MAC per cycle)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=12))
        axis.set_major_formatter(formatter(short_numbers))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True)


def _draw_peak(axes: Plot, accelerator: Accelerator) -> None:
    highest = peak(accelerator)
    label = f"array: {highest:,.6g} MAC/cycle"
    low, high = axes.get_xlim()
    axes.plot([low, high], [highest, highest], color=INK, linewidth=1.4, label=label)


def _draw_ceiling(axes: Plot, ceiling: Ceiling, color: str, style: str) -> None:
    """The performance at full bandwidth, up to the peak of the array and beyond."""
    low, high = axes.get_xlim()
    axes.plot(
        [low, high],
        [low * ceiling.width, high * ceiling.width],
        color=color,
        linestyle=style,
        linewidth=1.2,
        label=f"{short_name(ceiling.memory)}: {ceiling.text}",
    )


def _draw_points(axes: Plot, found: Sequence[Point], color: str) -> None:
    for binding in (False, True):
        shown = [p for p in found if p.binding is binding]
        axes.scatter(
            [p.intensity for p in shown],
            [p.performance for p in shown],
            s=16 if binding else 7,
            facecolors=color if binding else "none",
            edgecolors=INK if binding else color,
            linewidths=0.4,
            alpha=1.0 if binding else 0.7,
            zorder=4 if binding else 3,
        )


def _labels(evaluation: NetworkEvaluation, every: Sequence[Point]) -> list[Label]:
    """The labels of the binding points, the layers with most latency first."""
    times = Counter(result.repeats or result.cme.layer for result in evaluation.layers)
    binding = sorted((p for p in every if p.binding), key=lambda p: -p.weight)
    return [Label(p.intensity, p.performance, _named(p.layer, times[p.layer])) for p in binding]


def _positions(every: Sequence[Point]) -> list[tuple[float, float]]:
    return [(point.intensity, point.performance) for point in every]


def _named(layer: str, times: int) -> str:
    name = short_name(layer, 18)
    return name if times == 1 else f"{name} ({TIMES}{times})"
