"""A model's own functions: their bodies stand where they are called."""

import onnx
import pytest
from onnx import helper

from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import model, node, weights


def _opsets(version: int = 17) -> list[onnx.OperatorSetIdProto]:
    return [helper.make_opsetid("", version), helper.make_opsetid("acme", 1)]


def _dense() -> onnx.FunctionProto:
    """A product that turns its weights if the caller says so."""
    gemm = node("Gemm", "a b", "t")
    handed_on = onnx.AttributeProto(name="transB", ref_attr_name="turned")
    handed_on.type = onnx.AttributeProto.INT
    gemm.attribute.append(handed_on)
    body = [gemm, node("Relu", "t", "c")]
    return helper.make_function("acme", "Dense", ["a", "b"], ["c"], body, _opsets(), ["turned"])


@pytest.mark.parametrize(("turned", "macs"), [(0, 2 * 8 * 16), (1, 2 * 16 * 8)])
def test_attributes_are_handed_on(turned: int, macs: int) -> None:
    sizes = (16, 8) if turned else (8, 16)
    call = node("Dense", "x w", "y", {"turned": turned}, domain="acme")
    network = parse_onnx(model([call], {"x": (2, 8)}, [weights("w", *sizes)], functions=[_dense()]))
    assert network.macs == macs


@pytest.mark.parametrize("order", [1, -1])
def test_functions_that_call_functions(order: int) -> None:
    calls = [
        node("Dense", "a b", "m", {"turned": 1}, domain="acme"),
        node("Dense", "m b", "c", {"turned": 0}, domain="acme"),
    ]
    block = helper.make_function("acme", "Block", ["a", "b"], ["c"], calls, _opsets())
    nodes = [node("Block", "x w", "h", domain="acme"), node("Block", "h w", "y", domain="acme")]
    functions = [block, _dense()][::order]
    network = parse_onnx(model(nodes, {"x": (2, 8)}, [weights("w", 4, 8)], functions=functions))
    assert [layer.macs for layer in network.layers] == [2 * 8 * 4] * 4
    assert len({layer.name for layer in network.layers}) == 4
    assert sum(map(len, network.readers.values())) == 3


def test_a_function_in_a_branch() -> None:
    branch = helper.make_graph(
        [node("Dense", "x w", "out", {"turned": 0}, domain="acme")],
        "branch",
        [],
        [helper.make_tensor_value_info("out", 1, None)],
    )
    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    condition = helper.make_tensor("c", onnx.TensorProto.BOOL, [], [True])
    source = model([choice], {"x": (2, 8)}, [weights("w", 8, 4), condition], functions=[_dense()])
    assert parse_onnx(source).macs == 2 * 8 * 4


def test_a_function_of_older_operators_is_translated() -> None:
    body = [
        node("Squeeze", "a", "t", {"axes": [0]}),  # an input since version 13
        node("MatMul", "t b", "c"),
        node("Unsqueeze", "c", "d", {"axes": [0]}),
    ]
    old = helper.make_function("acme", "Old", ["a", "b"], ["d"], body, _opsets(11))
    nodes = [node("Old", "x w", "h", domain="acme"), node("Relu", "h", "y")]
    network = parse_onnx(model(nodes, {"x": (1, 1, 8)}, [weights("w", 8, 4)], functions=[old]))
    assert network.macs == 8 * 4
    assert network.nodes[-1].outputs[0].sizes == (1, 1, 4)


def test_calls_that_the_library_mixes_up_are_told_apart() -> None:
    body = [node("Unsqueeze", "a", "t", {"axes": [0]}), node("MatMul", "a b", "c")]
    old = helper.make_function("acme", "Old", ["a", "b"], ["c"], body, _opsets(11))
    nodes = [node("Old", "x w", "h", domain="acme"), node("Old", "h w", "y", domain="acme")]
    network = parse_onnx(model(nodes, {"x": (2, 8)}, [weights("w", 8, 8)], functions=[old]))
    assert [layer.macs for layer in network.layers] == [2 * 8 * 8] * 2


def test_a_function_of_operators_that_cannot_be_translated() -> None:
    body = [node("Mystery", "a", "t", domain="acme"), node("MatMul", "a b", "c")]
    odd = helper.make_function("acme", "Odd", ["a", "b"], ["c"], body, _opsets(3))
    call = node("Odd", "x w", "y", domain="acme")
    source = model([call], {"x": (2, 8)}, [weights("w", 8, 4)], functions=[odd])
    network = parse_onnx(source)
    assert network.macs == 2 * 8 * 4
    assert network.unknown_operators == {"acme.Mystery": 1}
