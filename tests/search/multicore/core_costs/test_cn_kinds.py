"""Nodes are of one kind exactly where their loops, operands and bits are equal."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import Counting, LayerNode, Workload
from nestmap.model.multicore.cn_costs import CnKind
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, CnWorkload, ComputationNode
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.model.workload.affine import AffineIndex
from nestmap.model.workload.builders import conv2d, network
from nestmap.search.multicore.core_costs.cn_kinds import cn_kinds
from nestmap.search.multicore.core_costs.cost_table import elements_of
from nestmap.search.multicore.split.split_workload import split_workload
from tests.search.multicore.split.networks import networks

ROWS = SplitOptions(hints=((HintLoop(dimension="OY"),),))


def split(workload: Workload, options: SplitOptions) -> CnWorkload:
    return split_workload(workload, options, lambda _: True, lambda _: None)


def all_held(nodes: CnWorkload) -> list[tuple[int, ...]]:
    """Bits that each node holds, by plain loops over the edges."""
    fed = Counter[tuple[int, int]]()
    edges = nodes.edges
    for consumer, read, bits in zip(edges.consumer, edges.read, edges.bits, strict=True):
        fed[int(consumer), int(read)] += int(bits)
    found: list[tuple[int, ...]] = []
    for place, node in enumerate(nodes.nodes()):
        pairs = [(fed[place, i], read.bits) for i, read in enumerate(node.inputs)]
        stream = nodes.counting is Counting.REFERENCE
        inputs = ((made or own) if stream else max(made, own) for made, own in pairs)
        found.append((node.output.bits + fed[place, PARTIAL_SUMS], *inputs))
    return found


def margin(index: AffineIndex, size: int, at: dict[str, tuple[int, int]]) -> int:
    """How many of the indices that a node touches lie before and after their axis, at most."""
    first = sum(t.coefficient * at[t.dimension][0] for t in index.terms) - index.padding[0]
    last = sum(t.coefficient * (at[t.dimension][1] - 1) for t in index.terms) - index.padding[0]
    return max(0, -first) + max(0, last + 1 - size)


def content(made: LayerNode, node: ComputationNode) -> object:
    """All that makes a difference to what a node of a layer costs, but for what it holds."""
    at = {r.dimension: (r.first, r.end) for r in node.ranges}
    margins = [
        margin(index, index.axis_length(tuple(made.layer.sizes[d] for d in index.dimensions)), at)
        for operand in made.layer.operands
        for index in operand.indices
        if len(index.terms) > 1
    ]
    return made.layer.anonymous, tuple(b - a for a, b in at.values()), tuple(margins)


@st.composite
def options(draw: st.DrawFn) -> SplitOptions:
    dimensions = ("OY", "OX", "K", "C", "G", "D", "D0", "D1", "D2", "D3")
    chosen = draw(st.lists(st.sampled_from(dimensions), min_size=2, max_size=5, unique=True))
    hints = tuple(HintLoop(dimension=d, tiles=draw(st.sampled_from([None, 2, 3]))) for d in chosen)
    return SplitOptions(hints=(hints,), counting=draw(st.sampled_from(Counting)))


@given(networks(), options())
def test_kinds_are_what_their_nodes_have_in_common(
    workload: Workload, chosen: SplitOptions
) -> None:
    nodes = split(workload, chosen)
    kinds = cn_kinds(workload, nodes, CoreMapping())
    assert len(set(kinds.kinds)) == len(kinds)
    assert kinds.kind[kinds.first].tolist() == list(range(len(kinds)))
    layers = {x.name: x for x in workload.nodes if isinstance(x, LayerNode)}
    kind_of: dict[object, int] = {}
    for place, (node, held) in enumerate(zip(nodes.nodes(), all_held(nodes), strict=True)):
        number = int(kinds.kind[place])
        kind = kinds.kinds[number]
        if node.ranges:
            sizes = {loop.dimension: loop.size for loop in kind.loops}
            assert sizes == {r.dimension: r.end - r.first for r in node.ranges}
        assert (kind.held, kind.operator) == (held, node.operator)
        if node.layer in layers:
            known = (content(layers[node.layer], node), held)
            assert kind_of.setdefault(known, number) == number


def rows(counting: Counting) -> tuple[CnWorkload, tuple[CnKind, ...], list[int]]:
    """Two equal convolutions by rows, with one element of padding on each side."""
    first = conv2d("first", (1, 8, 6, 6), (8, 8, 3, 3), padding=1)
    second = conv2d("second", (1, 8, 6, 6), (8, 8, 3, 3), padding=1, source=first)
    workload = network("two", first, second)
    nodes = split(workload, SplitOptions(hints=ROWS.hints, counting=counting))
    kinds = cn_kinds(workload, nodes, CoreMapping())
    return nodes, kinds.kinds, kinds.kind.tolist()


def test_equal_layers_share_kinds_and_rows_at_the_edges_have_their_own() -> None:
    nodes, kinds, kind = rows(Counting.EXACT)
    assert len(nodes) == 12
    assert kind == [0, 1, 1, 1, 1, 0] * 2
    for place in range(len(nodes)):
        node, made = nodes.node(place), kinds[kind[place]]
        image = next(x for x in made.inputs if x.name == "I")
        tensor = next(x for x in node.inputs if x.operand == "I")
        assert elements_of(made, image) * image.precision == tensor.bits


def test_by_streams_counting_padding_counts_so_that_all_rows_touch_as_much() -> None:
    _, kinds, kind = rows(Counting.REFERENCE)
    touched = {elements_of(x, next(y for y in x.inputs if y.name == "I")) for x in kinds}
    assert touched == {8 * 8 * 3}
    assert kind[:6] == [0] * 6  # the input of the network, with padding
    assert kind[6:] == [1, 2, 2, 2, 2, 1]  # of the other one counts what others make: whole rows
