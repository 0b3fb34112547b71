"""Shapes that a network computes from sizes and constants, as exporters write them."""

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from nestmap.model import NoCostNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.resolve.inference import fold_node
from tests.pipeline.frontend.onnx.build import Attribute, integers, layer_of, model, node, weights
from tests.pipeline.frontend.onnx.running import Runner


def _scalar(name: str, value: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value), name)


WHERE = [
    # Expand as PyTorch writes it: sizes of -1 stand for 1.
    node("ConstantOfShape", "three", "zeros"),
    node("Equal", "wanted minus", "is_free"),
    node("Where", "is_free ones wanted", "to"),
    node("Expand", "x to", "f"),
]
RANGE = [
    node("Shape", "x", "s"),
    node("Gather", "s first", "n"),
    node("Range", "zero n one", "r"),
    node("Unsqueeze", "r first_axis", "column"),
    node("Expand", "column wide", "e"),
    node("Cast", "e", "f", {"to": 1}),
]
HALVES = [
    node("Shape", "x", "s"),
    node("Cast", "s", "real", {"to": 1}),
    node("Mul", "real half", "less"),
    node("Floor", "less", "whole"),
    node("Cast", "whole", "to", {"to": 7}),
    node("ConstantOfShape", "to", "f"),
]
THROUGH_UNKNOWN = [
    node("NonZero", "flags", "where"),
    node("Transpose", "where", "rows"),
    node("Shape", "rows", "s"),
    node("Gather", "s first", "n"),
    node("Unsqueeze", "n first_axis", "n1"),
    node("Concat", "n1 minus", "to", {"axis": 0}),
    node("Reshape", "x to", "f"),
]
CASES: dict[str, tuple[list[onnx.NodeProto], tuple[int, ...], tuple[int, ...]]] = {
    "Where and Equal": (WHERE, (1, 1, 8), (3, 5, 8)),
    "Range and Expand": (RANGE, (6, 3), (6, 8)),
    "with real numbers": (HALVES, (5, 16), (2, 8)),
    "of values": (THROUGH_UNKNOWN, (4, 6), (3, 8)),
}


@pytest.mark.parametrize(("nodes", "shape", "expected"), CASES.values(), ids=CASES)
def test_computed_shapes(
    nodes: list[onnx.NodeProto], shape: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    stored = [
        *(_scalar("zero", 0), _scalar("one", 1), _scalar("first", 0)),
        *(integers("minus", -1), integers("first_axis", 1), integers("three", 3)),
        *(integers("wanted", 3, 5, -1), integers("ones", 1, 1, 1), integers("wide", 6, 8)),
        integers("flags", 1, 0, 1, 1),
        numpy_helper.from_array(np.array([0.5], np.float32), "half"),
        weights("w", 8, 4),
    ]
    if nodes is THROUGH_UNKNOWN:
        stored[4] = integers("first_axis", 0)
    layer = layer_of(model([*nodes, node("MatMul", "f w", "y")], {"x": shape}, stored))
    assert tuple(sorted(layer.sizes.values())) == tuple(sorted((*expected, 4)))


def test_computed_tensors_are_constant_and_cost_nothing() -> None:
    nodes = [
        node("Shape", "x", "s", name="shape"),
        node("Add", "s s", "t", name="twice"),
        node("ConstantOfShape", "t", "w", name="zeros"),
        node("MatMul", "z w", "y", name="product"),
    ]
    network = parse_onnx(model(nodes, {"x": (20, 40), "z": (3, 40)}))
    assert network.vector_nodes == ()
    assert network.unknown_operators == {}
    shape, twice = network.nodes[:2]
    assert isinstance(shape, NoCostNode)
    assert isinstance(twice, NoCostNode)
    assert shape.outputs[0].constant
    assert twice.outputs[0].constant
    assert [x.constant for x in network.layers[0].inputs] == [False, True]


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (1, 1)])
@pytest.mark.parametrize(
    "value", [None, *(np.array([2], kind) for kind in ("f4", "i8", "?", "u1"))]
)
def test_filled_tensors_are_those_of_onnx(
    shape: tuple[int, ...], value: npt.NDArray[np.generic] | None
) -> None:
    fill = node("ConstantOfShape", "sizes", "y")
    if value is not None:
        fill.attribute.append(helper.make_attribute("value", numpy_helper.from_array(value)))
    sizes = np.array(shape, np.int64)
    folded = fold_node(fill, [sizes], 20)
    assert folded is not None
    run = Runner(model([fill], {"x": (1,)}, [numpy_helper.from_array(sizes, "sizes")]))
    (expected,) = run({"x": np.zeros(1, np.float32)})
    assert (folded[0].dtype, folded[0].shape) == (expected.dtype, expected.shape)
    assert np.array_equal(folded[0], expected)


@pytest.mark.parametrize("sizes", [np.array([-1]), np.array(3), np.array([[2]]), None])
def test_no_tensor_is_filled_without_a_shape(sizes: npt.NDArray[np.int64] | None) -> None:
    assert fold_node(node("ConstantOfShape", "i0", "o0"), [sizes], 20) is None


HUGE: dict[str, tuple[str, dict[str, Attribute]]] = {
    "ConstantOfShape": ("wide", {}),
    "Range": ("zero many one", {}),
    "Expand": ("one1 wide", {}),
    "Tile": ("one1 many1", {}),
}


@pytest.mark.parametrize("operator", HUGE)
def test_large_tensors_are_not_computed(operator: str) -> None:
    reads, attributes = HUGE[operator]
    stored = [
        *(_scalar("zero", 0), _scalar("one", 1), _scalar("many", 2**30)),
        *(integers("one1", 1), integers("many1", 2**30), integers("wide", 2**30, 2**30)),
    ]
    nodes = [node(operator, reads, "t", attributes, name="n"), node("Shape", "t", "s", name="s")]
    if operator == "Expand":
        stored[5] = integers("wide", 2**30)
    network = parse_onnx(model(nodes, {"x": (1,)}, stored))
    (made,) = network.nodes[0].outputs
    assert made.sizes is not None
    assert made.elements >= 2**30


def test_what_cannot_be_computed_stays_unknown() -> None:
    nodes = [
        node("Range", "zero one zero", "r", name="r"),  # no end
        node("Gather", "c far", "g", name="g"),
        node("Relu", "x", "y"),
    ]
    stored = [
        *(integers("c", 1, 2, 3, 4, 5), integers("far", 9)),
        *(_scalar("zero", 0), _scalar("one", 1)),
    ]
    network = parse_onnx(model(nodes, {"x": (2,)}, stored))
    assert [n.name for n in network.nodes][:2] == ["r", "g"]


def test_a_chain_of_blocks_is_followed_to_its_end() -> None:
    nodes: list[onnx.NodeProto] = []
    for i in range(30):
        nodes += [
            node("NonZero", f"flags{i}", f"z{i}"),  # [1, 2]: of no size until computed
            node("Shape", f"z{i}", f"s{i}"),
            node("Sign", f"s{i}", f"flags{i + 1}"),
            node("Expand", f"x{i} s{i}", f"e{i}"),
            node("MatMul", f"e{i} w", f"x{i + 1}"),
        ]
    stored = [integers("flags0", 1, 0, 1), weights("w", 2, 2)]
    layers = parse_onnx(model(nodes, {"x0": (1, 1)}, stored)).layers
    assert layers[0].macs == 1 * 2 * 2
    assert len(layers) == 30
