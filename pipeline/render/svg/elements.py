"""Builds parts of SVG pictures: the page, boxes with text, curves."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from rich.cells import cell_len

CELL: Final = 6.7
"""The character width of the smaller, monospaced font."""
LINE: Final = 14.0
PADDING: Final = 8.0
MARGIN: Final = 24.0
BASELINE: Final = 4.0
"""The distance from the middle of a line of text to its baseline."""
_MARKER: Final = {
    "id": "arrow",
    "viewBox": "0 0 8 8",
    "refX": "8",
    "refY": "4",
    "markerWidth": "7",
    "markerHeight": "7",
    "orient": "auto",
}
_STYLE: Final = """
text { font: 11px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1b1f24; }
.title { font-size: 16px; font-weight: bold; }
.node text:first-of-type { font-weight: bold; }
.node text, .legend text { text-anchor: middle; }
.node rect, .legend rect { stroke-width: 1.2; }
"""
_EDGES: Final = """.edge { fill: none; stroke: #6a737d; stroke-width: 1.2; }
.head { fill: #6a737d; }
"""


class Point(NamedTuple):
    """A position on the page; ``y`` grows downwards."""

    x: float
    y: float


class Box(NamedTuple):
    """A rectangle: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float


def page(title: str, width: float, height: float, style: str) -> ET.Element:
    """An empty white page with the style sheet and the arrow head."""
    size = {"width": number(width), "height": number(height)}
    view = f"0 0 {size['width']} {size['height']}"
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "viewBox": view})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = _STYLE + style + _EDGES
    marker = ET.SubElement(ET.SubElement(root, "defs"), "marker", _MARKER)
    ET.SubElement(marker, "path", {"class": "head", "d": "M 0 0 L 8 4 L 0 8 z"})
    ET.SubElement(root, "rect", {**size, "fill": "white"})
    return root


def moved(parent: ET.Element, x: float, y: float) -> ET.Element:
    """A group with that origin."""
    return ET.SubElement(parent, "g", {"transform": f"translate({x:g} {y:g})"})


def add_box(parent: ET.Element, classes: str, lines: Sequence[str], box: Box) -> ET.Element:
    """A box with centred lines of text."""
    group = ET.SubElement(parent, "g", {"class": classes})
    place = {"x": box.x, "y": box.y, "width": box.width, "height": box.height, "rx": 4.0}
    ET.SubElement(group, "rect", {key: number(value) for key, value in place.items()})
    first = box.y + (box.height - LINE * (len(lines) - 1)) / 2 + BASELINE
    for position, line in enumerate(lines):
        at = {"x": number(box.x + box.width / 2), "y": number(first + LINE * position)}
        text = ET.SubElement(group, "text", at)
        text.text = fitted(line, int((box.width - 2 * PADDING) / CELL))
    return group


def add_text(
    parent: ET.Element, text: str, place: tuple[float, float], name: str = ""
) -> ET.Element:
    """A line of text that begins at a place, on its baseline; ``name``: its class."""
    x, y = map(number, place)
    made = ET.SubElement(parent, "text", {"x": x, "y": y} | ({"class": name} if name else {}))
    made.text = text
    return made


def path(way: Sequence[Point]) -> str:
    """A path straight down past rows, with curves between them."""
    parts = [f"M {number(way[0].x)} {number(way[0].y)}"]
    for i, (here, there) in enumerate(pairwise(way)):
        if i % 2 == 0:
            parts.append(f"L {number(there.x)} {number(there.y)}")
        else:
            middle = number((here.y + there.y) / 2)
            bends = f"{number(here.x)} {middle} {number(there.x)} {middle}"
            parts.append(f"C {bends} {number(there.x)} {number(there.y)}")
    return " ".join(parts)


def fitted(text: str, cells: int) -> str:
    """The text, or its end if it is too long: names differ at their ends."""
    if cell_len(text) <= cells:
        return text
    kept = text
    while cell_len(kept) > cells - 1:
        kept = kept[max(1, (cell_len(kept) - cells) // 2) :]
    return f"\u2026{kept}"


def number(value: float) -> str:
    """A length with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
