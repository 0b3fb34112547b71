"""Boxes and edges of a drawn graph keep out of each other's way."""

from __future__ import annotations

from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.pipeline.render.svg.elements import Box, Point
from nestmap.pipeline.render.svg.layered_layout import Layout, layered

WIDTH = 100.0
EPSILON = 1e-3


@st.composite
def graphs(draw: st.DrawFn) -> nx.DiGraph[str]:
    """Acyclic graphs of up to 14 nodes: edges go from smaller to larger numbers."""
    size = draw(st.integers(0, 14))
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(str(i) for i in range(size))
    pairs = list(combinations(range(size), 2))
    if pairs:
        edges = draw(st.lists(st.sampled_from(pairs), max_size=3 * size, unique=True))
        graph.add_edges_from((str(a), str(b)) for a, b in edges)
    return graph


def heights_of(graph: nx.DiGraph[str]) -> dict[str, float]:
    """Different ones."""
    return {node: 30.0 + 14.0 * (i % 3) for i, node in enumerate(graph)}


def overlap(box: Box, other: Box) -> bool:
    """Whether the insides of two boxes have a point in common."""
    return (
        box.x + EPSILON < other.x + other.width
        and other.x + EPSILON < box.x + box.width
        and box.y + EPSILON < other.y + other.height
        and other.y + EPSILON < box.y + box.height
    )


def around(here: Point, there: Point) -> Box:
    """The box that an edge does not leave between two of its points."""
    x, y = min(here.x, there.x), min(here.y, there.y)
    return Box(x, y, abs(here.x - there.x) + 3 * EPSILON, abs(here.y - there.y))


def laid_out(*edges: str) -> Layout:
    """The layout of edges ``ab``."""
    graph: nx.DiGraph[str] = nx.DiGraph([(edge[0], edge[1]) for edge in edges])
    return layered(graph, WIDTH, dict.fromkeys(graph, 40.0))


def middle(layout: Layout, node: str) -> float:
    """The x of a node's middle."""
    return layout.boxes[node].x + WIDTH / 2


@settings(deadline=None)
@given(graphs())
def test_boxes_overlap_neither_boxes_nor_edges(graph: nx.DiGraph[str]) -> None:
    layout = layered(graph, WIDTH, heights_of(graph))
    assert layout.boxes.keys() == set(graph)
    for box, other in combinations(layout.boxes.values(), 2):
        assert not overlap(box, other)
    for way in layout.edges.values():
        for here, there in pairwise(way):
            assert not any(overlap(around(here, there), box) for box in layout.boxes.values())


@settings(deadline=None)
@given(graphs())
def test_edges_go_down_from_producer_to_consumer(graph: nx.DiGraph[str]) -> None:
    layout = layered(graph, WIDTH, heights_of(graph))
    assert layout.edges.keys() == set(graph.edges)
    for (source, target), way in layout.edges.items():
        start, end = layout.boxes[source], layout.boxes[target]
        assert way[0] == pytest.approx((start.x + WIDTH / 2, start.y + start.height))
        assert way[-1] == pytest.approx((end.x + WIDTH / 2, end.y))
        for here, there in pairwise(way):
            assert here.y <= there.y + EPSILON
        for here, there in list(pairwise(way))[::2]:
            assert here.x == pytest.approx(there.x, abs=EPSILON)


@settings(deadline=None)
@given(graphs())
def test_everything_is_on_the_page(graph: nx.DiGraph[str]) -> None:
    heights = heights_of(graph)
    layout = layered(graph, WIDTH, heights)
    page = Box(-EPSILON, -EPSILON, layout.width + 2 * EPSILON, layout.height + 2 * EPSILON)
    for node, box in layout.boxes.items():
        assert (box.width, box.height) == (WIDTH, heights[node])
        assert page.x <= box.x <= box.x + box.width <= page.x + page.width
        assert page.y <= box.y <= box.y + box.height <= page.y + page.height
    for x, y in (point for way in layout.edges.values() for point in way):
        assert page.x <= x <= page.x + page.width
        assert page.y <= y <= page.y + page.height


def test_a_chain_is_straight() -> None:
    layout = laid_out("ab", "bc", "cd")
    assert len({middle(layout, node) for node in "abcd"}) == 1


def test_a_chain_stays_straight_beside_an_edge_that_passes_it() -> None:
    layout = laid_out("ab", "bc", "cd", "ad")
    assert middle(layout, "b") == pytest.approx(middle(layout, "c"))


def test_edges_cross_only_where_they_must() -> None:
    layout = laid_out("ax", "ay", "bx")
    b_is_left = middle(layout, "b") < middle(layout, "a")
    x_is_left = middle(layout, "x") < middle(layout, "y")
    assert b_is_left == x_is_left


def test_what_is_read_late_stands_next_to_its_reader() -> None:
    layout = laid_out("ab", "bc", "cd", "kd")
    assert layout.boxes["k"].y == layout.boxes["c"].y


def test_edges_of_one_producer_share_their_way() -> None:
    layout = laid_out("ab", "bc", "cd", "de", "ad", "ae")
    shorter, longer = layout.edges["a", "d"], layout.edges["a", "e"]
    assert shorter[:3] == longer[:3]


def test_an_edge_past_many_rows_is_straight_although_all_of_them_read_it() -> None:
    chain = [f"{i} {i + 1}" for i in range(40)]
    far = [f"0 {i}" for i in range(2, 41)]
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((edge.split()[0], edge.split()[1]) for edge in (*chain, *far))
    layout = layered(graph, WIDTH, dict.fromkeys(graph, 40.0))
    assert len(layout.edges["0", "40"]) == 6  # over to the side, down, and over to the reader


def test_blocks_with_edges_past_them_do_not_drift() -> None:
    names = [f"{i}{letter}" for i in range(9) for letter in "abc"]
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from(pairwise(names))
    graph.add_edges_from((f"{i}a", f"{i + 1}a") for i in range(8))
    layout = layered(graph, WIDTH, dict.fromkeys(graph, 40.0))
    first = middle(layout, "0a")
    assert all(middle(layout, f"{i}a") == pytest.approx(first) for i in range(9))


def test_parts_that_are_not_connected_fill_the_page() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(map(str, range(40)))
    layout = layered(graph, WIDTH, dict.fromkeys(graph, 40.0))
    assert len({box.y for box in layout.boxes.values()}) > 3
    assert len({box.x for box in layout.boxes.values()}) > 3
