"""The picture of a workload: valid XML, all of the graph, and no text outside its box."""

from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from nestmap.model import NoCostNode, Workload
from nestmap.pipeline.render.svg.elements import Box
from nestmap.pipeline.render.svg.workload import graph_svg
from tests.pipeline.render.svg.test_layout import overlap
from tests.pipeline.render.text.samples import EMPTY, MIXED, VECTOR_ONLY, conv, tensor

SVG = "{http://www.w3.org/2000/svg}"


def picture(workload: Workload) -> ET.Element:
    """The picture, read back."""
    return ET.fromstring(graph_svg(workload))


def groups(root: ET.Element, role: str) -> list[ET.Element]:
    """The boxes of nodes or of the legend."""
    return [group for group in root.iter(f"{SVG}g") if role in group.get("class", "").split()]


def box(group: ET.Element) -> Box:
    """Where a box is."""
    rect = group.find(f"{SVG}rect")
    assert rect is not None
    x, y, width, height = (float(rect.get(key, "")) for key in ("x", "y", "width", "height"))
    return Box(x, y, width, height)


def lines(group: ET.Element) -> list[str]:
    """What stands in a box."""
    return [text.text or "" for text in group.iter(f"{SVG}text")]


def edges(root: ET.Element) -> list[ET.Element]:
    """The arrows."""
    return [path for path in root.iter(f"{SVG}path") if path.get("class") == "edge"]


@pytest.mark.parametrize("workload", [MIXED, VECTOR_ONLY, EMPTY, Workload.of(conv("alone"))])
def test_a_box_for_each_node_and_an_arrow_for_each_edge(workload: Workload) -> None:
    root = picture(workload)
    assert len(groups(root, "node")) == len(workload.nodes)
    titles = sorted(edge.findtext(f"{SVG}title", "") for edge in edges(root))
    assert titles == sorted(f"{a} to {b}" for a, b in workload.graph().edges)
    assert all(edge.get("marker-end") == "url(#arrow)" for edge in edges(root))
    for one, other in combinations(map(box, groups(root, "node")), 2):
        assert not overlap(one, other)


def test_boxes_say_what_the_nodes_are() -> None:
    root = picture(MIXED)
    found = {lines(group)[1]: (group.get("class"), lines(group)) for group in groups(root, "node")}
    assert found == {
        "first": ("node layer", ["Conv", "first", "16 x 8 x 8", "32.77 k MACs"]),
        "act": ("node vector", ["Relu", "act", "16 x 8 x 8"]),
        "second": ("node layer", ["Conv", "second", "1 x 16 x 8 x 8", "32.77 k MACs"]),
        "third": ("node layer", ["Conv", "third", "48 x 8 x 8", "98.30 k MACs"]),
        "join": ("node no-cost", ["Concat", "join"]),
        "odd": ("node unknown", ["acme.Magic", "odd"]),
    }


def test_the_legend_has_the_kinds_that_there_are() -> None:
    found = [line for group in groups(picture(MIXED), "legend") for line in lines(group)]
    assert found == [
        "array layers: 3",
        "vector operators: 1",
        "data movement (no cost): 1",
        "unknown operators: 1",
    ]
    assert len(groups(picture(VECTOR_ONLY), "legend")) == 2
    assert not groups(picture(EMPTY), "legend")


def test_arrows_begin_and_end_at_boxes() -> None:
    root = picture(MIXED)
    boxes = {lines(group)[1]: box(group) for group in groups(root, "node")}
    for edge in edges(root):
        source, target = edge.findtext(f"{SVG}title", "").split(" to ")
        numbers = [float(word) for word in edge.get("d", "").split() if word not in "MLC"]
        start, end = boxes[source], boxes[target]
        assert numbers[:2] == pytest.approx(
            [start.x + start.width / 2, start.y + start.height], abs=0.11
        )
        assert numbers[-2:] == pytest.approx([end.x + end.width / 2, end.y], abs=0.11)


def test_constants_are_not_drawn() -> None:
    made = (tensor("w", 16, 32, constant=True),)
    constant = NoCostNode(name="made", operator="ConstantOfShape", outputs=made)
    layer = conv("first", source="made")
    root = picture(Workload.of(constant, layer))
    assert [lines(group)[1] for group in groups(root, "node")] == ["first"]
    assert not edges(root)


def test_several_outputs_and_unknown_sizes() -> None:
    unknown = tensor("u").model_copy(update={"sizes": None})
    parts = NoCostNode(name="a", operator="Split", outputs=(tensor("x", 2, 3), tensor("y", 2)))
    scalar = NoCostNode(name="b", operator="Cast", outputs=(tensor("s"),))
    open_ = NoCostNode(name="c", operator="NonZero", outputs=(unknown,))
    root = picture(Workload.of(parts, scalar, open_))
    found = {lines(group)[1]: lines(group)[2] for group in groups(root, "node")}
    assert found == {"a": "2 x 3, +1", "b": "scalar", "c": "sizes unknown"}


@settings(deadline=None)
@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_any_name_is_drawn_inside_its_box(name: str, operator: str) -> None:
    node = NoCostNode(name=name, operator=operator)
    root = picture(Workload(name=name, nodes=(node,)))
    (group,) = groups(root, "node")
    assert all(cell_len(line) <= 32 for line in lines(group))
    hint = group.findtext(f"{SVG}title", "")
    if name.isprintable() and operator.isprintable():
        assert hint == f"{name} ({operator})"


def test_long_names_keep_their_ends() -> None:
    name = "encoder/layer.0/attention/self/query/MatMul"
    (group,) = groups(picture(Workload.of(conv(name))), "node")
    shown = lines(group)[1]
    assert len(shown) == 32
    assert shown[0] == "\u2026"
    assert name.endswith(shown[1:])
    assert name in group.findtext(f"{SVG}title", "")


def test_a_long_chain_is_tall_and_narrow() -> None:
    chain = [conv("0"), *(conv(str(i), source=str(i - 1)) for i in range(1, 300))]
    root = picture(Workload.of(*chain))
    assert float(root.get("height", "")) > 300 * 60
    assert float(root.get("width", "")) < 400
    tops = sorted(box(group).y for group in groups(root, "node"))
    assert all(there - here > 60 for here, there in pairwise(tops))
