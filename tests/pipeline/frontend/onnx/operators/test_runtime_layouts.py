"""Operators that ONNX Runtime writes when it optimizes a model: other layouts, fused and packed."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nestmap.model import InputError, InputWarning, Workload
from nestmap.pipeline.frontend.onnx import parse_onnx

DOMAINS = ("", "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc", "acme")
Stored = Mapping[str, npt.NDArray[np.generic]]


def net(
    nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, tuple[int, list[int]]], stored: Stored
) -> Workload:
    """The workload of a model whose inputs have a type and sizes, and whose output states none."""
    made = [onnx.ValueInfoProto(name=nodes[-1].output[0])]
    given = [helper.make_tensor_value_info(name, *facts) for name, facts in inputs.items()]
    tensors = [numpy_helper.from_array(value, name) for name, value in stored.items()]
    graph = helper.make_graph(list(nodes), "net", given, made, tensors)
    opsets = [helper.make_opsetid(domain, 1 if domain else 18) for domain in DOMAINS]
    return parse_onnx(helper.make_model(graph, opset_imports=opsets))


def node(
    operator: str,
    reads: list[str],
    writes: str,
    domain: str = "",
    attributes: Mapping[str, int | list[int]] | None = None,
) -> onnx.NodeProto:
    """A node; an empty name is an input that is not there."""
    made = helper.make_node(operator, reads, [writes], domain=domain)
    made.attribute.extend(helper.make_attribute(*item) for item in (attributes or {}).items())
    return made


def floats(*sizes: int) -> npt.NDArray[np.float32]:
    return np.ones(sizes, np.float32)


IMAGE = {"x": (TensorProto.FLOAT, [1, 16, 16, 16])}
LAST = {"x": (TensorProto.FLOAT, [1, 16, 12, 8])}  # height, width, channels
SCALES: Stored = {
    "s": np.array(0.1, np.float32),
    "z": np.array(128, np.uint8),
    "zw": np.array(0, np.int8),
}


def test_blocked_convolutions_are_counted() -> None:
    blocked, pads = "com.microsoft.nchwc", [1] * 4
    nodes = [
        node("ReorderInput", ["x"], "r", blocked),
        node("Conv", ["r", "w"], "a", blocked, {"kernel_shape": [3, 3], "pads": pads}),
        node("MaxPool", ["a"], "p", blocked, {"kernel_shape": [2, 2]}),
        node("ReorderOutput", ["p"], "o", blocked, {"channels": 12}),
        node("Conv", ["o", "v"], "y", "", {"pads": pads}),
    ]
    found = net(nodes, IMAGE, {"w": floats(16, 16, 3, 3), "v": floats(8, 12, 3, 3)})
    first, second = found.layers
    assert (first.macs, second.macs) == (16**3 * 12 * 9, 15 * 15 * 8 * 12 * 9)
    assert not found.unknown_operators
    assert [x.operator for x in found.vector_nodes] == ["com.microsoft.nchwc.MaxPool"]


def test_channels_that_fill_blocks_are_no_work() -> None:
    """Weights for 12 channels are stored with zeros for 16; so are those of groups."""
    blocked = "com.microsoft.nchwc"
    nodes = [
        node("Conv", ["x", "u"], "p"),
        node("ReorderInput", ["p"], "r", blocked),
        node("Conv", ["r", "w"], "a", blocked, {"kernel_shape": [3, 3]}),
        node("ReorderOutput", ["a"], "o", blocked, {"channels": 12}),
        node("Relu", ["o"], "q"),
        node("ReorderInput", ["q"], "s", blocked),
        node("Conv", ["s", "g"], "y", blocked, {"kernel_shape": [3, 3], "group": 16}),
    ]
    stored: Stored = {
        "u": floats(12, 16, 1, 1),
        "w": floats(16, 16, 3, 3),
        "g": floats(16, 1, 3, 3),
    }
    found = net(nodes, IMAGE, stored)
    first, second, third = found.layers
    assert first.macs == 16 * 16 * 16 * 12
    assert second.macs == 14 * 14 * 9 * 12 * 12
    assert second.elements("W") == 12 * 12 * 9
    assert third.macs == 12 * 12 * 9 * 12
    assert not found.unknown_operators


def test_blocks_are_made_of_images_with_channels_last() -> None:
    blocked = "com.microsoft.nchwc"
    nodes = [
        node("ReorderInput", ["x"], "r", blocked, {"channels_last": 1}),
        node("Conv", ["r", "w"], "a", blocked, {"kernel_shape": [3, 3]}),
        node("ReorderOutput", ["a"], "o", blocked, {"channels": 32, "channels_last": 1}),
        node("MatMul", ["o", "v"], "y"),
    ]
    conv, product = net(nodes, LAST, {"w": floats(32, 8, 3, 3), "v": floats(32, 4)}).layers
    assert conv.macs == 14 * 10 * 9 * 8 * 32
    assert product.macs == 14 * 10 * 32 * 4


def test_weights_of_other_channels_are_errors_in_blocks_too() -> None:
    blocked = "com.microsoft.nchwc"
    nodes = [
        node("ReorderInput", ["x"], "r", blocked),
        node("Conv", ["r", "w"], "a", blocked, {"kernel_shape": [3, 3]}),
    ]
    for channels in (8, 48):
        with pytest.raises(InputError, match="16 input channels"):
            net(nodes, IMAGE, {"w": floats(16, channels, 3, 3)})


@pytest.mark.parametrize("flags", range(16))
def test_products_of_turned_stacks_have_shapes(flags: int) -> None:
    """Nothing states the shape of what the second product reads."""
    turned = [bool(flags >> i & 1) for i in range(4)]
    stated = dict(zip(("transA", "transB", "transBatchA", "transBatchB"), turned, strict=True))
    sizes = [(5, 6), (6, 7)]
    stored: list[list[int]] = []
    for (rows, columns), is_turned, is_first in zip(sizes, turned[:2], turned[2:], strict=True):
        first, last = (columns, rows) if is_turned else (rows, columns)
        stored.append([first, 2, 3, last] if is_first else [2, 3, first, last])
    nodes = [
        node(
            "FusedMatMul", ["x", "w"], "a", "com.microsoft", {k: int(v) for k, v in stated.items()}
        ),
        node("MatMul", ["a", "v"], "y"),
    ]
    inputs = {name: (TensorProto.FLOAT, each) for name, each in zip("xw", stored, strict=True)}
    product, after = net(nodes, inputs, {"v": floats(7, 4)}).layers
    assert product.macs == 6 * 5 * 6 * 7
    assert after.macs == 6 * 5 * 7 * 4


QUANTIZED: Mapping[str, tuple[list[str], Mapping[str, int | list[int]], list[int]]] = {
    "QLinearAdd": (["x", "s", "z", "x", "s", "z", "s", "z"], {}, [16, 12, 8]),
    "QLinearMul": (["x", "s", "z", "x", "s", "z", "s", "z"], {}, [16, 12, 8]),
    "QLinearConcat": (["s", "z", "x", "s", "z"], {"axis": 1}, [16, 12, 8]),
    "QLinearSigmoid": (["x", "s", "z", "s", "z"], {}, [16, 12, 8]),
    "QLinearLeakyRelu": (["x", "s", "z", "s", "z"], {}, [16, 12, 8]),
    "QLinearSoftmax": (["x", "s", "z", "s", "z"], {}, [16, 12, 8]),
    "QLinearAveragePool": (["x", "s", "z", "s", "z"], {"kernel_shape": [2, 2]}, [16, 11, 7]),
    "QLinearGlobalAveragePool": (["x", "s", "z", "s", "z"], {}, [16, 1, 1]),
    "QLinearReduceMean": (["x", "s", "z", "s", "z"], {"axes": [2], "keepdims": 0}, [16, 8]),
    "QLinearWhere": (["c", "x", "s", "z", "x", "s", "z", "s", "z"], {}, [16, 12, 8]),
}


@pytest.mark.parametrize(("operator", "case"), QUANTIZED.items(), ids=QUANTIZED)
def test_quantized_operators_make_what_their_zero_point_says(
    operator: str, case: tuple[list[str], Mapping[str, int | list[int]], list[int]]
) -> None:
    """Their inputs may be of another type; what follows checks it."""
    reads, attributes, sizes = case
    nodes = [
        node(operator, reads, "a", "com.microsoft", attributes),
        node("DequantizeLinear", ["a", "s", "z"], "d"),
        node("MatMul", ["d", "v"], "y"),
    ]
    inputs = {"x": (TensorProto.UINT8, [1, 16, 12, 8]), "c": (TensorProto.BOOL, [1, 16, 12, 8])}
    found = net(nodes, inputs, {**SCALES, "v": floats(sizes[-1], 3)})
    (product,) = found.layers
    assert product.macs == int(np.prod(sizes)) * 3
    assert not found.unknown_operators


@pytest.mark.parametrize("operator", ["QLinearAveragePool", "QLinearGlobalAveragePool"])
def test_quantized_pooling_with_channels_last(operator: str) -> None:
    is_global = operator == "QLinearGlobalAveragePool"
    stated = {"channels_last": 1} | ({} if is_global else {"kernel_shape": [2, 2]})
    nodes = [
        node(operator, ["x", "s", "z", "s", "z"], "a", "com.microsoft", stated),
        node("DequantizeLinear", ["a", "s", "z"], "d"),
        node("MatMul", ["d", "v"], "y"),
    ]
    inputs = {"x": (TensorProto.UINT8, [1, 16, 12, 8])}
    (product,) = net(nodes, inputs, {**SCALES, "v": floats(8, 3)}).layers
    assert product.macs == (1 if is_global else 15 * 11) * 8 * 3


@pytest.mark.parametrize(
    ("operator", "domain", "groups"),
    [
        ("NhwcFusedConv", "com.microsoft", 1),
        ("Conv", "com.ms.internal.nhwc", 1),
        ("Conv", "com.ms.internal.nhwc", 4),
    ],
)
def test_convolutions_with_channels_last(operator: str, domain: str, groups: int) -> None:
    conv = node(operator, ["x", "w"], "a", domain, {"strides": [2, 1], "group": groups})
    after = node("MatMul", ["a", "v"], "y")  # along the channels
    stored: Stored = {"w": floats(32, 8 // groups, 3, 5), "v": floats(32, 4)}
    layer, product = net([conv, after], LAST, stored).layers
    assert layer.macs == 7 * 8 * 32 * 8 // groups * 15
    assert product.macs == 7 * 8 * 32 * 4
    image = layer.operand("I").indices
    axes = [x.dimensions for x in image]
    assert axes == [("B",), ("OY", "FY"), ("OX", "FX"), ("G",), ("C",)]


@pytest.mark.parametrize("domain", ["com.microsoft", "com.ms.internal.nhwc"])
def test_quantized_convolutions_with_channels_last(domain: str) -> None:
    reads = ["x", "s", "z", "w", "s", "zw", "s", "z"]
    is_stated = {"channels_last": 1} if domain == "com.microsoft" else None
    conv = node("QLinearConv", reads, "a", domain, is_stated)
    shape = node("Reshape", ["a", "shape"], "y")
    stored: Stored = {
        **SCALES,
        "w": np.ones((32, 8, 3, 3), np.int8),
        "shape": np.array([14 * 10, 32], np.int64),
    }
    inputs = {"x": (TensorProto.UINT8, [1, 16, 12, 8])}
    (layer,) = net([conv, shape], inputs, stored).layers
    assert layer.macs == 14 * 10 * 32 * 8 * 9
    assert (layer.output.precision, layer.output.partial_precision) == (8, 32)


PRODUCTS: dict[str, tuple[list[str], dict[str, int | list[int]]]] = {
    "QGemm": (["x", "s", "z", "w", "s", "zw", "b", "s", "z"], {}),
    "MatMulIntegerToFloat": (["x", "w", "s", "s", "z", "zw"], {}),
    "DynamicQuantizeMatMul": (["f", "w", "s", "zw"], {}),
    "GemmFastGelu": (["f", "wf"], {}),
    "MatMulBnb4": (["f", "packed"], {"K": 128, "N": 64, "block_size": 32, "quant_type": 1}),
}


@pytest.mark.parametrize("operator", PRODUCTS)
def test_a_product_has_a_type_for_what_reads_it(operator: str) -> None:
    reads, attributes = PRODUCTS[operator]
    product = node(operator, reads, "a", "com.microsoft", attributes)
    view = node("Reshape", ["a", "shape"], "y")
    stored: Stored = {
        **SCALES,
        "w": np.ones((128, 64), np.int8),
        "wf": floats(128, 64),
        "packed": np.ones((128 * 64 // 2, 1), np.uint8),
        "b": np.zeros(64, np.int32),
        "shape": np.array([24, 2, 64], np.int64),
    }
    inputs = {"x": (TensorProto.UINT8, [48, 128]), "f": (TensorProto.FLOAT, [48, 128])}
    (layer,) = net([product, view], inputs, stored).layers
    assert layer.macs == 48 * 128 * 64
    assert layer.operand("W").precision == (4 if operator == "MatMulBnb4" else 8)


def test_quantized_attention_is_counted() -> None:
    reads = ["x", "w", "b", "s", "s", "", "z", "zw"]
    attention = node("QAttention", reads, "y", "com.microsoft", {"num_heads": 4})
    stored: Stored = {**SCALES, "w": np.ones((64, 192), np.int8), "b": floats(192)}
    found = net([attention], {"x": (TensorProto.UINT8, [2, 10, 64])}, stored)
    assert [x.macs for x in found.layers] == [2 * 10 * 64 * 192, *[2 * 10 * 10 * 64] * 2]


@pytest.mark.parametrize("tokens", [1, 6, 35])
@pytest.mark.parametrize("gated", [False, True])
def test_experts_compute_the_products_of_each_token(tokens: int, gated: bool) -> None:
    reads = ["x", "r", "w1", "", "w2", *(["", "w3"] if gated else [])]
    experts = node("MoE", reads, "y", "com.microsoft", {"k": 2})
    inputs = {"x": (TensorProto.FLOAT, [tokens, 32]), "r": (TensorProto.FLOAT, [tokens, 8])}
    stored: Stored = {"w1": floats(8, 48, 32), "w2": floats(8, 32, 48), "w3": floats(8, 48, 32)}
    found = net([experts], inputs, stored)
    assert [x.macs for x in found.layers] == [tokens * 2 * 32 * 48] * (2 + gated)
    assert all(x.sizes["B"] <= 8 for x in found.layers)


@pytest.mark.parametrize(
    ("image", "sizes"), [([32], (8, 48, 32)), ([], (8, 48, 32)), ([3, 32], ()), ([3, 32], (8, 48))]
)
def test_experts_of_other_ranks_are_told(image: list[int], sizes: tuple[int, ...]) -> None:
    experts = node("MoE", ["x", "r", "w1", "", "w2"], "y", "com.microsoft")
    inputs = {"x": (TensorProto.FLOAT, image), "r": (TensorProto.FLOAT, [3, 8])}
    with pytest.raises(InputError, match="and a matrix for each expert"):
        net([experts], inputs, {"w1": floats(*sizes), "w2": floats(8, 32, 48)})


def test_packed_experts_have_the_bits_of_their_weights() -> None:
    reads = ["x", "r", "w1", "s1", "", "w2", "s2"]
    experts = node("QMoE", reads, "y", "com.microsoft", {"k": 2, "expert_weight_bits": 4})
    inputs = {"x": (TensorProto.FLOAT, [3, 4, 32]), "r": (TensorProto.FLOAT, [12, 8])}
    stored: Stored = {  # gates and values are interleaved: twice the width
        "w1": np.ones((8, 2 * 48, 16), np.uint8),
        "w2": np.ones((8, 32, 24), np.uint8),
        "s1": floats(8, 96),
        "s2": floats(8, 32),
    }
    up, down = net([experts], inputs, stored).layers
    assert (up.macs, down.macs) == (12 * 2 * 32 * 96, 12 * 2 * 48 * 32)
    assert {x.operand("W").precision for x in (up, down)} == {4}


@pytest.mark.parametrize(
    ("operator", "stored"), [("Superconvolution", {"w": floats(4, 4)}), ("BlockAttention", {})]
)
def test_what_seems_to_compute_and_is_unknown_is_told(operator: str, stored: Stored) -> None:
    unknown = node(operator, ["x", *stored], "y", "acme")
    with pytest.warns(InputWarning, match=rf"% of the parameters: acme.{operator} \(1\)"):
        found = net([unknown], IMAGE, stored)
    assert found.uncounted_operators == {f"acme.{operator}": 1}


def test_an_unknown_operator_without_weights_is_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    unknown = node("Shuffle", ["x", "order"], "y", "acme")
    found = net([unknown], IMAGE, {"order": np.ones(4, np.int64)})
    assert found.unknown_operators == {"acme.Shuffle": 1}
    assert not found.uncounted_operators
    assert not recwarn
