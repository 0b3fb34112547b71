"""Draws an accelerator: array at the bottom, outermost memory on top."""

from __future__ import annotations

from typing import Final

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nestmap.model import Accelerator, NetworkEvaluation
from nestmap.pipeline.analysis.network.accelerator_layout import (
    MemoryBox,
    OperandPath,
    Sizes,
    accelerator_layout,
    units_shown,
)
from nestmap.pipeline.analysis.network.memory_hierarchy import operand_names, path_text
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import INK, MUTED, operand_looks
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import SMALL, new_figure, set_title, styled
from nestmap.pipeline.render.figures.text_metrics import short_name

_SIZES: Final = Sizes(column=2.3, line=0.125, pad=0.09, gap=0.42, margin=0.07, array=0.9)
"""The sizes of the drawing, in inches."""

_LETTERS: Final = 36
_CELLS: Final = 8
"""The maximum number of units drawn along a side of the array."""

_FILL: Final = "#f6f7f9"


@styled()
def accelerator_figure(
    accelerator: Accelerator, evaluation: NetworkEvaluation | None = None
) -> Figure:
    """The array and its memories: operands, sizes, instances, served dimensions, port widths.

    Each memory operand has a column; a memory spans the columns of its operands. Arrows are the
    transfers between a memory and the level below. Operands have the names that the layers of the
    evaluation, or usual ones, have for them.
    """
    names = operand_names(accelerator, cmes_of(evaluation) if evaluation else ())
    looks = operand_looks(names.values())
    layout = accelerator_layout(accelerator, _SIZES, names)
    figure = new_figure(max(layout.width, 4.6) + 0.2, layout.height + 0.75)
    axes = page_of(figure).add_subplot()
    axes.set_axis_off()
    axes.set_xlim(0, layout.width)
    axes.set_ylim(-0.05, layout.height + 0.1)
    _draw_array(axes, accelerator, layout.width)
    for box in layout.boxes:
        _draw_box(axes, box)
    for path in layout.paths:
        _draw_arrow(axes, path, looks[path.name].color)
    set_title(figure, f"{short_name(accelerator.name, 40)}: {array_text(accelerator)}")
    return figure


def _draw_array(axes: Plot, accelerator: Accelerator, width: float) -> None:
    """The units as a grid, with the sizes of the array."""
    margin, height = _SIZES.margin, _SIZES.array
    axes.add_patch(_frame(margin, 0, width - 2 * margin, height, "#f2f2f2"))
    across, up = units_shown(accelerator)
    step, middle = (height - 0.2) / _CELLS, height / 2
    for x in range(across):
        for y in range(up):
            corner = (width / 2 - 0.1 - (x + 1) * step, middle + (y - up / 2) * step)
            unit = Rectangle(corner, step * 0.75, step * 0.75, facecolor=MUTED, linewidth=0)
            unit.set_zorder(3)
            axes.add_patch(unit)
    sides = accelerator.array.sides
    sizes = "\n".join(f"{short_name(side.name, 16)}: {count(side.size)}" for side in sides)
    text = f"array of {count(accelerator.array.units)} units\n{sizes}"
    axes.text(width / 2 + 0.1, middle, text, va="center", fontsize=SMALL, linespacing=1.3)


def _draw_box(axes: Plot, box: MemoryBox) -> None:
    axes.add_patch(_frame(box.left, box.bottom, box.width, box.height, _FILL))
    top, middle = box.top - _SIZES.pad, box.left + box.width / 2
    name = short_name(box.level.name, 30)
    axes.text(middle, top, name, ha="center", va="top", fontweight="bold")
    for i, line in enumerate(box.lines):
        text = short_name(line, _LETTERS * box.columns)
        y = top - (i + 1.15) * _SIZES.line
        axes.text(middle, y, text, ha="center", va="top", fontsize=SMALL)


def _frame(left: float, bottom: float, width: float, height: float, fill: str) -> Rectangle:
    return Rectangle(
        (left, bottom), width, height, facecolor=fill, edgecolor=INK, linewidth=0.7, zorder=2
    )


def _draw_arrow(axes: Plot, path: OperandPath, color: str) -> None:
    """The path of an operand between a memory and the level below."""
    axes.annotate(
        "", (path.middle, path.bottom), (path.middle, path.top),
        arrowprops={
            "arrowstyle": "<|-|>" if path.goes_both_ways else "-|>",
            "color": color, "linewidth": 1.2,
            "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8,
        },
        zorder=1,
    )  # fmt: skip
    axes.text(
        path.middle + 0.08, path.top - _SIZES.gap / 2,
        path_text(short_name(path.name, 12), path.width),
        va="center", fontsize=SMALL, color=INK, zorder=3,
    )  # fmt: skip
