"""Bits of operands: from types, through quantization around a layer, from attributes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import InputError, Layer
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.load.graph import sort_nodes
from nestmap.pipeline.frontend.onnx.load.shapes import TensorFacts
from nestmap.pipeline.frontend.onnx.resolve.precision import tensor_precisions
from tests.pipeline.frontend.onnx.written import written


def _bits(inputs: str, nodes: str, opset: int = 23) -> tuple[int, int, int, int]:
    """Of input, weights, finished output and partial sum of the only layer."""
    (layer,) = parse_onnx(written(inputs, nodes, opset=opset)).layers
    return _bits_of(layer)


def _bits_of(layer: Layer) -> tuple[int, int, int, int]:
    precision = {operand.name: operand.precision for operand in layer.operands}
    return precision["I"], precision["W"], precision["O"], layer.output.partial_precision


@pytest.mark.parametrize(("float_bits", "partial"), [(8, 16), (16, 32), (32, 32), (4, 8)])
def test_floats_count_as_the_caller_says(float_bits: int, partial: int) -> None:
    text = "float[4,8] x, float16[8,16] w", "c = Cast<to = 1> (w)\n y = MatMul (x, c)"
    (layer,) = parse_onnx(written(*text, opset=23), float_bits=float_bits).layers
    assert _bits_of(layer) == (float_bits, float_bits, float_bits, partial)


def test_floats_have_some_bits() -> None:
    with pytest.raises(InputError, match="at least 1 bit"):
        parse_onnx(written("float[4,8] x", "y = Relu (x)", opset=23), float_bits=0)


@pytest.mark.parametrize(
    ("element", "bits", "partial"),
    [
        ("float", 8, 16),
        ("double", 8, 16),
        ("float16", 16, 32),
        ("bfloat16", 16, 32),
        ("int32", 32, 32),
        ("int64", 64, 64),
    ],
)
def test_types(element: str, bits: int, partial: int) -> None:
    found = _bits(f"{element}[4,8] x, {element}[8,16] w", "y = MatMul (x, w)")
    assert found == (bits, bits, bits, partial)


QUANTIZED = """
    xf = DequantizeLinear (x, s)
    wf = DequantizeLinear (w, s)
    {between}
    y = QuantizeLinear <output_dtype = {element}> (z, s)
"""


@pytest.mark.parametrize(
    ("inputs", "element", "expected"),
    [
        ("uint8[4,8] x, int8[8,16] w", 2, (8, 8, 8, 32)),
        ("int16[4,8] x, int4[8,16] w", 5, (16, 4, 16, 32)),
        ("int8[4,8] x, int8[8,16] w", 22, (8, 8, 4, 32)),
    ],
)
def test_quantized_on_all_sides(
    inputs: str, element: int, expected: tuple[int, int, int, int]
) -> None:
    nodes = QUANTIZED.format(between="z = MatMul (xf, wf)", element=element)
    assert _bits(f"{inputs}, float s", nodes) == expected


def test_through_movement_and_activations() -> None:
    between = """
        xt = Transpose (xf)
        n = Constant <value_ints = [8, 16]> ()
        wr = Reshape (wf, n)
        z0 = MatMul (xt, wr)
        z1 = Relu (z0)
        z2 = Clip (z1)
        z = Flatten (z2)
    """
    nodes = QUANTIZED.format(between=between, element=3)
    assert _bits("int8[8,4] x, int4[128] w, float s", nodes) == (8, 4, 8, 32)


def test_joined_tensors_are_as_wide_as_the_widest() -> None:
    nodes = """
        af = DequantizeLinear (a, s)
        bf = DequantizeLinear (b, s)
        x = Concat <axis = 0> (af, bf)
        y = MatMul (x, w)
    """
    assert _bits("int4[1,8] a, int16[3,8] b, float s, float[8,16] w", nodes)[0] == 16


def test_weights_alone() -> None:
    nodes = """
        wf = DequantizeLinear <block_size = 4> (w, s)
        y = MatMul (x, wf)
    """
    inputs = "float16[4,8] x, int4[8,16] w, float16[2,16] s"
    assert _bits(inputs, nodes) == (16, 4, 16, 32)
    assert _bits(inputs.replace("float16", "float"), nodes) == (8, 4, 8, 16)


@pytest.mark.parametrize("other", ["a = Sigmoid (z)", "a = Identity (z)"])
def test_an_output_that_something_else_reads_is_not_quantized(other: str) -> None:
    nodes = QUANTIZED.format(between=f"z = MatMul (xf, wf) {other}", element=22)
    assert _bits("int8[4,8] x, int8[8,16] w, float s", nodes) == (8, 8, 8, 32)


def test_an_output_of_the_graph_is_not_quantized() -> None:
    nodes = QUANTIZED.format(between="z = MatMul (xf, wf)", element=22)
    source = written("int8[4,8] x, int8[8,16] w, float s", nodes, outputs="y, z")
    (layer,) = parse_onnx(source).layers
    assert layer.output.precision == 8


def test_weights_quantized_in_the_network() -> None:
    nodes = """
        q = QuantizeLinear <output_dtype = 22> (w, s)
        wf = DequantizeLinear (q, s)
        y = MatMul (x, wf)
    """
    assert _bits("float[4,8] x, float[8,16] w, float s", nodes) == (8, 4, 8, 16)


def test_quantization_of_onnx_runtime() -> None:
    nodes = """
        xf = com.microsoft.DequantizeLinear (x, s, zx)
        wf = com.microsoft.DequantizeLinear (w, s, zw)
        z = MatMul (xf, wf)
        y = com.microsoft.QuantizeLinear (z, s, zy)
    """
    inputs = "uint16[4,8] x, int8[8,16] w, float s, uint16 zx, int8 zw, int8 zy"
    assert _bits(inputs, nodes) == (16, 8, 8, 32)


@given(st.permutations(["weight_size", "act_size", "output_size"]), st.integers(1, 3))
def test_attributes_override(names: list[str], count: int) -> None:
    stated = {x: 3 + i + 10 * (x == "output_size") for i, x in enumerate(names[:count])}
    text = ", ".join(f"{name} = {bits}" for name, bits in stated.items())
    nodes = QUANTIZED.format(between=f"z = MatMul <{text}> (xf, wf)", element=2)
    act = stated.get("act_size", 8)
    assert _bits("uint8[4,8] x, int8[8,16] w, float s", nodes) == (
        act,
        stated.get("weight_size", 8),
        act,
        stated.get("output_size", 32),
    )


def test_sums_have_the_bits_of_outputs_at_least() -> None:
    nodes = QUANTIZED.format(between="z = MatMul <output_size = 6> (xf, wf)", element=2)
    with pytest.raises(InputError, match="output_size 6; expected 8 to"):
        _bits("uint8[4,8] x, int8[8,16] w, float s", nodes)


@given(st.integers(1, 64))
def test_unstated_bits_can_be_chosen(unstated: int) -> None:
    graph = written("float[4] x, float16[4] h", "y = Relu (x) z = Relu (h)").graph
    facts = {"x": TensorFacts((4,), 1), "h": TensorFacts((4,), 10), "y": TensorFacts((4,), 1)}
    nodes = sort_nodes(graph.node, "net")
    found = tensor_precisions(nodes, facts, ["y"], unstated)
    assert found.bits == {"x": unstated, "y": unstated, "h": 16, "z": unstated}
    assert not found.quantized
