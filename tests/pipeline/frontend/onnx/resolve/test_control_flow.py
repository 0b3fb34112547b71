"""If, Loop and Scan: what runs is put in place where that is known beforehand."""

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nestmap.model import InputError, NoCostNode, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.load.skeleton import skeleton
from nestmap.pipeline.frontend.onnx.operators.record import Operator
from nestmap.pipeline.frontend.onnx.operators.registry import OPERATORS
from nestmap.pipeline.frontend.onnx.resolve import control_flow, inline_subgraphs, resolve
from nestmap.pipeline.frontend.onnx.resolve.control_flow import MOST_ITERATIONS
from tests.pipeline.frontend.onnx.build import FLOAT, Shapes, model, node, weights


def _stored(name: str, value: int | bool) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value), name)


def _values(*names: str, kind: int = FLOAT) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, kind, None) for name in names]


def _body(
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
    inputs: Sequence[onnx.ValueInfoProto] = (),
    stored: Sequence[onnx.TensorProto] = (),
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "body", inputs, outputs, stored)


def _choice(condition: str, yes: onnx.GraphProto, no: onnx.GraphProto) -> onnx.NodeProto:
    return helper.make_node(
        "If", [condition], ["y"], name="choice", then_branch=yes, else_branch=no
    )


def _branches() -> tuple[onnx.GraphProto, onnx.GraphProto]:
    """A product with weights of the graph around, and one with weights of the branch."""
    yes = [node("MatMul", "x w", "t", name="product"), node("Relu", "t", "out", name="relu")]
    no = [node("MatMul", "x w", "t", name="product")]
    return _body(yes, _values("out")), _body(no, _values("t"), stored=[weights("w", 8, 64)])


def _parsed(
    nodes: Sequence[onnx.NodeProto],
    stored: Sequence[onnx.TensorProto],
    inputs: Shapes | None = None,
) -> Workload:
    return parse_onnx(model(nodes, inputs or {"x": (2, 8)}, [*stored, weights("w", 8, 8)]))


@pytest.mark.parametrize(("condition", "macs"), [(True, 2 * 8 * 8), (False, 2 * 8 * 64)])
def test_if_with_a_stored_condition(condition: bool, macs: int) -> None:
    nodes = [_choice("c", *_branches()), node("Neg", "y", "z", name="after")]
    network = _parsed(nodes, [_stored("c", condition)])
    (layer,) = network.layers
    assert layer.macs == macs
    assert layer.name == f"choice/{'then' if condition else 'else'}_branch/product"
    assert [x.constant for x in layer.inputs] == [False, True]
    assert network.unknown_operators == {}
    after = network.nodes[-1]
    assert after.inputs[0].sizes == ((2, 8) if condition else (2, 64))
    chain = [network.nodes[-1].name]
    while chain[-1] != layer.name:
        chain += next(n.sources for n in network.nodes if n.name == chain[-1])


def test_if_with_a_computed_condition() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Size", "s", "rank"),
        node("Equal", "rank two", "c"),
        _choice("c", *_branches()),
    ]
    assert _parsed(nodes, [_stored("two", 2)]).macs == 2 * 8 * 8


def test_if_within_if() -> None:
    inner = _choice("d", *_branches())
    outer = _choice("c", _body([inner], _values("y")), _body([], _values("x")))
    network = _parsed([outer], [_stored("c", True), _stored("d", False)])
    assert [layer.name for layer in network.layers] == [
        "choice/then_branch/choice/else_branch/product"
    ]


def test_as_many_ifs_within_each_other_as_a_file_can_hold() -> None:
    branch = _body([node("MatMul", "x w", "y")], _values("y"))
    for _ in range(25):
        branch = _body([_choice("c", branch, _body([], _values("x")))], _values("y"))
    network = _parsed(list(branch.node), [_stored("c", True)])
    assert network.macs == 2 * 8 * 8


def test_a_branch_that_only_hands_something_over() -> None:
    choice = _choice("c", _body([], _values("x")), _branches()[0])
    network = _parsed([choice, node("MatMul", "y w", "z", name="n")], [_stored("c", True)])
    assert network.macs == 2 * 8 * 8


def test_if_with_an_open_condition() -> None:
    with pytest.raises(InputError) as caught:
        _parsed([node("Cast", "x", "c", {"to": 9}, name="cast"), _choice("c", *_branches())], [])
    assert caught.value.where == "model 'net': node 'choice' (If)"
    assert caught.value.found == (
        "a condition 'c' that is not constant (computed by node 'cast' (Cast)), "
        "with MatMul in its body"
    )
    assert "known before the network runs" in caught.value.expected


def test_if_with_an_open_condition_and_nothing_for_the_array() -> None:
    plain = _body([node("Neg", "x", "n")], _values("n"))
    nodes = [node("Cast", "x", "c", {"to": 9}), _choice("c", plain, plain)]
    network = _parsed([*nodes, node("MatMul", "x w", "z")], [])
    assert network.unknown_operators == {"If": 1}
    assert network.macs == 2 * 8 * 8


def _loop(limit: str, condition: str, goes_on: onnx.NodeProto) -> onnx.NodeProto:
    """A loop that multiplies ``h`` with weights each time and keeps what it had before."""
    body = _body(
        [goes_on, node("MatMul", "h w", "next", name="product"), node("Relu", "h", "seen")],
        [*_values("on", kind=TensorProto.BOOL), *_values("next", "seen")],
        [
            *_values("i", kind=TensorProto.INT64),
            *_values("before", kind=TensorProto.BOOL),
            *_values("h"),
        ],
    )
    return helper.make_node("Loop", [limit, condition, "x"], ["y", "all"], name="loop", body=body)


ALWAYS = node("Identity", "before", "on")


def test_loop_with_a_trip_count() -> None:
    network = _parsed([_loop("n", "c", ALWAYS)], [_stored("n", 3), _stored("c", True)])
    names = [f"loop/{i}/product" for i in range(3)]
    assert [layer.name for layer in network.layers] == names
    assert network.readers == {names[0]: (names[1],), names[1]: (names[2],), names[2]: ()}
    made = {tensor.name: tensor.sizes for n in network.nodes for tensor in n.outputs}
    assert (made["y"], made["all"]) == ((2, 8), (3, 2, 8))
    assert network.unknown_operators == {}


def test_loop_that_ends_by_its_condition() -> None:
    goes_on = node("Less", "i two", "on")
    network = _parsed([_loop("", "", goes_on)], [_stored("two", 2)])
    assert len(network.layers) == 3


@pytest.mark.parametrize(("count", "condition"), [(0, True), (7, False)])
def test_loop_that_never_runs(count: int, condition: bool) -> None:
    stored = [_stored("n", count), _stored("c", condition)]
    network = _parsed([_loop("n", "c", ALWAYS), node("MatMul", "y w", "z", name="last")], stored)
    assert [layer.name for layer in network.layers] == ["last"]


def test_loop_in_a_loop() -> None:
    inner = _loop("n", "c", ALWAYS)
    inner.input[2] = "h"
    outer = _loop("n", "c", ALWAYS)
    del outer.attribute[0].g.node[1]
    outer.attribute[0].g.node.append(inner)
    outer.attribute[0].g.output[1].name = "y"
    network = _parsed([outer], [_stored("n", 3), _stored("c", True)])
    assert len(network.layers) == 9
    assert len({layer.name for layer in network.layers}) == 9
    assert sum(map(len, network.readers.values())) == 8


OPEN: dict[str, tuple[onnx.NodeProto, str]] = {
    "trip count": (_loop("open", "c", ALWAYS), "a trip count 'open' that is not constant"),
    "condition": (_loop("n", "no", ALWAYS), "a condition 'no' that is not constant"),
    "condition inside": (
        _loop("n", "c", node("Cast", "flag", "on", {"to": 9})),
        "a condition 'loop/0/on' that is not constant",
    ),
    "endless": (_loop("", "", ALWAYS), f"more than {MOST_ITERATIONS} iterations"),
    "many that differ": (
        _loop("many", "c", node("Less", "i many", "on")),
        f"more than {MOST_ITERATIONS} iterations",
    ),
}


@pytest.mark.parametrize(("loop", "found"), OPEN.values(), ids=OPEN)
def test_loops_that_cannot_be_unrolled(loop: onnx.NodeProto, found: str) -> None:
    nodes = [node("Cast", "flag", "open", {"to": 7}), node("Cast", "flag", "no", {"to": 9}), loop]
    stored = [_stored("n", 3), _stored("c", True), _stored("many", 2**62)]
    inputs = {"x": (2, 8), "flag": ()}
    with pytest.raises(InputError) as caught:
        _parsed(nodes, stored, inputs)
    assert caught.value.where == "model 'net': node 'loop' (Loop)"
    assert caught.value.found.startswith(found)
    assert caught.value.found.endswith("with MatMul in its body")


def test_a_loop_that_cannot_be_unrolled_without_anything_for_the_array() -> None:
    loop = _loop("n", "c", node("Cast", "flag", "on", {"to": 9}))
    loop.attribute[0].g.node[1].CopyFrom(node("Neg", "h", "next"))
    stored = [_stored("n", 3), _stored("c", True)]
    network = _parsed([loop, node("MatMul", "x w", "z")], stored, {"x": (2, 8), "flag": ()})
    assert network.unknown_operators == {"Loop": 1}
    assert [n.name for n in network.nodes] == ["loop", "MatMul_1"]


def test_loops_in_loops_beyond_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline_subgraphs, "MOST_NODES", 1_000)
    loop = _loop("n", "c", ALWAYS)
    for _ in range(4):
        outer = _loop("n", "c", ALWAYS)
        loop.input[2] = "h"
        outer.attribute[0].g.node.append(loop)
        outer.attribute[0].g.output[1].name = "y"
        loop = outer
    with pytest.raises(InputError, match="more than 1000 nodes in all iterations"):
        _parsed([loop], [_stored("n", 6), _stored("c", True)])  # of 6 ** 5 iterations


def _scan(directions: Sequence[int] = (0,), axes: Sequence[int] = (0,)) -> onnx.NodeProto:
    body = _body(
        [
            node("MatMul", "h w", "p", name="product"),
            node("Add", "p part", "next"),
            node("Relu", "next", "seen"),
        ],
        _values("next", "seen"),
        _values("h", "part"),
    )
    return helper.make_node(
        "Scan",
        ["start", "x"],
        ["y", "all"],
        name="scan",
        body=body,
        num_scan_inputs=1,
        scan_input_directions=directions,
        scan_input_axes=axes,
    )


@pytest.mark.parametrize(("axis", "shape"), [(0, (5, 2, 8)), (1, (2, 5, 8)), (-2, (2, 5, 8))])
def test_scan(axis: int, shape: tuple[int, ...]) -> None:
    network = _parsed([_scan(axes=[axis])], [], {"x": shape, "start": (2, 8)})
    assert [layer.name for layer in network.layers] == [f"scan/{i}/product" for i in range(5)]
    made = {tensor.name: tensor.sizes for n in network.nodes for tensor in n.outputs}
    assert (made["y"], made["all"]) == ((2, 8), (5, 2, 8))
    assert sum(map(len, network.readers.values())) == 4
    assert network.unknown_operators == {}


@pytest.mark.parametrize(
    ("shape", "found"),
    [(("N", 2, 8), "a sequence 'x' of unknown length"), (None, "a sequence 'x' of unknown length")],
)
def test_scans_that_cannot_be_unrolled(shape: tuple[int, ...] | None, found: str) -> None:
    with pytest.raises(InputError) as caught:
        _parsed([_scan()], [], {"x": shape, "start": (2, 8)})
    assert caught.value.where == "model 'net': node 'scan' (Scan)"
    assert caught.value.found == f"{found}, with MatMul in its body"


def test_a_scan_of_many_equal_steps_is_one_step() -> None:
    """Its layer has the steps as iterations; weights are the same in each."""
    nodes = [_scan(), node("MatMul", "y w", "z", name="last")]
    network = _parsed(nodes, [], {"x": (2000, 2, 8), "start": (2, 8)})
    product, last = network.layers
    assert (product.name, last.name) == ("scan/product", "last")
    assert product.macs == 2000 * 2 * 8 * 8
    assert last.macs == 2 * 8 * 8
    assert {x.name: product.elements(x.name) for x in product.operands} == {
        "O": 2000 * 2 * 8,
        "I": 2000 * 2 * 8,
        "W": 8 * 8,
    }
    assert [x.constant for x in product.inputs] == [False, True]
    made = {tensor.name: tensor.sizes for n in network.nodes for tensor in n.outputs}
    assert (made["y"], made["all"]) == ((2, 8), (2000, 2, 8))
    assert {n.operator: n.total_operations for n in network.vector_nodes} == {
        "Add": 2000 * 2 * 8,
        "Relu": 2000 * 2 * 8,
    }
    assert network.readers == {"scan/product": ("last",), "last": ()}
    assert network.unknown_operators == {}


def test_a_loop_of_many_equal_steps_is_one_step() -> None:
    network = _parsed([_loop("n", "c", ALWAYS)], [_stored("n", 5000), _stored("c", True)])
    (layer,) = network.layers
    assert (layer.name, layer.macs) == ("loop/product", 5000 * 2 * 8 * 8)
    made = {tensor.name: tensor.sizes for n in network.nodes for tensor in n.outputs}
    assert (made["y"], made["all"]) == ((2, 8), (5000, 2, 8))


def _work(network: Workload) -> tuple[int, int]:
    return network.macs, sum(n.total_operations for n in network.vector_nodes)


@pytest.mark.parametrize("depth", [1, 2])
def test_one_step_has_the_work_of_all(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = _loop("n", "c", ALWAYS)
    for _ in range(depth - 1):
        outer = _loop("n", "c", ALWAYS)
        loop.input[2] = "h"
        outer.attribute[0].g.node[1].CopyFrom(loop)
        outer.attribute[0].g.output[1].name = "y"
        loop = outer
    stored = [_stored("n", 7), _stored("c", True)]
    unrolled = _parsed([loop], stored)
    monkeypatch.setattr(control_flow, "MOST_UNROLLED", 3)
    together = _parsed([loop], stored)
    assert len(unrolled.layers) == 7**depth
    assert len(together.layers) == 1
    assert _work(together) == _work(unrolled)


def _growing(last: str) -> onnx.NodeProto:
    """A loop that multiplies as many rows as it has made steps, and a last one."""
    body = _body(
        [
            node("Identity", "before", "on"),
            node("Add", "i one", "rows"),
            node("Slice", "x zero rows zero", "part"),
            node("MatMul", "part w", last, name="product"),
            node("Identity", "h", "next"),
        ],
        [*_values("on", kind=TensorProto.BOOL), *_values("next")],
        [
            *_values("i", kind=TensorProto.INT64),
            *_values("before", kind=TensorProto.BOOL),
            *_values("h"),
        ],
    )
    return helper.make_node("Loop", ["n", "c", "x"], ["y"], name="loop", body=body)


def test_steps_that_differ_are_unrolled() -> None:
    stored = [
        _stored("n", 150),
        _stored("c", True),
        numpy_helper.from_array(np.array([0]), "zero"),
        numpy_helper.from_array(np.array([1]), "one"),
    ]
    network = _parsed([_growing("p")], stored, {"x": (150, 8)})
    assert [layer.macs for layer in network.layers] == [n * 8 * 8 for n in range(1, 151)]


def test_a_choice_that_depends_on_the_step_is_made_for_each() -> None:
    loop = _loop("n", "c", ALWAYS)
    body = loop.attribute[0].g
    body.node[1].CopyFrom(node("Less", "i seven", "few"))
    yes = _body([node("MatMul", "h w", "a", name="product")], _values("a"))
    no = _body([node("Identity", "h", "b")], _values("b"))
    body.node.append(
        helper.make_node("If", ["few"], ["next"], name="choice", then_branch=yes, else_branch=no)
    )
    stored = [_stored("n", 150), _stored("c", True), _stored("seven", 7)]
    assert len(_parsed([loop], stored).layers) == 7


def test_more_steps_that_differ_than_are_unrolled() -> None:
    stored = [_stored("n", MOST_ITERATIONS + 1), _stored("c", True)]
    loop = _loop("n", "c", node("Less", "i n", "on"))
    with pytest.raises(InputError) as caught:
        _parsed([loop], stored)
    assert caught.value.found.startswith(f"more than {MOST_ITERATIONS} iterations")
    assert "(a condition 'loop/on' that is not constant" in caught.value.found
    assert "2**31 equal ones" in caught.value.expected


def test_weights_of_each_step_are_read_once_each() -> None:
    """A stack of weights as a sequence: layers of a transformer as they are exported."""
    body = _body(
        [node("MatMul", "h part", "next", name="product")], _values("next"), _values("h", "part")
    )
    scan = helper.make_node(
        "Scan", ["start", "stack"], ["y"], name="scan", body=body, num_scan_inputs=1
    )
    stack = weights("stack", 300, 8, 8)
    network = _parsed([scan], [stack], {"start": (2, 8)})
    (layer,) = network.layers
    assert layer.elements("W") == 300 * 8 * 8
    assert [x.constant for x in layer.inputs] == [False, True]


def test_names_that_are_taken() -> None:
    nodes = [
        node("Relu", "x", "choice/then_branch/t", name="choice/then_branch/product"),
        _choice("c", *_branches()),
    ]
    network = _parsed(nodes, [_stored("c", True)])
    names = [n.name for n in network.nodes]
    assert names[:2] == ["choice/then_branch/product", "choice/then_branch/product_"]
    assert network.layers[0].inputs[0].source is None


def test_a_large_tensor_in_a_branch_keeps_no_data() -> None:
    data = numpy_helper.from_array(np.zeros((8, 4096), np.float32), "w")
    branch = _body([node("MatMul", "x w", "y")], _values("y"), stored=[data])
    network = _parsed([_choice("c", branch, branch)], [_stored("c", True)])
    assert network.macs == 2 * 8 * 4096


BROKEN: dict[str, onnx.NodeProto] = {
    "no branches": node("If", "c", "y", name="choice"),
    "no condition": node("If", "", "y", name="choice"),
    "no body": node("Loop", "n c x", "y", name="loop"),
    "nothing": node("Loop", "", "", name="loop"),
    "no body of a scan": node("Scan", "x", "y", {"num_scan_inputs": 1}, name="scan"),
    "too many scans": node("Scan", "x", "y", {"num_scan_inputs": 5}, name="scan"),
    "negative scans": node("Scan", "x", "y", {"num_scan_inputs": -5}, name="scan"),
    "axes": node("Scan", "x", "y", {"num_scan_inputs": 1, "scan_input_axes": [9]}, name="scan"),
    "branch is a number": node("If", "c", "y", {"then_branch": 3}, name="choice"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken_nodes_with_bodies_do_no_harm(broken: onnx.NodeProto) -> None:
    stored = [_stored("n", 3), _stored("c", True)]
    network = _parsed([broken, node("MatMul", "x w", "z")], stored)
    assert network.macs == 2 * 8 * 8


def test_an_operator_is_replaced_by_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    flex_type = "ai.onnx.preview.FlexAttention"
    flex = node("FlexAttention", "q k v", "y", name="flex", domain="ai.onnx.preview")
    shapes = {"q": (1, 4, 16, 8), "k": (1, 2, 32, 8), "v": (1, 2, 32, 8)}
    source = model([flex, node("Relu", "y", "z", name="after")], shapes)
    source.opset_import.append(helper.make_opsetid("ai.onnx.preview", 1))
    source.opset_import[0].version = 26
    with monkeypatch.context() as patch:  # as if attention were not known as it is
        patch.setattr(resolve, "operator_of", {**OPERATORS, flex_type: Operator()}.__getitem__)
        nodes = resolve.resolve_graph(skeleton(source, "net"), "net").nodes
    assert [n.operator for n in nodes].count("MatMul") == 2
    assert all(n.name.startswith("flex/") for n in nodes[:-1])
    network = parse_onnx(source)
    assert [layer.macs for layer in network.layers] == [4 * 16 * 32 * 8] * 2


def test_an_operator_without_a_part_for_the_array_stays_as_it_is() -> None:
    grid = node("SequenceMap", "s", "y", name="map")
    network = _parsed([node("SequenceConstruct", "x", "s"), grid], [])
    assert network.unknown_operators == {"SequenceMap": 1}
    last = network.nodes[-1]
    assert isinstance(last, NoCostNode)
    assert last.name == "map"
