"""Draws the graph of a workload as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from rich.cells import cell_len

from nestmap.model import Layer, LayerNode, VectorNode, Workload
from nestmap.model.workload.graph import Node
from nestmap.pipeline.format.numbers import count, engineering
from nestmap.pipeline.render.svg.elements import (
    CELL,
    LINE,
    MARGIN,
    PADDING,
    Box,
    add_box,
    moved,
    page,
    path,
)
from nestmap.pipeline.render.svg.layered_layout import Layout, layered
from nestmap.pipeline.render.text.plain_table import printable

_HEAD: Final = 76.0
"""The height of title and legend."""
_TITLE: Final = 26.0
"""The height of the title alone."""
_FEWEST_CELLS: Final = 14
_MOST_CELLS: Final = 32
_STYLE: Final = """\
.layer rect { fill: #cfe3fb; stroke: #2f6db5; }
.vector rect { fill: #d8f0d3; stroke: #4a8f3c; }
.no-cost rect { fill: #eeeeee; stroke: #8a8a8a; }
.unknown rect { fill: #ffe0c2; stroke: #c4650a; stroke-dasharray: 5 3; }
"""


class _Kind(Enum):
    """The kind of a node, as its class in the style sheet."""

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
    """The text in the box of a node, and its tooltip."""

    kind: _Kind
    lines: tuple[str, ...]
    hint: str


def graph_svg(workload: Workload) -> str:
    """The picture: a box for each node, an arrow from each producer to each of its consumers.

    A box has the operator, the name, the sizes of the output, and the multiply-accumulates of a
    layer. A tooltip has the rest. Nodes that only produce constants are left out.
    """
    texts = {node.name: _text(node) for node in workload.nodes if not _is_constant(node)}
    cells = [cell_len(line) for text in texts.values() for line in text.lines]
    width = 2 * PADDING + CELL * min(_MOST_CELLS, max(_FEWEST_CELLS, *cells, 0))
    graph = workload.graph()
    graph.remove_nodes_from([name for name in graph if name not in texts])
    heights = {name: PADDING + LINE * len(text.lines) for name, text in texts.items()}
    return _drawn(workload, texts, layered(graph, width, heights))


def _text(node: Node) -> _Text:
    operator, name, sizes = printable(node.operator), printable(node.name), _output_sizes(node)
    more = _more(node)
    lines = [operator, name, sizes, more if isinstance(node, LayerNode) else ""]
    hint = [f"{name} ({operator})", sizes, more]
    return _Text(_kind(node), tuple(filter(None, lines)), "\n".join(filter(None, hint)))


def _is_constant(node: Node) -> bool:
    """Whether all outputs of the node are constants."""
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
    """The computation of a node."""
    if isinstance(node, LayerNode):
        return f"{engineering(node.layer.macs)} MACs"
    if isinstance(node, VectorNode):
        return f"{engineering(node.total_operations)} operations"
    return ""


def _output_sizes(node: Node) -> str:
    """The sizes of the first output, and the number of others: ``1 x 64 x 56 x 56, +1``."""
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
    width, height = 2 * MARGIN + right, 2 * MARGIN + _HEAD + layout.height
    root = page(printable(workload.name), width, height, _STYLE)
    head = moved(root, MARGIN, MARGIN)
    ET.SubElement(head, "text", {"class": "title", "y": "14"}).text = printable(workload.name)
    for kind, text, box in legend:
        add_box(head, f"legend {kind.value}", (text,), box)
    body = moved(root, MARGIN, MARGIN + _HEAD)
    for (source, target), way in layout.edges.items():
        edge = ET.SubElement(body, "path", {"class": "edge", "d": path(way)})
        edge.set("marker-end", "url(#arrow)")
        ET.SubElement(edge, "title").text = f"{printable(source)} to {printable(target)}"
    for name, box in layout.boxes.items():
        group = add_box(body, f"node {texts[name].kind.value}", texts[name].lines, box)
        ET.SubElement(group, "title").text = texts[name].hint
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _legend(counts: Mapping[_Kind, int]) -> Iterator[tuple[_Kind, str, Box]]:
    """The kinds that occur, in boxes side by side."""
    x = 0.0
    for kind, label in _LEGEND.items():
        if counts[kind]:
            text = f"{label}: {count(counts[kind])}"
            yield kind, text, Box(x, _TITLE, 2 * PADDING + CELL * len(text), 2 * PADDING + 8)
            x += 3 * PADDING + CELL * len(text)
