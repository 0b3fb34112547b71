"""Where an accelerator is drawn: the array at the bottom, memories above it, the outermost on top.

A column for each memory operand; a memory spans those of the operands that it holds. Lengths are
in the unit of the painter's sizes, from the left and from the bottom up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from nestmap.model import OUTPUT, Accelerator, MemoryLevel
from nestmap.model.dims import MemoryOperand
from nestmap.pipeline.analysis.network.memory_hierarchy import (
    Place,
    memory_lines,
    memory_places,
    operand_columns,
    path_width,
)

_MOST_UNITS: Final = 8
"""Units drawn along a side of the array, at most."""


class Sizes(NamedTuple):
    """What a painter needs: width of a column, height of a line and of the array, distances.

    ``pad`` is left free above and below the lines of a memory, ``gap`` between rows of memories,
    ``margin`` at both sides of a memory.
    """

    column: float
    line: float
    pad: float
    gap: float
    margin: float
    array: float


class MemoryBox(NamedTuple):
    """A memory: over so many columns, in a row (0: next to the array), with lines of text."""

    level: MemoryLevel
    columns: int
    row: int
    left: float
    bottom: float
    width: float
    height: float
    lines: tuple[str, ...]

    @property
    def top(self) -> float:
        """Its upper edge."""
        return self.bottom + self.height


class OperandPath(NamedTuple):
    """The path of an operand between a memory, at ``top``, and what is inside it, at ``bottom``.

    ``width`` is in bit/cycle, where a port is named.
    """

    operand: MemoryOperand
    column: int
    middle: float
    bottom: float
    top: float
    width: int | None

    @property
    def goes_both_ways(self) -> bool:
        """Whether it is read and written."""
        return self.operand == OUTPUT


class AcceleratorLayout(NamedTuple):
    """All memories and paths, and the size of the whole."""

    width: float
    height: float
    boxes: tuple[MemoryBox, ...]
    paths: tuple[OperandPath, ...]


def accelerator_layout(accelerator: Accelerator, sizes: Sizes) -> AcceleratorLayout:
    """The layout of an accelerator in some sizes."""
    operands = operand_columns(accelerator)
    places = memory_places(accelerator, operands)
    lines = [tuple(memory_lines(accelerator, place.level)) for place in places]
    heights = [sizes.line * (len(x) + 1) + 2 * sizes.pad for x in lines]
    bottoms = _bottoms(places, heights, sizes)
    boxes = tuple(
        MemoryBox(
            level=place.level,
            columns=place.last - place.first + 1,
            row=place.row,
            left=place.first * sizes.column + sizes.margin,
            bottom=bottoms[place.row],
            width=(place.last - place.first + 1) * sizes.column - 2 * sizes.margin,
            height=height,
            lines=texts,
        )
        for place, height, texts in zip(places, heights, lines, strict=True)
    )
    paths = (x for column in enumerate(operands) for x in _paths(column, boxes, sizes))
    height = max(box.top for box in boxes)
    return AcceleratorLayout(sizes.column * len(operands), height, boxes, tuple(paths))


def units_shown(accelerator: Accelerator) -> tuple[int, int]:
    """How many units of the array are drawn across and up."""
    across, *others = (min(_MOST_UNITS, side.size) for side in accelerator.array.sides)
    return across, others[0] if others else 1


def _bottoms(places: Sequence[Place], heights: Sequence[float], sizes: Sizes) -> list[float]:
    """The lower edge of each row; a row is as high as its highest memory."""
    bottoms = [sizes.array + sizes.gap]
    for row in range(max(place.row for place in places)):
        highest = max(h for place, h in zip(places, heights, strict=True) if place.row == row)
        bottoms.append(bottoms[-1] + highest + sizes.gap)
    return bottoms


def _paths(
    column: tuple[int, MemoryOperand], boxes: Sequence[MemoryBox], sizes: Sizes
) -> Iterator[OperandPath]:
    """The paths of an operand, from the array out."""
    place, operand = column
    below = sizes.array
    for box in boxes:
        if operand in box.level.operands:
            middle, width = (place + 0.5) * sizes.column, path_width(box.level, operand)
            yield OperandPath(operand, place, middle, below, box.bottom, width)
            below = box.top
