"""Sizes of what operators make for which the onnx package infers none."""

from contextlib import nullcontext

import onnx
import pytest
from onnx import helper

from nestmap.model import InputWarning
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.operators.registry import OPERATORS
from nestmap.pipeline.frontend.onnx.resolve.inference import TensorKnowledge
from nestmap.pipeline.frontend.onnx.resolve.statements import Statements
from tests.pipeline.frontend.onnx.written import written

X = "float16[2,3,8] x"
QUANTIZED = "float s, int8 z, int8[3,8] b, float t, int8 u"
CASES: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "activation": (X, "y = com.microsoft.FastGelu (x)", (2, 3, 8)),
    "its own normalization": (
        "float16[2,4,5] x, float16[4] s, float16[4] b",
        "y = GroupNormalization <num_groups = 2> (x, s, b)",
        (2, 4, 5),
    ),
    "runtime's normalization": (
        f"{X}, float16[8] s",
        "y = SimplifiedLayerNormalization (x, s)",
        (2, 3, 8),
    ),
    "skip connection": (
        f"{X}, float16[2,3,8] r, float16[8] s",
        "n, , , y = com.microsoft.SkipLayerNormalization (x, r, s)",
        (2, 3, 8),
    ),
    "quantized": (
        f"{X}, float s, uint8 z",
        "y = com.microsoft.QuantizeLinear (x, s, z)",
        (2, 3, 8),
    ),
    "sum of quantized": (
        f"int8[2,1,8] x, {QUANTIZED}, float v, int8 w",
        "y = com.microsoft.QLinearAdd (x, s, z, b, t, u, v, w)",
        (2, 3, 8),
    ),
    "quantized put together": (
        f"int8[4,8] x, {QUANTIZED}, float v, int8 w",
        "y = com.microsoft.QLinearConcat <axis = 0> (v, w, x, s, z, b, t, u)",
        (7, 8),
    ),
    "product with an activation": (
        "float16[3,8] x, float16[5,8] w",
        'y = com.microsoft.FusedGemm <transB = 1, activation = "Relu"> (x, w)',
        (3, 5),
    ),
    "convolution with an activation": (
        "float16[1,2,6] x, float16[4,2,3] w",
        'y = com.microsoft.FusedConv <pads = [1, 0], activation = "Relu"> (x, w)',
        (1, 4, 5),
    ),
    "transposed product": (
        "float16[2,8,3] x, float16[5,8] w",
        "y = com.microsoft.FusedMatMul <transA = 1, transB = 1> (x, w)",
        (2, 3, 5),
    ),
    "weights of few bits": (
        f"{X}, uint8[5,1,4] w, float16[5] s",
        "y = com.microsoft.MatMulNBits <K = 8, N = 5, bits = 4, block_size = 16> (x, w, s)",
        (2, 3, 5),
    ),
    "attention with projections": (
        f"{X}, float16[8,24] w",
        "y = com.microsoft.Attention <num_heads = 2> (x, w)",
        (2, 3, 8),
    ),
    "attention with other projections": (
        f"{X}, float16[8,20] w",
        "y = com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [8, 8, 4]> (x, w)",
        (2, 3, 4),
    ),
    "attention": (
        f"{X}, float16[2,5,8] k, float16[2,5,6] v",
        "y = com.microsoft.MultiHeadAttention <num_heads = 2> (x, k, v)",
        (2, 3, 6),
    ),
    "attention of groups": (
        f"{X}, float16[2,3,4] k, float16[2,3,4] v, int32[2] l, int32 t",
        "y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2>"
        " (x, k, v, , , l, t)",
        (2, 3, 8),
    ),
    "attention of packed groups": (
        f"{X}, int32[2] l, int32 t",
        "y = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (x, , , , , l, t)",
        (2, 3, 4),
    ),
}


@pytest.mark.parametrize(("inputs", "node", "sizes"), CASES.values(), ids=CASES)
def test_sizes(inputs: str, node: str, sizes: tuple[int, ...]) -> None:
    """They are the same for the node and for whatever reads its output."""
    network = parse_onnx(written(inputs, f"{node} last = Identity (y)", outputs="last"))
    assert network.nodes[-1].inputs[0].sizes == sizes
    assert network.nodes[-1].outputs[0].sizes == sizes
    assert network.nodes[-1].outputs[0].precision in (8, 16)


def test_symbolic_dimensions_stay() -> None:
    inputs = "float16[N,3,8] x"
    network = parse_onnx(written(inputs, "y = com.microsoft.FastGelu (x)"))
    assert network.nodes[0].outputs[0].sizes is None


OPSETS = (helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1))
FLOATS = {
    "unknown": helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None),
    "too few axes": helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, (3,)),
    "no elements": helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, (0, 0, 0)),
}


@pytest.mark.parametrize("operator", sorted(x for x in OPERATORS if OPERATORS[x].shapes))
@pytest.mark.parametrize("kind", FLOATS)
def test_nodes_that_cannot_be_right_do_no_harm(operator: str, kind: str) -> None:
    domain, _, name = operator.rpartition(".")
    for count in range(8):
        names = [f"x{i}" for i in range(count)]
        proto = helper.make_node(name, names, ["y"], domain=domain)
        for types in ({}, dict.fromkeys(names, FLOATS[kind])):
            known = TensorKnowledge(OPSETS, types, Statements("model"))
            known.infer(GraphNode("n", operator, proto, tuple(names)))
            assert known.sizes("y") is None or kind != "unknown"


GRADIENTS = {
    "ReluGrad": ("dy, x", "a", [(2, 3, 4)]),
    "SoftmaxGrad_13": ("dy, x", "a", [(2, 3, 4)]),
    "SoftmaxCrossEntropyLossGrad": ("l, x, label", "a", [(2, 3, 4)]),
    "LayerNormalizationGrad": ("dy, x, scale, m, v", "a, b, c", [(2, 3, 4), (4,), (4,)]),
    "SimplifiedLayerNormalizationGrad": ("dy, x, scale, v", "a, b", [(2, 3, 4), (4,)]),
    "ConvGrad": ("image, image, kernel", "a, b", [(1, 3, 8, 8), (3, 3, 1, 1)]),
}


@pytest.mark.parametrize(("operator", "case"), GRADIENTS.items(), ids=GRADIENTS)
def test_gradients_have_the_sizes_of_what_they_are_of(
    operator: str, case: tuple[str, str, list[tuple[int, ...]]]
) -> None:
    read, made, sizes = case
    inputs = (
        "float[2,3,4] dy, float[2,3,4] x, float l, int64[2,4] label, float[4] scale, "
        "float[2,3,1] m, float[2,3,1] v, float[1,3,8,8] image, float[3,3,1,1] kernel"
    )
    names = made.split(", ")
    copies = " ".join(f"{name}_ = Identity ({name})" for name in names)
    outputs = ", ".join(f"{name}_" for name in names)
    text = written(inputs, f"{made} = com.microsoft.{operator} ({read}) {copies}", outputs=outputs)
    with nullcontext() if operator != "ConvGrad" else pytest.warns(InputWarning, match="ConvGrad"):
        network = parse_onnx(text)
    assert [node.inputs[0].sizes for node in network.nodes[-len(names) :]] == sizes
