"""The graph of a workload as an SVG picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from rich.cells import cell_len

from nestmap.model import Layer, LayerNode, VectorNode, Workload
from nestmap.model.workload import Node
from nestmap.pipeline.report.columns import printable
from nestmap.pipeline.report.figures import count, engineering
from nestmap.pipeline.report.layout import Box, Layout, Point, layered

_CELL: Final = 6.7
"""Width of a character of the smaller font, which has a fixed pitch."""
_LINE: Final = 14.0
_PADDING: Final = 8.0
_MARGIN: Final = 24.0
_HEAD: Final = 76.0
"""Height of title and legend."""
_TITLE: Final = 26.0
"""Height of the title alone."""
_BASELINE: Final = 4.0
"""From the middle of a line of text down to its baseline."""
_MARKER: Final = {
    "id": "arrow",
    "viewBox": "0 0 8 8",
    "refX": "8",
    "refY": "4",
    "markerWidth": "7",
    "markerHeight": "7",
    "orient": "auto",
}
_FEWEST_CELLS: Final = 14
_MOST_CELLS: Final = 32
_STYLE: Final = """
text { font: 11px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1b1f24; }
.title { font-size: 16px; font-weight: bold; }
.node text:first-of-type { font-weight: bold; }
.node text, .legend text { text-anchor: middle; }
.node rect, .legend rect { stroke-width: 1.2; }
.layer rect { fill: #cfe3fb; stroke: #2f6db5; }
.vector rect { fill: #d8f0d3; stroke: #4a8f3c; }
.no-cost rect { fill: #eeeeee; stroke: #8a8a8a; }
.unknown rect { fill: #ffe0c2; stroke: #c4650a; stroke-dasharray: 5 3; }
.edge { fill: none; stroke: #6a737d; stroke-width: 1.2; }
.head { fill: #6a737d; }
"""


class _Kind(Enum):
    """What a node is: how the style sheet calls it."""

    LAYER = "layer"
    VECTOR = "vector"
    NO_COST = "no-cost"
    UNKNOWN = "unknown"


_LEGEND: Final = {
    _Kind.LAYER: "array layers",
    _Kind.VECTOR: "vector operators",
    _Kind.NO_COST: "data movement (no cost)",
    _Kind.UNKNOWN: "unknown operators",
}


class _Text(NamedTuple):
    """What stands in the box of a node, and what shows when one points at it."""

    kind: _Kind
    lines: tuple[str, ...]
    hint: str


def graph_svg(workload: Workload) -> str:
    """The picture: a box for each node, an arrow from each producer to each of its consumers.

    A box has the operator, the name, the sizes of the output, and the multiply-accumulates of a
    layer. What does not fit into it shows when one points at it. Nodes that only make constants
    are left out.
    """
    texts = {node.name: _text(node) for node in workload.nodes if not _is_constant(node)}
    cells = [cell_len(line) for text in texts.values() for line in text.lines]
    width = 2 * _PADDING + _CELL * min(_MOST_CELLS, max(_FEWEST_CELLS, *cells, 0))
    graph = workload.graph()
    graph.remove_nodes_from([name for name in graph if name not in texts])
    heights = {name: _PADDING + _LINE * len(text.lines) for name, text in texts.items()}
    return _drawn(workload, texts, layered(graph, width, heights))


def _text(node: Node) -> _Text:
    operator, name, sizes = printable(node.operator), printable(node.name), _output_sizes(node)
    more = _more(node)
    lines = [operator, name, sizes, more if isinstance(node, LayerNode) else ""]
    hint = [f"{name} ({operator})", sizes, more]
    return _Text(_kind(node), tuple(filter(None, lines)), "\n".join(filter(None, hint)))


def _is_constant(node: Node) -> bool:
    """Whether all that it makes is known before the network runs."""
    if isinstance(node, LayerNode) or not node.outputs:
        return False
    return all(output.constant for output in node.outputs)


def _kind(node: Node) -> _Kind:
    if isinstance(node, LayerNode):
        return _Kind.LAYER
    if isinstance(node, VectorNode):
        return _Kind.VECTOR
    return _Kind.NO_COST if node.known else _Kind.UNKNOWN


def _more(node: Node) -> str:
    """What a node computes."""
    if isinstance(node, LayerNode):
        return f"{engineering(node.layer.macs)} MACs"
    if isinstance(node, VectorNode):
        return f"{engineering(node.total_operations)} operations"
    return ""


def _output_sizes(node: Node) -> str:
    """The sizes of the first output, and how many others there are: ``1 x 64 x 56 x 56, +1``."""
    outputs = node.outputs
    if not outputs:
        return _layer_sizes(node.layer) if isinstance(node, LayerNode) else ""
    sizes = outputs[0].sizes
    text = "sizes unknown" if sizes is None else " x ".join(map(str, sizes)) or "scalar"
    return f"{text}, +{len(outputs) - 1}" if len(outputs) > 1 else text


def _layer_sizes(layer: Layer) -> str:
    sizes = layer.sizes
    wholes = [(index, tuple(sizes[d] for d in index.dimensions)) for index in layer.output.indices]
    return " x ".join(str(index.touched(whole, whole)) for index, whole in wholes)


def _drawn(workload: Workload, texts: Mapping[str, _Text], layout: Layout) -> str:
    legend = list(_legend(Counter(text.kind for text in texts.values())))
    right = max(layout.width, *(box.x + box.width for _, _, box in legend), 0.0)
    width, height = 2 * _MARGIN + right, 2 * _MARGIN + _HEAD + layout.height
    root = _page(printable(workload.name), width, height)
    head = ET.SubElement(root, "g", {"transform": f"translate({_MARGIN:g} {_MARGIN:g})"})
    ET.SubElement(head, "text", {"class": "title", "y": "14"}).text = printable(workload.name)
    for kind, text, box in legend:
        _add_box(head, "legend", kind, (text,), box)
    body = ET.SubElement(root, "g", {"transform": f"translate({_MARGIN:g} {_MARGIN + _HEAD:g})"})
    for (source, target), way in layout.edges.items():
        edge = ET.SubElement(body, "path", {"class": "edge", "d": _path(way)})
        edge.set("marker-end", "url(#arrow)")
        ET.SubElement(edge, "title").text = f"{printable(source)} to {printable(target)}"
    for name, box in layout.boxes.items():
        group = _add_box(body, "node", texts[name].kind, texts[name].lines, box)
        ET.SubElement(group, "title").text = texts[name].hint
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _page(title: str, width: float, height: float) -> ET.Element:
    """An empty white page with the style sheet and the arrow head."""
    size = {"width": _number(width), "height": _number(height)}
    view = f"0 0 {size['width']} {size['height']}"
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "viewBox": view})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = _STYLE
    marker = ET.SubElement(ET.SubElement(root, "defs"), "marker", _MARKER)
    ET.SubElement(marker, "path", {"class": "head", "d": "M 0 0 L 8 4 L 0 8 z"})
    ET.SubElement(root, "rect", {**size, "fill": "white"})
    return root


def _legend(counts: Mapping[_Kind, int]) -> Iterator[tuple[_Kind, str, Box]]:
    """The kinds that there are, each in a box beside the one before."""
    x = 0.0
    for kind, label in _LEGEND.items():
        if counts[kind]:
            text = f"{label}: {count(counts[kind])}"
            yield kind, text, Box(x, _TITLE, 2 * _PADDING + _CELL * len(text), 2 * _PADDING + 8)
            x += 3 * _PADDING + _CELL * len(text)


def _add_box(
    parent: ET.Element, role: str, kind: _Kind, lines: Sequence[str], box: Box
) -> ET.Element:
    """A box with lines of text in its middle."""
    group = ET.SubElement(parent, "g", {"class": f"{role} {kind.value}"})
    place = {"x": box.x, "y": box.y, "width": box.width, "height": box.height, "rx": 4.0}
    ET.SubElement(group, "rect", {key: _number(value) for key, value in place.items()})
    first = box.y + (box.height - _LINE * (len(lines) - 1)) / 2 + _BASELINE
    for position, line in enumerate(lines):
        at = {"x": _number(box.x + box.width / 2), "y": _number(first + _LINE * position)}
        text = ET.SubElement(group, "text", at)
        text.text = _fitted(line, int((box.width - 2 * _PADDING) / _CELL))
    return group


def _path(way: Sequence[Point]) -> str:
    """Straight down past rows, in curves between them."""
    parts = [f"M {_number(way[0].x)} {_number(way[0].y)}"]
    for i, (here, there) in enumerate(pairwise(way)):
        if i % 2 == 0:
            parts.append(f"L {_number(there.x)} {_number(there.y)}")
        else:
            middle = _number((here.y + there.y) / 2)
            bends = f"{_number(here.x)} {middle} {_number(there.x)} {middle}"
            parts.append(f"C {bends} {_number(there.x)} {_number(there.y)}")
    return " ".join(parts)


def _fitted(text: str, cells: int) -> str:
    """The text, or its end where it is too long: names differ at their ends."""
    if cell_len(text) <= cells:
        return text
    kept = text
    while cell_len(kept) > cells - 1:
        kept = kept[max(1, (cell_len(kept) - cells) // 2) :]
    return f"\u2026{kept}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
