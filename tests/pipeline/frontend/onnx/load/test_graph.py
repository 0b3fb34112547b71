"""The graph around the layers: names, sources, constants, order, precisions."""

import onnx
import pytest
from onnx import helper

from nestmap.model import InputWarning, NoCostNode, OutputOperand
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import (
    FLOAT,
    Attribute,
    integers,
    layer_of,
    model,
    node,
    one,
    weights,
)


def test_every_other_operator_is_kept() -> None:
    network = parse_onnx(
        model(
            [
                node("Conv", "x w", "c", name="conv"),
                node("Relu", "c", "r", name="relu"),
                node("Add", "r c", "s", name="add"),
                node("Reshape", "s to", "f", name="flat"),
                node("Gemm", "f m", "y", name="fc"),
            ],
            {"x": (1, 2, 4, 4)},
            [weights("w", 3, 2, 3, 3), integers("to", 1, -1), weights("m", 12, 5)],
        )
    )
    assert [(n.name, n.sources) for n in network.nodes] == [
        ("conv", ()),
        ("relu", ("conv",)),
        ("add", ("relu", "conv")),
        ("flat", ("add",)),
        ("fc", ("flat",)),
    ]
    assert [layer.name for layer in network.layers] == ["conv", "fc"]
    assert [node.name for node in network.vector_nodes] == ["relu", "add"]
    assert network.no_cost_operators == {"Reshape": 1}
    assert network.unknown_operators == {}
    assert network.name == "net"


def test_the_name_of_the_workload() -> None:
    relu = model([node("Relu", "x", "y")], {"x": (1,)})
    assert parse_onnx(relu, name="mine").name == "mine"
    relu.graph.name = ""
    assert parse_onnx(relu).name == "onnx"


def test_missing_and_repeated_names() -> None:
    chain = [
        node("Relu", "x", "a", name="same"),
        node("Relu", "a", "b", name="same"),
        node("Relu", "b", "c"),
        node("Relu", "c", "d", name="Relu_2"),
        node("Relu", "d", "e", name="Relu_1"),
    ]
    names = [n.name for n in parse_onnx(model(chain, {"x": (1,)})).nodes]
    assert names == ["same", "Relu_1_", "Relu_2_", "Relu_2", "Relu_1"]


def test_nodes_in_any_order() -> None:
    nodes = [
        node("MatMul", "r m", "y", name="second"),
        node("Relu", "t", "r", name="relu"),
        node("MatMul", "x w", "t", name="first"),
        node("Neg", "x", "z", name="neg"),
    ]
    stored = [weights("w", 8, 16), weights("m", 16, 4)]
    network = parse_onnx(model(nodes, {"x": (2, 8)}, stored, outputs={"y": None}))
    assert [n.name for n in network.nodes] == ["first", "relu", "second", "neg"]
    assert network.macs == 2 * 8 * 16 + 2 * 16 * 4


def test_a_model_without_layers() -> None:
    network = parse_onnx(model([node("Relu", "x", "y")], {"x": (1,)}))
    assert (network.layers, network.macs) == ((), 0)


CONSTANTS: dict[str, tuple[list[onnx.NodeProto], int | None, bool]] = {
    "initializer": ([], None, True),
    "Constant": ([helper.make_node("Constant", [], ["w"], value=weights("", 8, 16))], 0, True),
    "ConstantOfShape": ([node("ConstantOfShape", "dims", "w")], 0, True),
    "of constants": (
        [node("ConstantOfShape", "dims", "t"), node("Neg", "t", "w", name="neg")],
        1,
        True,
    ),
    "of the input": ([node("MatMul", "b x", "w")], 0, False),
}


@pytest.mark.parametrize(("makers", "position", "constant"), CONSTANTS.values(), ids=CONSTANTS)
def test_what_is_constant(
    makers: list[onnx.NodeProto], position: int | None, constant: bool
) -> None:
    stored = [integers("dims", 8, 16), weights("b", 8, 4)]
    if not makers:
        stored.append(weights("w", 8, 16))
    nodes = [*makers, node("MatMul", "z w", "y", name="last")]
    network = parse_onnx(model(nodes, {"x": (4, 16), "z": (2, 8)}, stored))
    image, weight = network.layers[-1].inputs
    assert weight.constant is constant
    assert weight.source == (None if position is None else network.nodes[position].name)
    assert (image.source, image.constant) == (None, False)


def test_an_initializer_listed_as_input_is_constant() -> None:
    source = model([node("MatMul", "x w", "y")], {"x": (2, 8), "w": (8, 4)}, [weights("w", 8, 4)])
    assert [x.constant for x in layer_of(source).inputs] == [False, True]


PRECISIONS: dict[str, tuple[dict[str, Attribute], tuple[int, int, int, int]]] = {
    "defaults": ({}, (8, 8, 8, 16)),
    "weights": ({"weight_size": 4}, (4, 8, 8, 16)),
    "activations": ({"act_size": 6}, (8, 6, 6, 12)),
    "partial sums": ({"output_size": 24}, (8, 8, 8, 24)),
    "all": ({"weight_size": 2, "act_size": 4, "output_size": 10}, (2, 4, 4, 10)),
}
NODES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "Conv": ((1, 4, 5, 5), (4, 4, 3, 3)),
    "Gemm": ((4, 8), (8, 4)),
    "MatMul": ((4, 8), (8, 4)),
}


@pytest.mark.parametrize("operator", NODES)
@pytest.mark.parametrize(("attributes", "bits"), PRECISIONS.values(), ids=PRECISIONS)
def test_precisions(
    operator: str, attributes: dict[str, Attribute], bits: tuple[int, int, int, int]
) -> None:
    image, weight = NODES[operator]
    layer = layer_of(one(operator, {"x": image}, {"w": weight}, attributes))
    output = layer.operand("O")
    assert isinstance(output, OutputOperand)
    found = (layer.operand("W").precision, layer.operand("I").precision)
    assert (*found, output.precision, output.partial_precision) == bits


def test_attributes_of_operators_that_onnx_does_not_define_are_ignored() -> None:
    attributes: dict[str, Attribute] = {"tile": [2, 2], "note": "mine"}
    for given in ({}, attributes):
        nodes = [node("FusedGemm", "x w", "y", given, name="n", domain="com.microsoft")]
        assert layer_of(model(nodes, {"x": (4, 8)}, [weights("w", 8, 4)])).macs == 4 * 8 * 4


def test_an_operator_of_another_domain_costs_nothing() -> None:
    nodes = [node("Conv", "x w", "y", name="theirs", domain="acme")]
    with pytest.warns(InputWarning, match="100.0% of the parameters"):
        network = parse_onnx(model(nodes, {"x": (1, 2, 4, 4)}, [weights("w", 2, 2, 3, 3)]))
    (theirs,) = network.nodes
    assert isinstance(theirs, NoCostNode)
    assert (theirs.operator, theirs.known) == ("acme.Conv", False)
    assert [(x.name, x.sizes) for x in theirs.inputs] == [("x", (1, 2, 4, 4)), ("w", (2, 2, 3, 3))]
    assert [(x.name, x.sizes) for x in theirs.outputs] == [("y", None)]


def test_a_subgraph_depends_on_what_it_captures() -> None:
    branch = helper.make_graph(
        [node("Neg", "inner", "n"), node("Add", "n r", "out")],
        "branch",
        [],
        [helper.make_tensor_value_info("out", FLOAT, None)],
        [weights("inner", 2)],
    )
    plain = helper.make_graph([], "plain", [], [helper.make_tensor_value_info("r", FLOAT, None)])
    choice = helper.make_node(
        "If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=plain
    )
    nodes = [choice, node("Relu", "x", "r", name="relu"), node("Cast", "x", "c", {"to": 9})]
    network = parse_onnx(model(nodes, {"x": (2,)}, outputs={"y": None}))
    assert [n.name for n in network.nodes] == ["relu", "Cast_2", "choice"]
    last = network.nodes[-1]
    assert isinstance(last, NoCostNode)
    assert (last.operator, last.sources, last.known) == ("If", ("Cast_2", "relu"), False)
    assert [x.name for x in last.inputs] == ["c", "r"]


@pytest.mark.parametrize("version", [17, 13])
def test_local_functions_are_opened(version: int) -> None:
    body = [node("MatMul", "a b", "t"), node("Relu", "t", "c")]
    dense = helper.make_function(
        "acme", "Dense", ["a", "b"], ["c"], body, [helper.make_opsetid("", version)]
    )
    calls = [node("Dense", "x w", "h", domain="acme"), node("Dense", "h w", "y", domain="acme")]
    network = parse_onnx(model(calls, {"x": (2, 8)}, [weights("w", 8, 8)], functions=[dense]))
    assert [node.operator for node in network.vector_nodes] == ["Relu", "Relu"]
    assert [layer.macs for layer in network.layers] == [128, 128]
