"""Draws an accelerator in pixels: array at the bottom, outermost memory on top."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Final, final

from nestmap.model import Accelerator
from nestmap.pipeline.analysis.network.accelerator_layout import (
    MemoryBox,
    OperandPath,
    Sizes,
    accelerator_layout,
    units_shown,
)
from nestmap.pipeline.analysis.network.memory_hierarchy import (
    OperandNames,
    memory_lines,
    path_text,
)
from nestmap.pipeline.format.mappings import array_text, shortened
from nestmap.pipeline.format.numbers import count, printable
from nestmap.pipeline.format.palette import (
    INPUT_COLOR,
    OTHER_OPERANDS,
    OUTPUT_COLOR,
    WEIGHT_COLOR,
    operand_looks,
)

_SIZES: Final = Sizes(column=280, line=18, pad=12, gap=46, margin=8, array=96)
"""The sizes of the drawing, in pixels."""

_LETTERS: Final = 38
_UNIT: Final = 9
_UNITS: Final = 8
"""The maximum number of units drawn along a side of the array."""


@final
@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text and its position."""

    x: float
    y: float
    text: str


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A memory or the array: a rectangle with a name and lines of text below it."""

    x: float
    y: float
    width: float
    height: float
    tone: int
    name: TextLine
    lines: tuple[TextLine, ...]


@final
@dataclass(frozen=True, slots=True)
class Path:
    """The path of an operand between a memory and the level below; ``both``: in both directions.

    ``thickness`` grows with the bit width, from 1 pixel for one bit.
    """

    x: float
    top: float
    bottom: float
    thickness: float
    tone: int
    both: bool
    label: TextLine


@final
@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture; ``units`` are the corners of the drawn units of the array."""

    title: str
    description: str
    width: float
    height: float
    boxes: tuple[Box, ...]
    ways: tuple[Path, ...]
    units: tuple[tuple[float, float], ...]
    unit: int = _UNIT - 2


def accelerator_drawing(accelerator: Accelerator, names: OperandNames) -> Drawing:
    """The picture of an accelerator: a column for each memory operand, named as in layers."""
    layout = accelerator_layout(accelerator, _SIZES, names)
    tones = operand_tones(names)
    floor = _SIZES.margin + layout.height
    boxes = [_memory(box, floor - box.top) for box in layout.boxes]
    return Drawing(
        title=f"{accelerator.name}: {array_text(accelerator)}",
        description=_description(accelerator, names),
        width=layout.width,
        height=floor + _SIZES.margin,
        boxes=(*boxes, _array(accelerator, layout.width, floor - _SIZES.array)),
        ways=tuple(_way(path, tones[path.name], floor) for path in layout.paths),
        units=tuple(_units(accelerator, floor - _SIZES.array)),
    )


def _description(accelerator: Accelerator, names: OperandNames) -> str:
    levels = reversed(accelerator.memories)
    texts = (f"{x.name}: {'; '.join(memory_lines(accelerator, x, names))}" for x in levels)
    return f"Memories from the outermost in. {'. '.join(texts)}. Below: the array."


def _memory(box: MemoryBox, top: float) -> Box:
    start, y = box.left + _SIZES.pad, top + _SIZES.pad + _SIZES.line * 0.75
    return Box(
        x=box.left,
        y=top,
        width=box.width,
        height=box.height,
        tone=0,
        name=TextLine(start, y, shortened(printable(box.level.name), 30)),
        lines=tuple(
            TextLine(start, y + _SIZES.line * i, shortened(line, _LETTERS * box.columns))
            for i, line in enumerate(box.lines, start=1)
        ),
    )


def _array(accelerator: Accelerator, width: float, top: float) -> Box:
    sides = [f"{side.name}: {count(side.size)}" for side in accelerator.array.sides[:3]]
    start = 2.0 * (_SIZES.margin + _SIZES.pad) + _UNITS * _UNIT
    y = top + (_SIZES.array - _SIZES.line * len(sides)) / 2
    return Box(
        x=_SIZES.margin,
        y=top,
        width=width - 2 * _SIZES.margin,
        height=_SIZES.array,
        tone=1,
        name=TextLine(start, y, f"array of {count(accelerator.array.units)} units"),
        lines=tuple(
            TextLine(start, y + _SIZES.line * i, text) for i, text in enumerate(sides, start=1)
        ),
    )


def operand_tones(names: OperandNames) -> dict[str, int]:
    """The class of each operand in the style sheet, whose colours are those of the figures."""
    colors = (OUTPUT_COLOR, WEIGHT_COLOR, INPUT_COLOR, *OTHER_OPERANDS)
    looks = operand_looks(names.values())
    return {name: colors.index(look.color) for name, look in looks.items()}


def _units(accelerator: Accelerator, top: float) -> list[tuple[float, float]]:
    across, down = units_shown(accelerator)
    left, first = 2.0 * _SIZES.margin + _SIZES.pad, top + (_SIZES.array - down * _UNIT) / 2
    return [(left + x * _UNIT, first + y * _UNIT) for x in range(across) for y in range(down)]


def _way(path: OperandPath, tone: int, floor: float) -> Path:
    """The path of an operand between a memory and the level below."""
    top = floor - path.top
    text = path_text(shortened(path.name, 12), path.width)
    return Path(
        x=path.middle,
        top=top,
        bottom=floor - path.bottom,
        thickness=round(1 + log2(path.width or 1) / 3, 2),
        tone=tone,
        both=path.goes_both_ways,
        label=TextLine(path.middle + 12, top + _SIZES.gap / 2 + 4, text),
    )
