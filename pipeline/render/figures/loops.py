"""Draws a mapping: loops, outermost at the top, and the memory of each operand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nestmap.model import CostModelEvaluation, LevelEvaluation
from nestmap.model.dims import LayerOperand
from nestmap.pipeline.analysis.network.stacked_bars import memory_looks
from nestmap.pipeline.format.numbers import TIMES, capacity, cycles, energy_text, share
from nestmap.pipeline.format.palette import GRID, MUTED, Look, on
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import NORMAL, SMALL, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name

_ROW: Final = 0.25
_NEST: Final = 2.5
_COLUMN: Final = 1.75
_GAP: Final = 0.06


@styled()
def loops_figure(cme: CostModelEvaluation, network: str | None = None) -> Figure:
    """The loops from the outermost in, with the memory that holds each operand's tile.

    A memory's block spans the loops that it adds to those of the memories below. Memories that add
    no loop are listed below the loops.
    """
    operands = list(dict.fromkeys(entry.operand for entry in cme.levels))
    loops, spatial = cme.temporal_mapping.order, cme.spatial_mapping.unrollings
    notes = max(len(_idle(cme, operand)) for operand in operands)
    rows = len(loops) + len(spatial) + 1.3 + 0.7 * notes
    width = _NEST + _COLUMN * len(operands)
    figure = new_figure(max(width, 5.0) + 0.2, rows * _ROW + 0.5)
    axes = page_of(figure).add_subplot()
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(rows - 1.1, -0.9)
    _draw_nest(axes, cme, width)
    for i, operand in enumerate(operands):
        _draw_operand(axes, cme, operand, _NEST + i * _COLUMN)
    set_title(
        figure,
        f"{of_network(cme.layer, network)} on {short_name(cme.accelerator)}: "
        f"{energy_text(cme.energy)}, "
        f"{cycles(cme.latency)} cycles",
    )
    return figure


def of_network(layer: str, network: str | None) -> str:
    """The layer, and the network that it is of."""
    name = short_name(layer)
    return name if network is None else f"{short_name(network)}, {name}"


def _draw_nest(axes: Plot, cme: CostModelEvaluation, width: float) -> None:
    """The loops as code."""
    lines = list(_lines(cme))
    step = min(0.09, 1.1 / len(lines)) if lines else 0.0
    for row, text in enumerate(lines):
        axes.text(row * step, row + 0.5, text, va="center", fontsize=NORMAL - 1)
        axes.plot([0, width], [row + 1, row + 1], color=GRID, linewidth=0.5, zorder=0)
    axes.plot([0, width], [0, 0], color=GRID, linewidth=0.5, zorder=0)


def _lines(cme: CostModelEvaluation) -> Iterator[str]:
    for loop in reversed(cme.temporal_mapping.order):
        yield f"for {loop.dimension} in {loop.size:,}"
    for unrolling in cme.spatial_mapping.unrollings:
        loops = f" {TIMES} ".join(str(loop) for loop in unrolling.loops if loop.size > 1)
        side = short_name(unrolling.array_dimension, 8)
        yield f"parfor {short_name(loops) or 'nothing'} over {side}"


def _draw_operand(axes: Plot, cme: CostModelEvaluation, operand: LayerOperand, left: float) -> None:
    """The memories of an operand, each next to its loops."""
    looks = memory_looks([cme])
    middle, n = left + (_COLUMN - _GAP) / 2, len(cme.temporal_mapping.order)
    axes.text(middle, -0.4, short_name(operand), ha="center", va="center", fontweight="bold")
    for entry in _levels(cme, operand):
        first, last = _span(cme, entry)
        if first < last:
            _draw_block(axes, (left, n - last), last - first, entry, looks[entry.memory])
    unrolled = len(cme.spatial_mapping.unrollings)
    _draw_array(axes, (left, n), unrolled)
    for i, entry in enumerate(_idle(cme, operand)):
        text = f"no loop: {short_name(entry.memory, 18)}"
        _note(axes, (middle, n + unrolled + 0.45 + 0.7 * i), text)


def _draw_array(axes: Plot, corner: tuple[float, float], height: int) -> None:
    """The elements that the unrolled loops cover, next to them."""
    if not height:
        return
    left, top = corner
    area = Rectangle(
        (left, top + 0.04), _COLUMN - _GAP, height - 0.08, facecolor="#eeeeee", edgecolor="white"
    )
    axes.add_patch(area)
    _note(axes, (left + (_COLUMN - _GAP) / 2, top + height / 2), "array")


def _note(axes: Plot, middle: tuple[float, float], text: str) -> None:
    axes.text(*middle, text, ha="center", va="center", fontsize=SMALL, color=MUTED)


def _draw_block(
    axes: Plot, corner: tuple[float, float], height: float, entry: LevelEvaluation, look: Look
) -> None:
    left, top = corner
    axes.add_patch(
        Rectangle(
            (left, top + 0.04),
            _COLUMN - _GAP,
            height - 0.08,
            facecolor=look.color,
            edgecolor="white",
            hatch=look.hatch,
        )
    )
    held = f"{capacity(entry.bits)}, {share(entry.utilization)}"
    apart = "\n" if height > 1 else "  "
    axes.text(
        left + (_COLUMN - _GAP) / 2,
        top + height / 2,
        f"{short_name(entry.memory, 16)}{apart}{held}",
        ha="center",
        va="center",
        fontsize=SMALL,
        color=on(look.color),
        linespacing=1.25,
    )


def _levels(cme: CostModelEvaluation, operand: LayerOperand) -> list[LevelEvaluation]:
    return [entry for entry in cme.levels if entry.operand == operand]


def _idle(cme: CostModelEvaluation, operand: LayerOperand) -> list[LevelEvaluation]:
    """The memories that add no loop, outermost first."""
    idle = [entry for entry in _levels(cme, operand) if len(set(_span(cme, entry))) == 1]
    return idle[::-1]


def _span(cme: CostModelEvaluation, entry: LevelEvaluation) -> tuple[int, int]:
    """The first loop of a level, and the first of the next one, counted from the innermost."""
    positions = (0, *cme.temporal_mapping.cuts_of(entry.operand))
    return positions[entry.level], positions[entry.level + 1]
