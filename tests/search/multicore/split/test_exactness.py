"""Edges between computation nodes are exactly those that a marking of each element gives."""

from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import LayerNode, Workload
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.search.multicore.split.split_workload import split_workload
from tests.search.multicore.split.brute import edges
from tests.search.multicore.split.networks import networks

DIMENSIONS = ("OY", "OX", "K", "C", "B", "G", "FX", "FY", "D", "H", "D0", "D1", "D2", "D3")


@st.composite
def options(draw: st.DrawFn) -> SplitOptions:
    """Hints over a few dimensions, some of which the layers have."""
    chosen = draw(st.lists(st.sampled_from(DIMENSIONS), min_size=3, max_size=8, unique=True))
    tiles = st.sampled_from([None, None, 2, 3])
    return SplitOptions(hints=(tuple(HintLoop(dimension=d, tiles=draw(tiles)) for d in chosen),))


Place = tuple[int, int]
"""The number of a layer, and of a node in it."""


def split(workload: Workload, how: SplitOptions) -> CnWorkload:
    return split_workload(workload, how, lambda node: True, lambda nest: None)


def input_position(workload: Workload, made: CnWorkload, row: int) -> int:
    """Which tensor of its node an edge's operand is."""
    edge = made.edge(row)
    layer = made.layer_of(int(made.edges.consumer[row]))[0]
    place = [read.operand for read in layer.nest.inputs].index(edge.operand or "")
    node = next(node for node in workload.nodes if node.name == layer.nest.name)
    return node.positions[place] if isinstance(node, LayerNode) else place


def data_edges(workload: Workload, made: CnWorkload) -> set[tuple[Place, Place, int]]:
    """Who reads which of its inputs from whom."""
    rows = [(row, made.edge(row)) for row in range(len(made.edges)) if made.edges.read[row] >= 0]
    return {
        (
            (edge.producer.layer, edge.producer.node),
            (edge.consumer.layer, edge.consumer.node),
            input_position(workload, made, row),
        )
        for row, edge in rows
    }


@given(networks(), options())
def test_edges_are_exact(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    assert data_edges(workload, made) == edges(workload, made)
