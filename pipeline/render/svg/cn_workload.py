"""Draws the graph of computation nodes as SVG: a row for each layer, edges downwards."""

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from rich.cells import cell_len

from nestmap.model.multicore.cn_layer import CnLayer
from nestmap.model.multicore.cn_workload import (
    CnEdge,
    CnTensor,
    CnWorkload,
    ComputationNode,
    DimensionRange,
)
from nestmap.pipeline.format.numbers import capacity
from nestmap.pipeline.render.svg.elements import (
    CELL,
    LINE,
    MARGIN,
    PADDING,
    Box,
    Point,
    add_box,
    fitted,
    moved,
    number,
    page,
    path,
)
from nestmap.pipeline.render.text.plain_table import printable

MOST_NODES: Final = 300
"""Pictures with more computation nodes are unreadable."""
MOST_EDGES: Final = 3_000

_HEAD: Final = 62.0
"""Height of title and legend."""
_GAP: Final = 22.0
"""The minimum gap between the boxes of a row."""
_ROW_GAP: Final = 54.0
_DIP: Final = 16.0
"""The distance below its row of an arrow that passes other nodes."""
_LABEL_CELLS: Final = 24
_LABEL: Final = _LABEL_CELLS * CELL + PADDING
_COLOURS: Final = (
    *(("#cfe3fb", "#2f6db5"), ("#d8f0d3", "#4a8f3c"), ("#ffe0c2", "#c4650a")),
    *(("#ead9f5", "#7d4ba6"), ("#fbd5d5", "#b53a3a"), ("#d3f0ee", "#26837d")),
)
_LEGEND: Final = (
    "Solid: brings data. Dotted: keeps the order within a group.",
    "Colour: group (same constants). Dashed box: partial sums.",
)
_STYLE: Final = (
    "".join(
        f".g{place} rect {{ fill: {fill}; stroke: {line}; }}\n"
        for place, (fill, line) in enumerate(_COLOURS)
    )
    + """.partial rect { stroke-dasharray: 5 3; }
.label { font-weight: bold; }
.order { stroke-dasharray: 2 3; }
"""
)


class _Row(NamedTuple):
    """The layer of a row, the text in its boxes, and their positions."""

    layer: CnLayer
    nodes: tuple[ComputationNode, ...]
    lines: tuple[tuple[str, ...], ...]


def cn_graph_svg(split: CnWorkload) -> str:
    """The picture: boxes with number, range of the split dimensions and group; arrows for edges.

    The nodes of a layer are in one row, in their order. A tooltip lists the loops and data of a
    node.

    Raises:
        ValueError: if there are more than ``MOST_NODES`` nodes or ``MOST_EDGES`` edges.
    """
    if len(split) > MOST_NODES or len(split.edges) > MOST_EDGES:
        raise ValueError(f"{len(split):,} nodes and {len(split.edges):,} edges")
    rows = tuple(_rows(split))
    boxes = _boxes(rows)
    right = max((box.x + box.width for box in boxes), default=0.0)
    right = max(right, CELL * max(map(len, _LEGEND)))
    bottom = max((box.y + box.height for box in boxes), default=0.0)
    root = page(
        printable(split.name), 2 * MARGIN + right, 2 * MARGIN + _HEAD + bottom + _DIP, _STYLE
    )
    _add_head(moved(root, MARGIN, MARGIN), printable(split.name))
    body = moved(root, MARGIN, MARGIN + _HEAD)
    for row in range(len(split.edges)):
        places = int(split.edges.producer[row]), int(split.edges.consumer[row])
        _add_edge(body, split.edge(row), boxes[places[0]], boxes[places[1]])
    _add_rows(body, rows, boxes)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _rows(split: CnWorkload) -> Iterator[_Row]:
    nodes = split.nodes()
    for layer in split.layers:
        mine = tuple(next(nodes) for _ in range(layer.tiling.count))
        yield _Row(layer, mine, tuple(tuple(_lines(layer, node)) for node in mine))


def _lines(layer: CnLayer, node: ComputationNode) -> Iterator[str]:
    yield str(node.id)
    for part in node.ranges:
        if layer.tiling.tiles[part.dimension] > 1:
            yield range_text(part)
    if int(layer.groups.max()):
        yield f"group {node.group}"


def range_text(part: DimensionRange) -> str:
    """``OY 3`` for one iteration, ``OY 3-5`` for several."""
    last = part.end - 1
    return f"{part.dimension} {part.first}" + (f"-{last}" if last > part.first else "")


def _boxes(rows: Sequence[_Row]) -> list[Box]:
    """The positions of the nodes: each layer is spread over the width of the widest row."""
    cells = (cell_len(line) for row in rows for lines in row.lines for line in lines)
    width = 2 * PADDING + CELL * max(cells, default=0)
    widest = max((len(row.nodes) for row in rows), default=0) * (width + _GAP)
    boxes: list[Box] = []
    y = 0.0
    for row in rows:
        height = PADDING + LINE * max(map(len, row.lines))
        step = widest / len(row.nodes)
        for place in range(len(row.nodes)):
            boxes.append(Box(_LABEL + step * (place + 0.5) - width / 2, y, width, height))
        y += height + _ROW_GAP
    return boxes


def _add_head(head: ET.Element, title: str) -> None:
    ET.SubElement(head, "text", {"class": "title", "y": "14"}).text = title
    for place, line in enumerate(_LEGEND):
        ET.SubElement(head, "text", {"y": number(14 + LINE * (place + 1.4))}).text = line


def _add_rows(body: ET.Element, rows: Sequence[_Row], boxes: Sequence[Box]) -> None:
    left = iter(boxes)
    for row in rows:
        places = [next(left) for _ in row.nodes]
        middle = places[0].y + places[0].height / 2
        texts = (("label", row.layer.nest.name), ("operator", row.layer.nest.operator))
        for line, (role, text) in enumerate(texts):
            at = {"class": role, "y": number(middle + LINE * (line - 0.1))}
            ET.SubElement(body, "text", at).text = fitted(printable(text), _LABEL_CELLS - 1)
        for node, lines, box in zip(row.nodes, row.lines, places, strict=True):
            classes = f"node g{node.group % len(_COLOURS)}" + ("" if node.final else " partial")
            group = add_box(body, classes, lines, box)
            ET.SubElement(group, "title").text = _hint(node)


def _hint(node: ComputationNode) -> str:
    ranges = ", ".join(range_text(part) for part in node.ranges)
    tensors = "\n".join(map(_tensor_text, (*node.inputs, node.output)))
    done = "" if node.final else "\npartial sums"
    return f"{node.id} {printable(node.layer)} ({printable(node.operator)})\n{ranges}\n" + (
        f"{tensors}\ngroup {node.group}{done}"
    )


def _tensor_text(tensor: CnTensor) -> str:
    ranges = " x ".join(starmap("{}:{}".format, tensor.ranges))
    return f"{tensor.operand} {ranges}: {capacity(tensor.bits)}"


def _add_edge(body: ET.Element, edge: CnEdge, one: Box, other: Box) -> None:
    role = "edge" if edge.operand is not None else "edge order"
    way = _down(one, other) if one.y != other.y else _beside(one, other)
    line = ET.SubElement(body, "path", {"class": role, "d": way, "marker-end": "url(#arrow)"})
    what = f", {edge.operand}: {capacity(edge.bits)}" if edge.operand is not None else ""
    ET.SubElement(line, "title").text = f"{edge.producer} to {edge.consumer}{what}"


def _down(one: Box, other: Box) -> str:
    start = Point(one.x + one.width / 2, one.y + one.height)
    return path((start, start, Point(other.x + other.width / 2, other.y)))


def _beside(one: Box, other: Box) -> str:
    """An arrow to the next node, or below the row if it passes other nodes."""
    middle = one.y + one.height / 2
    start, end = one.x + one.width, other.x
    if end - start < one.width:
        return f"M {number(start)} {number(middle)} L {number(end)} {number(middle)}"
    from_x, to_x = one.x + 0.75 * one.width, other.x + 0.25 * other.width
    low = one.y + one.height
    bend = number(low + 1.6 * _DIP)
    return (
        f"M {number(from_x)} {number(low)} C {number(from_x)} {bend} {number(to_x)} {bend} "
        f"{number(to_x)} {number(low)}"
    )
