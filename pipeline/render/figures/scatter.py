"""Plots all mappings of a layer by energy and latency, with their Pareto front."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log
from typing import Final

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from nestmap.model import EvaluationBatch, front_rows
from nestmap.pipeline.analysis.network.scatter import (
    Cloud,
    Floats,
    Rows,
    clouds,
    equal_costs,
    is_wide,
)
from nestmap.pipeline.format.numbers import Unit, count, cycles_unit, energy_unit
from nestmap.pipeline.format.palette import CANDIDATES, INK, MUTED
from nestmap.pipeline.render.figures.matplotlib_types import Plot, formatter, page_of
from nestmap.pipeline.render.figures.style import new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name, unit_formatter

MOST_POINTS: Final = 20_000
"""The maximum number of points drawn individually; more points are counted in cells."""

_MOST_COLORS: Final = len(CANDIDATES)
_POINT: Final = 7.0
"""The area of a point that stands for one mapping (square points)."""

_CELLS: Final = 160
_ROOM: Final = 0.03


@styled()
def scatter_figure(batches: Iterable[EvaluationBatch], title: str) -> Figure:
    """Energy and latency of all rows, coloured by spatial mapping, with their Pareto front.

    A point stands for all mappings of the same cost (to seven digits), and its area grows with
    their number. Points are rasterized, so the file size does not grow with their number; above
    :data:`MOST_POINTS` they are counted in cells. ``title`` describes the mappings.

    Raises:
        ValueError: if there is no row.
    """
    return draw_scatter(clouds(batches), title)


@styled()
def draw_scatter(found: tuple[Cloud, ...], title: str) -> Figure:
    """The figure of :func:`scatter_figure` for costs collected before.

    Raises:
        ValueError: if there are none.
    """
    if not found:
        raise ValueError("no mapping was evaluated; expected at least one")
    energy = np.concatenate([cloud.energy for cloud in found])
    latency = np.concatenate([cloud.latency for cloud in found])
    figure = new_figure(4.8, 4.2)
    axes = page_of(figure).add_subplot()
    scale_costs(axes.set_xscale, latency)
    scale_costs(axes.set_yscale, energy)
    if len(energy) > MOST_POINTS:
        _draw_counts(figure, axes, latency, energy)
    else:
        _draw_points(axes, found)
    _draw_front(axes, latency, energy)
    label_costs(axes, cycles_unit(float(latency.max())), energy_unit(float(energy.max())))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0))
    set_title(figure, f"{short_name(title, 42)}: {count(len(energy))} mappings")
    return figure


def scale_costs(set_scale: Callable[[str], object], values: Floats) -> None:
    """Logarithmic scales if values differ much."""
    set_scale("log" if is_wide(values) else "linear")


def _draw_points(axes: Plot, found: tuple[Cloud, ...]) -> None:
    most = 0
    for i, cloud in enumerate(found):
        label = short_name(cloud.name, 60) if i < _MOST_COLORS else None
        color = CANDIDATES[i] if i < _MOST_COLORS else "#999999"
        if i == _MOST_COLORS:
            label = f"{len(found) - _MOST_COLORS} more spatial mappings"
        places, times = equal_costs(cloud.latency, cloud.energy)
        marks = axes.scatter(
            cloud.latency[places],
            cloud.energy[places],
            s=_areas(times),
            facecolors=color,
            edgecolors="none",
            alpha=0.5,
            linewidths=0,
            label=label,
        )
        marks.set_rasterized(True)
        most = max(most, int(times.max()))
    for number in (1, most) if most > 1 else ():
        axes.scatter(
            [], [], s=_areas(np.array([number])), facecolors=MUTED, edgecolors="none",
            alpha=0.5, linewidths=0, label=_standing_for(number),
        )  # fmt: skip


def _areas(times: Rows) -> Floats:
    """The areas of points (square points) that stand for so many mappings each."""
    found: Floats = _POINT * (1 + np.log2(times))
    return found


def _standing_for(number: int) -> str:
    return f"a point of {count(number)} {'mapping' if number == 1 else 'mappings'}"


def _draw_counts(figure: Figure, axes: Plot, latency: Floats, energy: Floats) -> None:
    """The number of mappings in each cell of a grid."""
    columns = _edges(latency, axes.get_xscale() == "log")
    rows = _edges(energy, axes.get_yscale() == "log")
    counts, _, _ = np.histogram2d(latency, energy, bins=(columns, rows))
    shown = np.ma.masked_less(counts.T, 1)
    mesh = axes.pcolormesh(
        columns, rows, shown, cmap="cividis_r", norm=LogNorm(1, counts.max() + 1)
    )
    mesh.set_rasterized(True)
    bar = page_of(figure).colorbar(mesh, ax=axes, pad=0.02, aspect=40)
    bar.set_label("Mappings in a cell")
    bar.ax.yaxis.set_major_formatter(formatter(_whole))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())


def _whole(value: float, position: int | None) -> str:
    del position
    return f"{value:,.0f}"


def _edges(values: Floats, logarithmic: bool) -> Floats:
    """The borders of the cells, with a small margin around the points."""
    low, high = float(values.min()), float(values.max())
    if logarithmic:
        room = (high / low) ** _ROOM
        return np.exp(np.linspace(log(low / room), log(high * room), _CELLS + 1))
    room = (high - low) * _ROOM or 1.0
    return np.linspace(low - room, high + room, _CELLS + 1)


def _draw_front(axes: Plot, latency: Floats, energy: Floats) -> None:
    rows = front_rows(energy, latency)
    axes.plot(
        latency[rows],
        energy[rows],
        color=INK,
        linewidth=0.9,
        drawstyle="steps-post" if latency[rows][0] < latency[rows][-1] else "steps-pre",
        marker="o",
        markersize=3.5,
        markerfacecolor="white",
        markeredgecolor=INK,
        markeredgewidth=0.5,
        label=f"Pareto front ({count(len(rows))} {'mapping' if len(rows) == 1 else 'mappings'})",
    )


def label_costs(axes: Plot, cycles: Unit, energies: Unit) -> None:
    """The labels and number formats of a plot of energy over latency."""
    axes.set_xlabel(f"Latency ({cycles.name})")
    axes.set_ylabel(f"Energy ({energies.name})")
    for axis, unit in ((axes.xaxis, cycles), (axes.yaxis, energies)):
        logarithmic = axis.get_scale() == "log"
        axis.set_major_locator(
            LogLocator(subs=(1, 2, 5), numticks=12) if logarithmic else MaxNLocator(nbins=6)
        )
        axis.set_major_formatter(unit_formatter(unit))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True)
