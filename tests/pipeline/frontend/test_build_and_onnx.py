"""A layer that is built in a line is the one that an ONNX node of the same shapes becomes."""

from collections.abc import Mapping, Sequence

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import nestmap
from nestmap.model import Layer, VectorNode
from nestmap.model.base import copy_with
from nestmap.model.workload.graph import Node
from nestmap.model.workload.operation_counts import OPERATIONS
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import Attribute, layer_of, one

Built = tuple[Layer, onnx.ModelProto]


@st.composite
def convolutions(draw: st.DrawFn) -> Built:
    """The same convolution both ways, along one, two or three axes."""
    rank = draw(st.integers(1, 3))
    each = st.tuples(*[st.integers(1, 3)] * rank)
    groups, inputs, outputs = (draw(st.integers(1, 3)) for _ in range(3))
    stride, dilation, kernel = draw(each), draw(each), draw(each)
    padding = tuple(x - 1 for x in draw(each))
    sizes = tuple(
        d * (k - 1) + draw(st.integers(1, 9)) for d, k in zip(dilation, kernel, strict=True)
    )
    image, weights = (2, groups * inputs, *sizes), (groups * outputs, inputs, *kernel)
    attributes: dict[str, Attribute] = {
        **{"group": groups, "strides": stride, "dilations": dilation},
        "pads": padding * 2,
    }
    make = (nestmap.conv1d, nestmap.conv2d, nestmap.conv3d)[rank - 1]
    layer = make(
        "n", image, weights, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return layer, one("Conv", {"x": image}, {"w": weights}, attributes)


@st.composite
def products(draw: st.DrawFn) -> Built:
    """The same product both ways."""
    rows, inner, columns = (draw(st.integers(1, 9)) for _ in range(3))
    if draw(st.booleans()):
        shapes = (rows, inner), (inner, columns)
        return nestmap.gemm("n", *shapes), one("Gemm", {"x": shapes[0]}, {"w": shapes[1]})
    stack = draw(st.lists(st.integers(1, 4), max_size=3))
    own = [draw(st.sampled_from([1, n])) for n in stack][draw(st.integers(0, len(stack))) :]
    left, right = (*stack, rows, inner), (*own, inner, columns)
    if draw(st.booleans()):
        return nestmap.matmul("n", left, right), one("MatMul", {"x": left, "w": right}, {})
    weights = (inner, columns)
    return nestmap.linear("n", left, columns), one("MatMul", {"x": left}, {"w": weights})


@given(convolutions())
def test_convolutions(built: Built) -> None:
    layer, model = built
    assert layer == layer_of(model)


@given(products())
def test_products(built: Built) -> None:
    layer, model = built
    assert layer == layer_of(model)


@given(st.tuples(*[st.integers(1, 5)] * 7))
def test_attention(sizes: tuple[int, ...]) -> None:
    b, kv, share, length, keys, size, out = sizes
    shapes = {"q": (b, kv * share, length, size), "k": (b, kv, keys, size), "v": (b, kv, keys, out)}
    parsed = parse_onnx(_versioned(one("Attention", shapes, {}), 23))
    built = nestmap.network("net", nestmap.attention("n", *shapes.values()))
    assert [node.name for node in parsed.nodes] == [node.name for node in built.nodes]
    named = [copy_with(layer, {"operator": "MatMul"}) for layer in parsed.layers]
    assert named == list(built.layers)
    assert _work(parsed.nodes[1]) == _work(built.nodes[1])


# Operators that generated networks have: shapes of what they read, attributes.
VECTORS: Sequence[tuple[str, Sequence[Sequence[int]], Mapping[str, Attribute]]] = (
    ("Add", [(2, 3, 4), (3, 4)], {}),
    ("Mul", [(2, 3, 4), (2, 3, 4)], {}),
    ("Tanh", [(2, 3, 4)], {}),
    ("Gelu", [(2, 3, 4)], {}),
    ("Swish", [(2, 3, 4)], {}),
    ("Softmax", [(2, 3, 4)], {}),
    ("RMSNormalization", [(2, 3, 4), (4,)], {}),
    ("LayerNormalization", [(2, 3, 4), (4,), (4,)], {}),
    ("RotaryEmbedding", [(2, 3, 4, 8), (2, 4, 4), (2, 4, 4)], {}),
)


@pytest.mark.parametrize(("operator", "shapes", "attributes"), VECTORS)
def test_vector_operators_do_as_many_operations(
    operator: str, shapes: Sequence[Sequence[int]], attributes: Mapping[str, Attribute]
) -> None:
    inputs = {f"x{i}": shape for i, shape in enumerate(shapes)}
    (node,) = parse_onnx(_versioned(one(operator, inputs, {}, attributes), 24)).vector_nodes
    assert node.iterations == tuple(shapes[0])
    assert node.operations == OPERATIONS[operator]


def test_the_best_two_and_sums_do_as_many_operations() -> None:
    for operator, last in (("TopK", 2), ("ReduceSum", 1)):
        node = helper.make_node(operator, ["x", "n"], ["y", "i"][: 2 - (last == 1)], axis=-1)
        if operator == "ReduceSum":
            del node.attribute[:]
        value = helper.make_tensor("n", onnx.TensorProto.INT64, [1], [last])
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 3, 8))
        y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "net", [x], [y], [value])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
        (made,) = parse_onnx(model).vector_nodes
        assert made.iterations == (2, 3, 8)
        assert made.operations == OPERATIONS[operator]


def test_all_counts_are_compared() -> None:
    assert {"TopK", "ReduceSum", *(operator for operator, _, _ in VECTORS)} == set(OPERATIONS)


def _versioned(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    model.opset_import[0].version = version
    return model


def _work(node: Node) -> tuple[tuple[int, ...], int]:
    assert isinstance(node, VectorNode)
    return node.iterations, node.operations
