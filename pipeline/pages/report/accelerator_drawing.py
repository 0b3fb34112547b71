"""A drawing of an accelerator in pixels: the array at the bottom, the outermost memory on top."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Final, final

from nestmap.model import OUTPUT, Accelerator
from nestmap.model.dims import MemoryOperand
from nestmap.pipeline.analysis.network.memory_hierarchy import (
    Place,
    memory_lines,
    memory_places,
    operand_columns,
    way_text,
    way_width,
)
from nestmap.pipeline.format.mappings import array_text, printable, shortened
from nestmap.pipeline.format.numbers import count

_COLUMN: Final = 280
_LETTERS: Final = 38
_LINE: Final = 18
_PAD: Final = 12
_GAP: Final = 46
_MARGIN: Final = 8
_ARRAY: Final = 96
_UNIT: Final = 9
_MOST_UNITS: Final = 8
"""Units drawn along a side of the array, at most."""


@final
@dataclass(frozen=True, slots=True)
class Written:
    """A line of text and where it stands."""

    x: float
    y: float
    text: str


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A memory or the array: a rectangle with a name and lines below it."""

    x: float
    y: float
    width: float
    height: float
    tone: int
    name: Written
    lines: tuple[Written, ...]


@final
@dataclass(frozen=True, slots=True)
class Way:
    """The way of an operand between a memory and the one inside it; ``both``: it goes both ways.

    Thicker where more bits go: ``thickness`` is 1 pixel for one.
    """

    x: float
    top: float
    bottom: float
    thickness: float
    tone: int
    both: bool
    label: Written


@final
@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture; ``units`` are the corners of some units of the array."""

    title: str
    description: str
    width: float
    height: float
    boxes: tuple[Box, ...]
    ways: tuple[Way, ...]
    units: tuple[tuple[float, float], ...]
    unit: int = _UNIT - 2


def machine_drawing(accelerator: Accelerator) -> Drawing:
    """The picture of an accelerator: a column for each memory operand."""
    operands = operand_columns(accelerator)
    places = memory_places(accelerator, operands)
    tops = _tops(accelerator, places)
    floor = max(tops[0] + _height(accelerator, x) for x in places if x.row == 0) + _GAP
    width = _COLUMN * max(len(operands), 1)
    boxes = [_memory(accelerator, place, tops[place.row]) for place in places]
    ways = [
        way
        for column, operand in enumerate(operands)
        for way in _ways((column, operand), places, boxes, floor)
    ]
    return Drawing(
        title=f"{accelerator.name}: {array_text(accelerator)}",
        description=_description(accelerator),
        width=width,
        height=floor + _ARRAY + _MARGIN,
        boxes=(*boxes, _array(accelerator, width, floor)),
        ways=tuple(ways),
        units=tuple(_units(accelerator, floor)),
    )


def _description(accelerator: Accelerator) -> str:
    levels = reversed(accelerator.memories)
    texts = (f"{x.name}: {'; '.join(memory_lines(accelerator, x))}" for x in levels)
    return f"Memories from the outermost in. {'. '.join(texts)}. Below: the array."


def _height(accelerator: Accelerator, place: Place) -> float:
    lines = len(tuple(memory_lines(accelerator, place.level)))
    return _LINE * (lines + 1) + 2 * _PAD


def _tops(accelerator: Accelerator, places: tuple[Place, ...]) -> dict[int, float]:
    """The upper edge of each row of memories; the outermost one has the smallest."""
    tops: dict[int, float] = {}
    top = float(_MARGIN)
    for row in range(max(place.row for place in places), -1, -1):
        tops[row] = top
        top += max(_height(accelerator, x) for x in places if x.row == row) + _GAP
    return tops


def _memory(accelerator: Accelerator, place: Place, top: float) -> Box:
    left, columns = place.first * _COLUMN + _MARGIN, place.last - place.first + 1
    width = columns * _COLUMN - 2 * _MARGIN
    lines = list(memory_lines(accelerator, place.level))
    start, y = left + _PAD, top + _PAD + _LINE * 0.75
    return Box(
        x=left,
        y=top,
        width=width,
        height=_height(accelerator, place),
        tone=place.row % 3,
        name=Written(start, y, shortened(printable(place.level.name), 30)),
        lines=tuple(
            Written(start, y + _LINE * i, shortened(line, _LETTERS * columns))
            for i, line in enumerate(lines, start=1)
        ),
    )


def _array(accelerator: Accelerator, width: float, top: float) -> Box:
    sides = [f"{side.name}: {count(side.size)}" for side in accelerator.array.sides]
    shown = sides[:3]
    start, y = 2.0 * (_MARGIN + _PAD) + _MOST_UNITS * _UNIT, top + (_ARRAY - _LINE * len(shown)) / 2
    return Box(
        x=_MARGIN,
        y=top,
        width=width - 2 * _MARGIN,
        height=_ARRAY,
        tone=3,
        name=Written(start, y, f"array of {count(accelerator.array.units)} units"),
        lines=tuple(Written(start, y + _LINE * i, text) for i, text in enumerate(shown, start=1)),
    )


def _units(accelerator: Accelerator, top: float) -> list[tuple[float, float]]:
    sides = accelerator.array.sides
    across = min(_MOST_UNITS, sides[0].size)
    down = min(_MOST_UNITS, sides[1].size) if len(sides) > 1 else 1
    left, first = 2.0 * _MARGIN + _PAD, top + (_ARRAY - down * _UNIT) / 2
    return [(left + x * _UNIT, first + y * _UNIT) for x in range(across) for y in range(down)]


def _ways(
    column: tuple[int, MemoryOperand], places: tuple[Place, ...], boxes: list[Box], floor: float
) -> list[Way]:
    """The way of an operand from its outermost memory to the array, or back."""
    position, operand = column
    x, below = (position + 0.5) * _COLUMN, floor
    ways: list[Way] = []
    for place, box in zip(places, boxes, strict=True):
        if operand in place.level.operands:
            bottom, width = box.y + box.height, way_width(place.level, operand)
            label = Written(x + 12, bottom + _GAP / 2 + 4, way_text(shortened(operand, 12), width))
            thick = round(1 + log2(width or 1) / 3, 2)
            ways.append(Way(x, bottom, below, thick, position % 6, operand == OUTPUT, label))
            below = box.y
    return ways
