"""What holds of every split: nothing is lost, nothing is done twice, names do not matter."""

from collections import Counter
from itertools import pairwise, product
from math import prod

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import Counting, LayerNode, NoCostNode, Tensor, VectorNode, Workload
from nestmap.model.base import copy_with
from nestmap.model.multicore.cn_layer import CnLayer, LayerNest, TensorUse, dimensions_of
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, WITHIN_GROUP, CnWorkload
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.model.workload.graph import Node
from nestmap.search.multicore.split.node_nests import layer_nest, vector_nest
from tests.search.multicore.split.brute import iterations, macs, written
from tests.search.multicore.split.networks import networks
from tests.search.multicore.split.test_exactness import options, split

EXACT = Counting.EXACT


def nests(workload: Workload) -> list[LayerNest]:
    """The nodes that are split."""
    return [
        layer_nest(node, place) if isinstance(node, LayerNode) else vector_nest(node, place)
        for place, node in enumerate(workload.nodes)
        if not isinstance(node, NoCostNode)
    ]


def whole_bits(use: TensorUse) -> int:
    return prod(axis.size for axis in use.axes) * use.precision


def parts(made: CnWorkload) -> list[tuple[CnLayer, int, int]]:
    """The layers, with the places of the first node and of the one behind the last."""
    bounds = made.first_nodes.tolist()
    return list(zip(made.layers, bounds[:-1], bounds[1:], strict=True))


@given(networks(), options())
def test_nodes_tile_their_layer(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    for layer, first, end in parts(made):
        nodes = [made.node(place) for place in range(first, end)]
        assert sum(map(macs, nodes)) == prod(loop.size for loop in layer.nest.loops)
        boxes = [tuple((part.first, part.end) for part in node.ranges) for node in nodes]
        sides = [sorted(set(ranges)) for ranges in zip(*boxes, strict=True)]
        for side, loop in zip(sides, layer.nest.loops, strict=True):
            assert [first for first, _ in side] == [0, *(end for _, end in side[:-1])]
            assert side[-1][1] == loop.size
        assert sorted(boxes) == sorted(product(*sides))


@given(networks(), options())
def test_each_element_is_finished_once(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    nodes = {node.name: node for node in workload.nodes}
    for layer, first, end in parts(made):
        node = nodes[layer.nest.name]
        assert isinstance(node, LayerNode | VectorNode)
        found = Counter(
            element
            for place in range(first, end)
            if (part := made.node(place)).final
            for element in {e for at in iterations(part) for e in written(node, at)}
        )
        sizes = node.outputs[0].sizes or ()
        assert found == Counter(product(*map(range, sizes)))


@given(networks(), options())
def test_bits_are_conserved(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    output = [layer.bits_of(layer.nest.output, EXACT) for layer in made.layers]
    for layer, bits in zip(made.layers, output, strict=True):
        assert bits[layer.is_final].sum() == whole_bits(layer.nest.output)
    for row in range(len(made.edges)):
        edge = made.edge(row)
        place = int(made.edges.producer[row])
        node = made.node(place)
        assert node.final or made.edges.read[row] in (WITHIN_GROUP, PARTIAL_SUMS)
        assert edge.bits == (node.output.bits if edge.operand is not None else 0)


@given(networks(), options())
def test_what_a_node_reads_covers_its_part_of_each_tensor(
    workload: Workload, how: SplitOptions
) -> None:
    """All nodes together read from the first to the last element that the layer reads."""
    made = split(workload, how)
    for layer in made.layers:
        whole = CnLayer(nest=layer.nest, loops=layer.nest.loops)
        for axis in (axis for use in layer.nest.inputs for axis in use.axes):
            first, end = layer.range_of(axis, EXACT)
            touched = [(a, b) for a, b in zip(first.tolist(), end.tolist(), strict=True) if a < b]
            (low,), (high,) = (x.tolist() for x in whole.range_of(axis, EXACT))
            if low < high and touched:
                assert min(a for a, _ in touched) >= low
                assert max(b for _, b in touched) <= high


@given(networks(), options())
def test_groups_share_constants(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    for layer, first, end in parts(made):
        nodes = [made.node(place) for place in range(first, end)]
        groups = [node.group for node in nodes]
        assert list(dict.fromkeys(groups)) == list(range(max(groups) + 1))
        constants = dimensions_of(x for use in layer.nest.constants[-1:] for x in use.axes)
        keys = [
            tuple((r.first, r.end) for r in node.ranges if r.dimension in constants)
            for node in nodes
        ]
        assert len(set(zip(groups, keys, strict=True))) == len(set(groups)) == len(set(keys))
        held = [tuple(x.ranges for x in node.inputs if x.constant) for node in nodes]
        assert len(set(zip(groups, held, strict=True))) == len(set(groups))


@given(networks(), options())
def test_the_nodes_of_a_group_are_a_chain(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    chains = {
        (int(made.edges.producer[row]), int(made.edges.consumer[row]))
        for row in range(len(made.edges))
        if made.edges.read[row] == WITHIN_GROUP
    }
    expected: set[tuple[int, int]] = set()
    for layer, first, _ in parts(made):
        for group in range(int(layer.groups.max()) + 1):
            members = [first + n for n, g in enumerate(layer.groups.tolist()) if g == group]
            expected |= set(pairwise(members))
    assert chains == expected


@given(networks(), options())
def test_partial_sums_go_from_part_to_part(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    edges = made.edges
    sums = edges.read == PARTIAL_SUMS
    found = set(zip(edges.producer[sums].tolist(), edges.consumer[sums].tolist(), strict=True))
    expected: set[tuple[int, int]] = set()
    for _, first, end in parts(made):
        places: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for place in range(first, end):
            places.setdefault(made.node(place).output.ranges, []).append(place)
        for adding in places.values():
            if not all(made.node(place).final for place in adding):
                expected |= set(pairwise(adding))
    assert found == expected


@given(networks(), options())
def test_ids_are_consecutive_and_edges_lead_onwards(workload: Workload, how: SplitOptions) -> None:
    made = split(workload, how)
    for layer, first, end in parts(made):
        ids = [made.id_of(place) for place in range(first, end)]
        assert [x.node for x in ids] == list(range(end - first))
        assert {x.layer for x in ids} == {layer.nest.number}
    assert (made.edges.producer < made.edges.consumer).all()


@given(networks(), options())
def test_nodes_come_in_the_order_of_the_outer_loops(workload: Workload, how: SplitOptions) -> None:
    for layer in split(workload, how).layers:
        tiles = layer.tiling.tiles
        assert [x.size for x in layer.outer] == [tiles[x.dimension] for x in layer.outer]
        for number in range(layer.tiling.count):
            inner = 1
            for loop in layer.outer:
                place = number // inner % loop.size
                assert layer.tiling.tile_indices[loop.dimension][number] == place
                inner *= loop.size


@given(networks())
def test_layer_by_layer_there_is_a_node_for_each_layer(workload: Workload) -> None:
    made = split(workload, SplitOptions())
    assert len(made) == len(made.layers) == len(nests(workload))
    assert (made.edges.read >= 0).all()


def renamed(node: Node, suffix: str) -> Node:
    """The node under another name, which reads and writes tensors of other names."""

    def tensors(some: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(copy_with(x, {"name": x.name + suffix}) for x in some)

    changed: dict[str, object] = {"inputs": tensors(node.inputs), "outputs": tensors(node.outputs)}
    if not isinstance(node, LayerNode):
        sources = tuple(source + suffix for source in node.sources)
        return copy_with(node, changed | {"name": node.name + suffix, "sources": sources})
    operands = tuple(
        copy_with(x, {"source": x.source + suffix if x.source else None}) for x in node.layer.inputs
    )
    layer = copy_with(node.layer, {"name": node.layer.name + suffix, "inputs": operands})
    return copy_with(node, changed | {"layer": layer})


@st.composite
def reordered(draw: st.DrawFn, workload: Workload) -> Workload:
    """The network with other names, its nodes in another order that suits their inputs."""
    rank = draw(st.permutations(range(len(workload.nodes))))
    nodes = {node.name: node for node in workload.nodes}
    places = {name: rank[place] for place, name in enumerate(nodes)}
    order = nx.lexicographical_topological_sort(workload.graph(), key=places.__getitem__)
    return Workload.of(*(renamed(nodes[name], "'") for name in order), name="another")


def by_name(made: CnWorkload, suffix: str) -> tuple[object, object]:
    """Nodes and edges, by the names of layers instead of their numbers."""
    names = [
        (layer.nest.name.removesuffix(suffix), number)
        for layer in made.layers
        for number in range(layer.tiling.count)
    ]
    nodes = {
        names[place]: (node.ranges, node.group, node.final, node.output, node.inputs)
        for place, node in enumerate(made.nodes())
    }
    edges = Counter(
        (names[int(made.edges.producer[row])], names[int(made.edges.consumer[row])], operand, bits)
        for row in range(len(made.edges))
        for operand, bits in [(made.edge(row).operand, made.edge(row).bits)]
    )
    return nodes, edges


@given(st.data(), networks(), options(), st.sampled_from(Counting))
def test_names_and_order_change_nothing(
    data: st.DataObject, workload: Workload, how: SplitOptions, counting: Counting
) -> None:
    how = copy_with(how, {"counting": counting})
    other = data.draw(reordered(workload))
    assert by_name(split(other, how), "'") == by_name(split(workload, how), "'")
