"""Inputs of a network that decide what runs: their values are given by name."""

from itertools import pairwise
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from nestmap.model import InputError
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx_bytes import InputValue
from tests.pipeline.cli.inputs import run
from tests.pipeline.frontend.onnx.build import FLOAT, weights

SQUARE = weights("w", 64, 64)


def branching() -> onnx.ModelProto:
    """One product where there is a cache, else two."""

    def branch(name: str, products: int) -> onnx.GraphProto:
        names = ["x", *(f"{name}{i}" for i in range(products))]
        nodes = [
            helper.make_node("MatMul", [before, "w"], [after]) for before, after in pairwise(names)
        ]
        return helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=names[-1])])

    chosen = helper.make_node(
        "If", ["cached"], ["y"], then_branch=branch("a", 1), else_branch=branch("b", 2)
    )
    return made([chosen], helper.make_tensor_value_info("cached", TensorProto.BOOL, [1]))


def looping() -> onnx.ModelProto:
    """A product as often as an input says."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("MatMul", ["h", "w"], ["g"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("c", TensorProto.BOOL, []),
            value("h", FLOAT, [4, 64]),
        ],
        [value("d", TensorProto.BOOL, []), value("g", FLOAT, [4, 64])],
    )
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    return made([loop], value("n", TensorProto.INT64, []))


def made(nodes: list[onnx.NodeProto], deciding: onnx.ValueInfoProto) -> onnx.ModelProto:
    inputs = [deciding, helper.make_tensor_value_info("x", FLOAT, [4, 64])]
    graph = helper.make_graph(nodes, "net", inputs, [onnx.ValueInfoProto(name="y")], [SQUARE])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


MODELS = {"cached": branching, "n": looping}


@pytest.mark.parametrize(
    ("name", "value", "products"),
    [("cached", True, 1), ("cached", False, 2), ("n", 1, 1), ("n", 12, 12)],
)
def test_a_value_decides_what_runs(name: str, value: InputValue, products: int) -> None:
    source = MODELS[name]()
    before = source.SerializeToString(deterministic=True)
    found = parse_onnx(source, values={name: value})
    assert [x.macs for x in found.layers] == [4 * 64 * 64] * products
    assert source.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("name", MODELS)
def test_without_it_the_error_names_the_option(name: str) -> None:
    with pytest.raises(InputError, match=rf"before the network runs: --value {name}=\.\.\."):
        parse_onnx(MODELS[name]())


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"caches": True}, "found no input 'caches'; expected cached"),
        ({"w": 1}, "found no input 'w'"),
    ],
)
def test_other_inputs_are_told(values: dict[str, InputValue], told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_onnx(branching(), values=values)


@pytest.mark.parametrize("value", [0.5, 2**70, -(2.0**70)])
def test_a_value_that_its_type_does_not_have_is_told(value: InputValue) -> None:
    with pytest.raises(InputError, match="for input 'n'; expected one of type int64"):
        parse_onnx(looping(), values={"n": value})


def test_texts_are_no_values() -> None:
    source = branching()
    source.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    with pytest.raises(InputError, match="value True for input 'cached'"):
        parse_onnx(source, values={"cached": True})


def test_an_input_that_is_no_decision_is_told() -> None:
    source = branching()
    source.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "batch"
    with pytest.raises(InputError, match="input 'x' of unknown size or more than 1024 elements"):
        parse_onnx(source, values={"cached": True, "x": 0.5})


def test_the_option_of_commands(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(branching().SerializeToString())
    shown = [run("show", str(file), "--value", f"cached={x}") for x in ("true", "False")]
    assert ["MACs 16.38 k" in x.out for x in shown] == [True, False]
    assert "MACs 32.77 k" in shown[1].out
    for text in ("cached", "cached=maybe", "=1", "cached=inf"):
        ended = run("show", str(file), "--value", text)
        assert (ended.code, ended.out) == (2, "")
        assert "expected the name of an input and true, false or a number" in ended.err
    ended = run("show", "light:alexnet", "--value", "n=1")
    assert ended.code == 2
