"""Draws a mapping as SVG: loops, outermost at the top, and the memory of each operand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from pydantic import Field

from nestmap.model import CostModelEvaluation, LevelEvaluation
from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand
from nestmap.pipeline.analysis.network.stacked_bars import memory_looks
from nestmap.pipeline.format.mappings import shortened
from nestmap.pipeline.format.numbers import TIMES, capacity, cycles, energy_text, printable, share
from nestmap.pipeline.format.palette import GRID, INK, MUTED, on
from nestmap.pipeline.render.svg.elements import add_text, number
from nestmap.pipeline.util.image_files import save_svg

# --- A picture: SVG with its text alternative; it shows and saves itself ---


class Picture(Frozen, frozen=True):
    """A picture for notebooks and files, which :meth:`save` writes as SVG, PNG or PDF."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    svg: str

    def save(self, path: Path | str) -> None:
        """Writes the picture as SVG, PNG or PDF.

        Raises:
            InputError: if the file name has another ending, the file cannot be written, or
                vl-convert, which makes PNG and PDF, is not installed.
        """
        save_svg(self.svg, Path(path))

    def _repr_svg_(self) -> str:
        return self.svg


def picture_of(name: str, root: ET.Element) -> Picture:
    """The picture of an SVG element, whose title it has."""
    title = root.findtext("title") or name
    return Picture(name=name, title=title, svg=ET.tostring(root, encoding="unicode"))


_ROW: Final = 26.0
_NEST: Final = 250.0
_COLUMN: Final = 178.0
_GAP: Final = 6.0
_HEAD: Final = 62.0
_MARGIN: Final = 12.0
_STYLE: Final = f"""\
text {{ font: 12px sans-serif; fill: {INK}; }}
.title {{ font-size: 14px; font-weight: bold; }}
.loop {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
.operand {{ font-weight: bold; text-anchor: middle; }}
.held, .note {{ font-size: 11px; text-anchor: middle; }}
.note {{ fill: {MUTED}; }}
.grid {{ stroke: {GRID}; }}
"""


def loops_picture(cme: CostModelEvaluation, network: str | None = None) -> Picture:
    """The loops from the outermost in, with the memory that holds each operand's tile.

    A memory's block spans the loops that it adds to those of the memories below. Memories that add
    no loop are listed below the loops.
    """
    operands = list(dict.fromkeys(entry.operand for entry in cme.levels))
    lines = list(_lines(cme))
    notes = max(len(_idle(cme, operand)) for operand in operands)
    width = _NEST + _COLUMN * len(operands) + 2 * _MARGIN
    root = _page(_title(cme, network), width, _HEAD + _ROW * len(lines) + 18 * notes + _MARGIN)
    step = min(9.0, 110 / len(lines))
    for row in range(len(lines) + 1):
        place = {"x1": _MARGIN, "x2": width - _MARGIN, "y1": _top(row), "y2": _top(row)}
        ET.SubElement(root, "line", {"class": "grid", **{k: number(v) for k, v in place.items()}})
    for row, text in enumerate(lines):
        add_text(root, text, (_MARGIN + row * step, _top(row) + 17), "loop")
    for i, operand in enumerate(operands):
        _add_operand(root, cme, operand, _MARGIN + _NEST + i * _COLUMN)
    return picture_of("loops", root)


def _page(title: str, width: float, height: float) -> ET.Element:
    size = {"width": number(width), "height": number(height)}
    view = f"0 0 {size['width']} {size['height']}"
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "viewBox": view})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = _STYLE
    ET.SubElement(root, "rect", {**size, "fill": "white"})
    add_text(root, title, (_MARGIN, 22), "title")
    return root


def _title(cme: CostModelEvaluation, network: str | None) -> str:
    names = [shortened(printable(name)) for name in (network, cme.layer) if name is not None]
    return (
        f"{', '.join(names)} on {shortened(printable(cme.accelerator))}: "
        f"{energy_text(cme.energy)}, {cycles(cme.latency)} cycles"
    )


def _top(row: float) -> float:
    return _HEAD + _ROW * row


def _lines(cme: CostModelEvaluation) -> Iterator[str]:
    """The loops as code."""
    for loop in reversed(cme.temporal_mapping.order):
        yield f"for {loop.dimension} in {loop.size:,}"
    for unrolling in cme.spatial_mapping.unrollings:
        loops = f" {TIMES} ".join(str(loop) for loop in unrolling.loops if loop.size > 1)
        side = shortened(printable(unrolling.array_dimension), 8)
        yield f"parfor {shortened(loops, 22) or 'nothing'} over {side}"


def _add_operand(
    root: ET.Element, cme: CostModelEvaluation, operand: LayerOperand, left: float
) -> None:
    """The memories of an operand, each next to its loops."""
    looks = memory_looks([cme])
    middle, n = left + (_COLUMN - _GAP) / 2, len(cme.temporal_mapping.order)
    add_text(root, shortened(printable(operand), 20), (middle, _HEAD - 10), "operand")
    for entry in _levels(cme, operand):
        first, last = _span(cme, entry)
        if first < last:
            color = looks[entry.memory].color
            _add_block(root, (left, n - last), last - first, color)
            _add_held(root, (middle, n - (first + last) / 2), entry, last - first, on(color))
    unrolled = len(cme.spatial_mapping.unrollings)
    if unrolled:
        _add_block(root, (left, n), unrolled, "#eeeeee")
        add_text(root, "array", (middle, _top(n + unrolled / 2) + 4), "note")
    for i, entry in enumerate(_idle(cme, operand)):
        text = f"no loop: {shortened(printable(entry.memory), 18)}"
        add_text(root, text, (middle, _top(n + unrolled) + 16 + 18 * i), "note")


def _add_block(root: ET.Element, corner: tuple[float, float], rows: int, color: str) -> None:
    """The area beside some loops, from a row on."""
    left, row = corner
    place = {"x": left, "y": _top(row) + 1, "width": _COLUMN - _GAP, "height": _ROW * rows - 2}
    ET.SubElement(root, "rect", {**{k: number(v) for k, v in place.items()}, "fill": color})


def _add_held(
    root: ET.Element, middle: tuple[float, float], entry: LevelEvaluation, rows: int, ink: str
) -> None:
    """What a memory holds, in one line or two."""
    x, row = middle
    held = f"{capacity(entry.bits)}, {share(entry.utilization)}"
    name = shortened(printable(entry.memory), 16)
    lines = [name, held] if rows > 1 else [f"{name}: {held}"]
    for i, line in enumerate(lines):
        text = add_text(root, line, (x, _top(row) + 4 + 15 * (i - (len(lines) - 1) / 2)), "held")
        text.set("style", f"fill: {ink}")


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
