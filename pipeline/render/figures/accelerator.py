"""An accelerator as a picture: the array at the bottom, memories above it, the outermost on top."""

from __future__ import annotations

from typing import Final, NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nestmap.model import (
    OUTPUT,
    Accelerator,
    MemoryLevel,
)
from nestmap.model.dims import MemoryOperand
from nestmap.pipeline.analysis.network.memory_hierarchy import (
    memory_lines,
    memory_places,
    operand_columns,
    way_text,
    way_width,
)
from nestmap.pipeline.format.mappings import array_text
from nestmap.pipeline.format.numbers import count
from nestmap.pipeline.format.palette import BLUE, GREEN, INK, MUTED, VERMILLION, look
from nestmap.pipeline.render.figures.matplotlib_types import Plot, page_of
from nestmap.pipeline.render.figures.style import SMALL, entitle, new_figure, styled
from nestmap.pipeline.render.figures.text_metrics import short_name

_COLUMN: Final = 2.3
_LINE: Final = 0.125
_PAD: Final = 0.09
_GAP: Final = 0.42
_MARGIN: Final = 0.07
_ARRAY: Final = 0.9
_LETTERS: Final = 36
_CELLS: Final = 8
"""Units drawn along a side of the array, at most."""

_FILLS: Final = ("#dcebf5", "#fbf0d9", "#d9f0ea")


class Box(NamedTuple):
    """A memory in the picture: columns ``first`` to ``last``, the row (array: -1), what it says."""

    level: MemoryLevel
    first: int
    last: int
    row: int
    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        """Inches."""
        return _LINE * (len(self.lines) + 1) + 2 * _PAD


@styled()
def accelerator_figure(accelerator: Accelerator) -> Figure:
    """The array and its memories: operands, sizes, instances, served dimensions, port widths.

    A column for each memory operand; a memory spans those of the operands that it holds. Arrows
    are the transfers between a memory and the one inside it.
    """
    operands = operand_columns(accelerator)
    boxes = _boxes(accelerator, operands)
    bottoms = _bottoms(boxes)
    width = max(_COLUMN * len(operands), 4.6)
    top = max(bottoms[box.row] + _row_height(boxes, box.row) for box in boxes)
    figure = new_figure(width + 0.2, top + 0.75)
    axes = page_of(figure).add_subplot()
    axes.set_axis_off()
    axes.set_xlim(0, _COLUMN * len(operands))
    axes.set_ylim(-0.05, top + 0.1)
    _draw_array(axes, accelerator, _COLUMN * len(operands))
    for box in boxes:
        _draw_box(axes, box, bottoms[box.row])
    for column, operand in enumerate(operands):
        _draw_arrows(axes, (column, operand), boxes, bottoms)
    entitle(figure, f"{short_name(accelerator.name, 40)}: {array_text(accelerator)}")
    return figure


def _boxes(accelerator: Accelerator, operands: tuple[MemoryOperand, ...]) -> tuple[Box, ...]:
    """Every memory with what is said of it, cut to the room there is."""
    boxes: list[Box] = []
    for level, first, last, row in memory_places(accelerator, operands):
        letters = _LETTERS * (last - first + 1)
        lines = (short_name(line, letters) for line in memory_lines(accelerator, level))
        boxes.append(Box(level, first, last, row, tuple(lines)))
    return tuple(boxes)


def _row_height(boxes: tuple[Box, ...], row: int) -> float:
    return max(box.height for box in boxes if box.row == row)


def _bottoms(boxes: tuple[Box, ...]) -> list[float]:
    """The lower edge of each row, in inches above the bottom."""
    bottoms = [_ARRAY + _GAP]
    for row in range(max(box.row for box in boxes)):
        bottoms.append(bottoms[-1] + _row_height(boxes, row) + _GAP)
    return bottoms


def _draw_array(axes: Plot, accelerator: Accelerator, width: float) -> None:
    """The units as a grid, with the sizes of the array."""
    axes.add_patch(_frame(_MARGIN, 0, width - 2 * _MARGIN, _ARRAY, "#f2f2f2"))
    sides = accelerator.array.sides
    across = min(_CELLS, sides[0].size)
    up = min(_CELLS, sides[1].size) if len(sides) > 1 else 1
    step, middle = (_ARRAY - 0.2) / _CELLS, _ARRAY / 2
    for x in range(across):
        for y in range(up):
            corner = (width / 2 - 0.1 - (x + 1) * step, middle + (y - up / 2) * step)
            unit = Rectangle(corner, step * 0.75, step * 0.75, facecolor=MUTED, linewidth=0)
            unit.set_zorder(3)
            axes.add_patch(unit)
    sizes = "\n".join(f"{short_name(side.name, 16)}: {count(side.size)}" for side in sides)
    text = f"array of {count(accelerator.array.units)} units\n{sizes}"
    axes.text(width / 2 + 0.1, middle, text, va="center", fontsize=SMALL, linespacing=1.3)


def _draw_box(axes: Plot, box: Box, bottom: float) -> None:
    left = box.first * _COLUMN + _MARGIN
    width = (box.last - box.first + 1) * _COLUMN - 2 * _MARGIN
    fill = _FILLS[box.row % len(_FILLS)]
    axes.add_patch(_frame(left, bottom, width, box.height, fill))
    top = bottom + box.height - _PAD
    name = short_name(box.level.name, 30)
    axes.text(left + width / 2, top, name, ha="center", va="top", fontweight="bold")
    for i, line in enumerate(box.lines):
        axes.text(
            left + width / 2, top - (i + 1.15) * _LINE, line, ha="center", va="top", fontsize=SMALL
        )


def _frame(left: float, bottom: float, width: float, height: float, fill: str) -> Rectangle:
    return Rectangle(
        (left, bottom), width, height, facecolor=fill, edgecolor=INK, linewidth=0.7, zorder=2
    )


def _draw_arrows(
    axes: Plot,
    column: tuple[int, MemoryOperand],
    boxes: tuple[Box, ...],
    bottoms: list[float],
) -> None:
    """The way of an operand from its outermost memory to the array, or back."""
    position, operand = column
    middle, below = (position + 0.5) * _COLUMN, _ARRAY
    for box in boxes:
        if operand not in box.level.operands:
            continue
        top = bottoms[box.row]
        style = "<|-|>" if operand == OUTPUT else "-|>"
        axes.annotate(
            "", (middle, below), (middle, top),
            arrowprops={
                "arrowstyle": style, "color": _color(operand), "linewidth": 1.2,
                "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8,
            },
            zorder=1,
        )  # fmt: skip
        label = way_text(short_name(operand, 12), way_width(box.level, operand))
        axes.text(
            middle + 0.08, top - _GAP / 2, label,
            va="center", fontsize=SMALL, color=INK, zorder=3,
        )  # fmt: skip
        below = top + box.height


def _color(operand: MemoryOperand) -> str:
    fixed = {OUTPUT: VERMILLION, "I1": GREEN, "I2": BLUE}
    return fixed.get(operand, look(5).color)
