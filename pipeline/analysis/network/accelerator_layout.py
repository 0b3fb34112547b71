"""Lays out a drawing of an accelerator: array at the bottom, outermost memory on top.

Each memory operand has a column; a memory spans the columns of its operands. Lengths are in the
unit of the given sizes, measured from the left and from the bottom.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from nestmap.model import OUTPUT, Accelerator, MemoryLevel
from nestmap.model.dims import MemoryOperand
from nestmap.pipeline.analysis.network.memory_hierarchy import (
    OperandNames,
    Place,
    memory_lines,
    memory_places,
    operand_columns,
    path_width,
)

_MOST_UNITS: Final = 8
"""The maximum number of units drawn along a side of the array."""


class Sizes(NamedTuple):
    """The sizes of a drawing: column width, line height, array height and distances.

    ``pad`` is the space above and below the text of a memory, ``gap`` the space between rows of
    memories, ``margin`` the space on both sides of a memory.
    """

    column: float
    line: float
    pad: float
    gap: float
    margin: float
    array: float


class MemoryBox(NamedTuple):
    """A memory with its columns, its row (0: next to the array) and its lines of text."""

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
    """The path of an operand from a memory, at ``top``, to the level below, at ``bottom``.

    ``name`` is that of the operand of layers, ``width`` is in bit/cycle, if the path has a port.
    """

    operand: MemoryOperand
    name: str
    middle: float
    bottom: float
    top: float
    width: int | None

    @property
    def goes_both_ways(self) -> bool:
        """Whether the memory is both read and written."""
        return self.operand == OUTPUT


class AcceleratorLayout(NamedTuple):
    """All memories and paths, and the size of the drawing."""

    width: float
    height: float
    boxes: tuple[MemoryBox, ...]
    paths: tuple[OperandPath, ...]


def accelerator_layout(
    accelerator: Accelerator, sizes: Sizes, names: OperandNames
) -> AcceleratorLayout:
    """The layout of an accelerator for given sizes, with the names of operands."""
    operands = operand_columns(accelerator)
    places = memory_places(accelerator, operands)
    lines = [tuple(memory_lines(accelerator, place.level, names)) for place in places]
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
    paths = (
        path._replace(name=names[path.operand])
        for column in enumerate(operands)
        for path in _paths(column, boxes, sizes)
    )
    height = max(box.top for box in boxes)
    return AcceleratorLayout(sizes.column * len(operands), height, boxes, tuple(paths))


def units_shown(accelerator: Accelerator) -> tuple[int, int]:
    """The number of units drawn across and up."""
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
    """The paths of an operand, from the array outwards."""
    place, operand = column
    below = sizes.array
    for box in boxes:
        if operand in box.level.operands:
            middle, width = (place + 0.5) * sizes.column, path_width(box.level, operand)
            yield OperandPath(operand, operand, middle, below, box.bottom, width)
            below = box.top
