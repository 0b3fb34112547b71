"""Draws an accelerator as SVG: array at the bottom, outermost memory on top."""

from math import log2
from typing import Final
from xml.etree import ElementTree as ET

from nestmap.model import Accelerator, NetworkEvaluation
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
    operand_names,
    path_text,
)
from nestmap.pipeline.analysis.network.stacked_bars import cmes_of
from nestmap.pipeline.format.mappings import array_text, shortened
from nestmap.pipeline.format.numbers import count, printable
from nestmap.pipeline.format.palette import (
    INK,
    INPUT_COLOR,
    MUTED,
    OTHER_OPERANDS,
    OUTPUT_COLOR,
    WEIGHT_COLOR,
    operand_looks,
)
from nestmap.pipeline.render.svg.elements import add_text, number
from nestmap.pipeline.render.svg.loops import Picture, picture_of

_SIZES: Final = Sizes(column=280, line=18, pad=12, gap=46, margin=8, array=96)
"""The sizes of the drawing, in pixels."""

_LETTERS: Final = 38
_UNIT: Final = 9
_UNITS: Final = 8
"""The maximum number of units drawn along a side of the array."""

_TONES: Final = (OUTPUT_COLOR, WEIGHT_COLOR, INPUT_COLOR, *OTHER_OPERANDS)
"""The colours of operands by the numbers of their classes."""

_STYLE: Final = "".join(
    (
        f".machine text {{ font: 13px sans-serif; fill: {INK}; }}\n",
        ".machine .name { font-size: 14px; font-weight: bold; }\n",
        ".machine .box rect { stroke: #8a9099; }\n",
        ".machine .box0 rect { fill: #f6f7f9; }\n.machine .box1 rect { fill: #eceef1; }\n",
        f".machine .units rect {{ fill: {MUTED}; }}\n",
        *(f".way{i} line {{ stroke: {color}; }}\n" for i, color in enumerate(_TONES)),
        *(f".way{i} path {{ fill: {color}; }}\n" for i, color in enumerate(_TONES)),
    )
)
"""The looks outside pages, which have a style sheet for the same classes."""


def accelerator_picture(
    accelerator: Accelerator, evaluation: NetworkEvaluation | None = None
) -> Picture:
    """The array and its memories: operands, sizes, instances, served dimensions, port widths.

    Each memory operand has a column; a memory spans the columns of its operands. Arrows are the
    transfers between a memory and the level below. Operands have the names that the layers of the
    evaluation, or usual ones, have for them.
    """
    names = operand_names(accelerator, cmes_of(evaluation) if evaluation else ())
    root = accelerator_svg(accelerator, names)
    size = {"width": root.attrib["width"], "height": root.attrib["height"]}
    root.insert(2, ET.Element("rect", {**size, "fill": "white"}))
    style = ET.Element("style")
    style.text = _STYLE
    root.insert(2, style)
    return picture_of("accelerator", root)


def accelerator_svg(accelerator: Accelerator, names: OperandNames) -> ET.Element:
    """The drawing without a style: a page has one for its classes."""
    layout = accelerator_layout(accelerator, _SIZES, names)
    floor = _SIZES.margin + layout.height
    width, height = number(layout.width), number(floor + _SIZES.margin)
    title = f"{accelerator.name}: {array_text(accelerator)}"
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg", "class": "machine", "role": "img",
            "aria-label": title, "viewBox": f"0 0 {width} {height}", "width": width,
            "height": height,
        },
    )  # fmt: skip
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "desc").text = _description(accelerator, names)
    tones = operand_tones(names)
    for path in layout.paths:
        _add_arrow(root, path, tones[path.name], floor)
    for box in layout.boxes:
        _add_memory(root, box, floor - box.top)
    _add_array(root, accelerator, layout.width, floor - _SIZES.array)
    for path in layout.paths:  # above the arrows
        text = path_text(shortened(path.name, 12), path.width)
        place = (path.middle + 12, floor - path.top + _SIZES.gap / 2 + 4)
        add_text(root, text, place, "label")
    return root


def _description(accelerator: Accelerator, names: OperandNames) -> str:
    levels = reversed(accelerator.memories)
    texts = (f"{x.name}: {'; '.join(memory_lines(accelerator, x, names))}" for x in levels)
    return f"Memories from the outermost in. {'. '.join(texts)}. Below: the array."


def operand_tones(names: OperandNames) -> dict[str, int]:
    """The class of each operand in the style sheet, whose colours are those of the charts."""
    looks = operand_looks(names.values())
    return {name: _TONES.index(look.color) for name, look in looks.items()}


def _add_memory(root: ET.Element, box: MemoryBox, top: float) -> None:
    group = ET.SubElement(root, "g", {"class": "box box0"})
    _add_rectangle(group, box.left, top, box.width, box.height, "6")
    start, first = box.left + _SIZES.pad, top + _SIZES.pad + _SIZES.line * 0.75
    add_text(group, shortened(printable(box.level.name), 30), (start, first), "name")
    for i, line in enumerate(box.lines, start=1):
        add_text(group, shortened(line, _LETTERS * box.columns), (start, first + _SIZES.line * i))


def _add_array(root: ET.Element, accelerator: Accelerator, width: float, top: float) -> None:
    group = ET.SubElement(root, "g", {"class": "box box1"})
    _add_rectangle(group, _SIZES.margin, top, width - 2 * _SIZES.margin, _SIZES.array, "6")
    sides = [f"{side.name}: {count(side.size)}" for side in accelerator.array.sides[:3]]
    start = 2.0 * (_SIZES.margin + _SIZES.pad) + _UNITS * _UNIT
    first = top + (_SIZES.array - _SIZES.line * len(sides)) / 2
    add_text(group, f"array of {count(accelerator.array.units)} units", (start, first), "name")
    for i, text in enumerate(sides, start=1):
        add_text(group, text, (start, first + _SIZES.line * i))
    across, down = units_shown(accelerator)
    left, upper = 2.0 * _SIZES.margin + _SIZES.pad, top + (_SIZES.array - down * _UNIT) / 2
    units = ET.SubElement(root, "g", {"class": "units"})
    for x in range(across):
        for y in range(down):
            _add_rectangle(units, left + x * _UNIT, upper + y * _UNIT, _UNIT - 2, _UNIT - 2)


def _add_rectangle(
    parent: ET.Element, x: float, y: float, width: float, height: float, radius: str = "0"
) -> None:
    place = {"x": x, "y": y, "width": width, "height": height}
    ET.SubElement(parent, "rect", {**{k: number(v) for k, v in place.items()}, "rx": radius})


def _add_arrow(root: ET.Element, path: OperandPath, tone: int, floor: float) -> None:
    """The path of an operand; its thickness grows with the bit width, from 1 pixel for one bit."""
    x, top, bottom = path.middle, floor - path.top, floor - path.bottom
    group = ET.SubElement(root, "g", {"class": f"way way{tone}"})
    ends = {"x1": x, "x2": x, "y1": top + (9 if path.goes_both_ways else 0), "y2": bottom - 9}
    thickness = f"{1 + log2(path.width or 1) / 3:.2f}"
    line = {**{key: number(value) for key, value in ends.items()}, "stroke-width": thickness}
    ET.SubElement(group, "line", line)
    heads = [f"M{number(x - 7)} {number(bottom - 11)}h14l-7 11z"]
    if path.goes_both_ways:
        heads.append(f"M{number(x - 7)} {number(top + 11)}h14l-7 -11z")
    for head in heads:
        ET.SubElement(group, "path", {"d": head})
