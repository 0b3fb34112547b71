"""Layers that are split: the parts do what the layer did, and fit; edges around them are exact."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    InputError,
    InputOperand,
    Layer,
    LayerNode,
    NoCostNode,
    VectorNode,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.search.multicore.split.layer_parts import LayerSplit, Rewritten, split_layers
from nestmap.search.multicore.split.split_workload import split_workload
from nestmap.search.multicore.split.weight_split_plan import SplitAlong
from tests.search.multicore.split.brute import Index, Loops, edges, origins, read, written
from tests.search.multicore.split.networks import networks
from tests.search.multicore.split.test_exactness import data_edges, options, split

ALONG = st.sampled_from(SplitAlong)
SHARES = st.integers(1, 6)


def constant_bits(layer: Layer) -> int:
    constants = [x.name for x in layer.inputs if x.constant]
    return max((8 * layer.elements(name) for name in constants), default=0)


def rewritten(workload: Workload, share: int, along: SplitAlong) -> Rewritten:
    """The network, its layers split whose constants are above a part of their size."""

    def room(node: LayerNode, _: InputOperand) -> int:
        return room_of(node.layer, share)

    return split_layers(workload, room, along)


def room_of(layer: Layer, share: int) -> int:
    """A part of what the constants need, but what cannot be cut."""
    kernel = 8 * prod(layer.sizes.get(d, 1) for d in ("FX", "FY", "B", "H"))
    return max(constant_bits(layer) // share, kernel)


@given(networks(), SHARES, ALONG)
def test_parts_fit_and_do_all_that_the_layer_did(
    workload: Workload, share: int, along: SplitAlong
) -> None:
    made = rewritten(workload, share, along)
    assert made.workload.macs == workload.macs
    for each in made.splits:
        whole, parts = each.layer.layer, [part.layer for part in each.parts]
        assert len(parts) > 1
        assert sum(map(constant_bits, parts)) == constant_bits(whole)
        assert max(map(constant_bits, parts)) <= room_of(whole, share)
        assert each.nodes[-1].outputs == each.layer.outputs


@given(networks(), SHARES, ALONG)
def test_all_else_stays_as_it_is(workload: Workload, share: int, along: SplitAlong) -> None:
    made = rewritten(workload, share, along)
    new = {node.name: each for each in made.splits for node in each.nodes}
    joined = {each.nodes[-1].name: each.layer.name for each in made.splits}
    kept = [node for node in made.workload.nodes if node.name not in new]
    split_ones = {each.layer.name for each in made.splits}
    before = [node for node in workload.nodes if node.name not in split_ones]
    assert [(x.name, x.inputs, x.outputs) for x in kept] == [
        (x.name, x.inputs, x.outputs) for x in before
    ]
    assert [[joined.get(s, s) for s in x.sources] for x in kept] == [
        list(x.sources) for x in before
    ]


@given(networks(), SHARES, ALONG, options())
def test_edges_are_exact(
    workload: Workload, share: int, along: SplitAlong, how: SplitOptions
) -> None:
    changed = rewritten(workload, share, along).workload
    made = split(changed, how)
    assert data_edges(changed, made) == edges(changed, made)


def loops_of(layer: Layer) -> Iterator[Loops]:
    names = [loop.dimension for loop in layer.loops]
    for values in product(*(range(loop.size) for loop in layer.loops)):
        yield dict(zip(names, values, strict=True))


Products = Counter[tuple[Index, Index | None]]
"""How often an element of the output gets a product with an element of the input."""


def products_of(node: LayerNode) -> Products:
    found: Products = Counter()
    place = node.positions[[x.constant for x in node.layer.inputs].index(False)]
    for at in loops_of(node.layer):
        (made,) = written(node, at)
        elements = [*read(node, place, at)]
        found[made, elements[0] if elements else None] += 1
    return found


def products_after(each: LayerSplit) -> Products:
    """The same of the nodes that a layer became, from its output back to its input."""
    parts = {part.name: products_of(part) for part in each.parts}
    nodes = Workload.of(*(_alone(node, each) for node in each.nodes))
    sizes = each.layer.outputs[0].sizes or ()
    found: Products = Counter()
    for element in product(*map(range, sizes)):
        for part, made in summed(nodes, each.layer.outputs[0].name, element):
            for (output, source), count in parts[part].items():
                if output == made:
                    found[element, _source(nodes, part, source)] += count
    return found


def _alone(
    node: LayerNode | VectorNode | NoCostNode, each: LayerSplit
) -> LayerNode | VectorNode | NoCostNode:
    """The node without sources outside of those that the layer became."""
    names = {x.name for x in each.nodes}
    if not isinstance(node, LayerNode):
        return copy_with(node, {"sources": tuple(x for x in node.sources if x in names)})
    inputs = tuple(
        copy_with(x, {"source": x.source if x.source in names else None}) for x in node.layer.inputs
    )
    return copy_with(node, {"layer": copy_with(node.layer, {"inputs": inputs})})


def summed(nodes: Workload, tensor: str, element: Index) -> Iterator[tuple[str, Index]]:
    """The parts whose outputs add up to an element, and which elements of theirs."""
    for name, made in origins(nodes, tensor, element):
        node = next(x for x in nodes.nodes if x.name == name)
        if isinstance(node, LayerNode):
            yield name, made
        else:
            for read_tensor in node.inputs:
                yield from summed(nodes, read_tensor.name, made)


def _source(nodes: Workload, part: str, element: Index | None) -> Index | None:
    """The element of the layer's input, whether or not a slice stands in between."""
    node = next(x for x in nodes.nodes if x.name == part)
    makers = {x.outputs[0].name: x for x in nodes.nodes if isinstance(x, NoCostNode)}
    slices = [makers[x.name] for x in node.inputs if x.name in makers]
    if element is None or not slices:
        return element
    route = next(iter(slices[0].routes or ()))
    found = list(element)
    for step in route.steps:
        assert step.kind == "shifted"
        found[step.axis] += step.start
    return tuple(found)


@given(networks(), SHARES, ALONG)
def test_the_same_products_reach_each_element(
    workload: Workload, share: int, along: SplitAlong
) -> None:
    for each in rewritten(workload, share, along).splits[:2]:
        assert products_after(each) == products_of(each.layer)


def convolution(name: str, source: str | None, **sizes: int) -> Layer:
    """A convolution without tensors, as YAML files have them."""
    whole = {"B": 1, "G": 1, "K": 8, "C": 8, "OY": 4, "OX": 4, "FY": 3, "FX": 3} | sizes
    return layer_from_equation(
        "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
        whole,
        name=name,
        relations=["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
        sources={"I": source} if source else {},
        constants=["W"],
        axes={"IX": (4, (1, 1)), "IY": (4, (1, 1))},
    )


def fit(workload: Workload, elements: int, along: SplitAlong = SplitAlong.OUTPUTS) -> Rewritten:
    return split_layers(workload, lambda node, operand: 8 * elements, along)


def sizes_of(split: LayerSplit, dimension: str) -> list[int]:
    return [part.layer.sizes[dimension] for part in split.parts]


def test_the_fewest_parts_that_fit_and_the_last_one_smaller() -> None:
    (made,) = fit(Workload.of(convolution("a", None, K=7)), 3 * 72).splits
    assert sizes_of(made, "K") == [3, 3, 1]
    assert [node.operator for node in made.nodes[3:]] == ["Concat"]


def test_groups_come_first_then_output_channels_then_input_channels() -> None:
    net = Workload.of(convolution("a", None, G=2, K=2, C=4))
    (groups,) = fit(net, 72).splits
    assert (sizes_of(groups, "G"), sizes_of(groups, "K")) == ([1, 1], [2, 2])
    (outputs,) = fit(net, 36).splits
    assert (sizes_of(outputs, "K"), sizes_of(outputs, "C")) == ([1] * 4, [4] * 4)
    (inputs,) = fit(net, 27).splits
    assert sizes_of(inputs, "C") == [2] * 8
    assert sum(node.operator == "Add" for node in inputs.nodes) == 4


def test_input_channels_first_where_asked_for() -> None:
    net = Workload.of(convolution("a", None), convolution("b", "a"), convolution("c", "b"))
    made = fit(net, 4 * 72, SplitAlong.INPUTS)
    assert [sizes_of(each, "C") for each in made.splits] == [[4, 4]] * 3
    first, second, _ = made.splits
    assert [node.operator for node in second.nodes].count("Slice") == 2
    assert not any(node.operator == "Slice" for node in first.nodes)  # nobody makes its input
    assert {part.layer.output.precision for part in second.parts} == {
        second.layer.layer.output.partial_precision
    }
    assert second.nodes[-1].outputs[0].precision == second.layer.layer.output.precision


def test_parts_of_the_input_depend_on_parts_of_the_output_before_them() -> None:
    """What Stream gets wrong: its parts all begin at channel 0."""
    net = Workload.of(convolution("a", None), convolution("b", "a"))
    made = split_layers(
        net, lambda node, operand: 8 * 4 * 72 if node.name == "b" else None, SplitAlong.INPUTS
    ).workload
    halves = SplitOptions(hints=((HintLoop(dimension="K", tiles=2),),))
    nodes = split_workload(made, halves, lambda node: True, lambda nest: None)
    names = [layer.nest.name for layer in nodes.layers]
    assert names == ["a", "b_split_0", "b_split_1", "b_add_0"]
    found = {
        (str(edge.producer), str(edge.consumer))
        for edge in map(nodes.edge, range(len(nodes.edges)))
        if edge.operand is not None and edge.producer.layer == 0
    }
    first, second = (nodes.layers[i].nest.number for i in (1, 2))
    assert found == {
        ("0.0", f"{first}.0"),
        ("0.0", f"{first}.1"),
        ("0.1", f"{second}.0"),
        ("0.1", f"{second}.1"),
    }


def test_what_fits_stays() -> None:
    net = Workload.of(convolution("a", None), convolution("b", "a", K=16))
    made = fit(net, 8 * 72)
    assert [each.layer.name for each in made.splits] == ["b"]
    assert fit(net, 16 * 72) == Rewritten(net, ())
    assert split_layers(net, lambda node, operand: None) == Rewritten(net, ())


def test_names_that_are_taken_are_not_taken_again() -> None:
    net = Workload.of(convolution("a", None), convolution("a_split_0", "a"))
    made = fit(net, 7 * 72).workload
    assert len({node.name for node in made.nodes}) == len(made.nodes)


def test_single_channels_that_do_not_fit() -> None:
    with pytest.raises(InputError, match=r"layer a: found constants W of 4608 bit, .* take 72 bit"):
        fit(Workload.of(convolution("a", None)), 8)


def test_a_constant_that_no_channel_indexes_together() -> None:
    layer = layer_from_equation(
        "O[b][g][k]+=W[k][c]*I[b][g][c]",
        {"B": 1, "G": 2, "K": 4, "C": 4},
        name="shared",
        constants=["W"],
    )
    with pytest.raises(InputError, match=r"layer shared: .* is not contiguous"):
        fit(Workload.of(layer), 8)


@given(networks(), SHARES, ALONG, options())
def test_other_names_change_nothing_but_names(
    workload: Workload, share: int, along: SplitAlong, how: SplitOptions
) -> None:
    one = split(rewritten(workload, share, along).workload, how)
    other = split(rewritten(_renamed(workload), share, along).workload, how)
    assert [one.edge(i) for i in range(len(one.edges))] == [
        other.edge(i) for i in range(len(other.edges))
    ]
    assert [node.ranges for node in one.nodes()] == [node.ranges for node in other.nodes()]


def _renamed(workload: Workload) -> Workload:
    """All nodes and tensors with other names."""
    nodes = tuple(_with_other_names(node) for node in workload.nodes)
    return Workload(name="other", nodes=nodes)


def _with_other_names(
    node: LayerNode | VectorNode | NoCostNode,
) -> LayerNode | VectorNode | NoCostNode:
    tensors: dict[str, object] = {
        side: tuple(copy_with(x, {"name": f"other {x.name}"}) for x in found)
        for side, found in (("inputs", node.inputs), ("outputs", node.outputs))
    }
    if not isinstance(node, LayerNode):
        sources = tuple(f"other {x}" for x in node.sources)
        return copy_with(node, tensors | {"name": f"other {node.name}", "sources": sources})
    inputs = tuple(
        copy_with(x, {"source": f"other {x.source}" if x.source else None})
        for x in node.layer.inputs
    )
    names: dict[str, object] = {"name": f"other {node.name}", "inputs": inputs}
    return copy_with(node, tensors | {"layer": copy_with(node.layer, names)})
