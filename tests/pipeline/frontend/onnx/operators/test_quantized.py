"""Integer and quantized operators: where their matrices stand, how many bits they compute with."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError, Layer
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import written


def _layer(inputs: str, nodes: str, outputs: str = "y") -> Layer:
    (layer,) = parse_onnx(written(inputs, nodes, outputs=outputs)).layers
    return layer


def _bits(layer: Layer) -> tuple[int, int, int, int]:
    """Of input, weights, finished output and partial sum."""
    precision = {operand.name: operand.precision for operand in layer.operands}
    return precision["I"], precision["W"], precision["O"], layer.output.partial_precision


SCALES = "float sx, uint8 zx, float sw, int8 zw, float sy, uint8 zy"


def test_qlinear_conv() -> None:
    layer = _layer(
        f"uint8[1,3,8,8] x, int8[4,3,3,3] w, {SCALES}",
        "y = QLinearConv <pads = [1, 1, 1, 1]> (x, sx, zx, w, sw, zw, sy, zy)",
    )
    assert layer.macs == 4 * 8 * 8 * 3 * 3 * 3
    assert layer.elements("W") == 4 * 3 * 3 * 3
    assert _bits(layer) == (8, 8, 8, 32)


def test_conv_integer() -> None:
    layer = _layer("uint8[1,3,8,8] x, int8[4,3,3,3] w", "y = ConvInteger (x, w)")
    assert layer.macs == 4 * 6 * 6 * 3 * 3 * 3
    assert _bits(layer) == (8, 8, 32, 32)


def test_qlinear_matmul() -> None:
    layer = _layer(
        f"uint8[2,4,8] x, int8[8,16] w, {SCALES}",
        "y = QLinearMatMul (x, sx, zx, w, sw, zw, sy, zy)",
    )
    assert layer.equation == "O[b][d][k] += I[b][d][c] * W[c][k]"
    assert _bits(layer) == (8, 8, 8, 32)


def test_matmul_integer() -> None:
    layer = _layer("uint8[4,8] x, int8[8,16] w", "y = MatMulInteger (x, w)")
    assert _bits(layer) == (8, 8, 32, 32)


@pytest.mark.parametrize(("stated", "bits"), [("", 4), ("bits = 8,", 8), ("bits = 2,", 2)])
def test_matmul_nbits(stated: str, bits: int) -> None:
    """Weights of few bits, activations in half precision, as language models are exported."""
    layer = _layer(
        "float16[1,5,64] x, uint8[128,2,16] w, float16[256] s",
        f"y = com.microsoft.MatMulNBits <{stated} block_size = 32, K = 64, N = 128> (x, w, s)",
    )
    assert layer.sizes == {"C": 64, "D": 5, "K": 128, "B": 1}
    assert _bits(layer) == (16, bits, 16, 32)


def test_dynamically_quantized_matmul() -> None:
    layer = _layer(
        "float[4,8] x, int8[8,16] w, float[1] s",
        "y = com.microsoft.DynamicQuantizeMatMul (x, w, s)",
    )
    assert (layer.macs, _bits(layer)[:2], _bits(layer)[3]) == (4 * 8 * 16, (8, 8), 32)


def test_matmul_integer_to_float() -> None:
    layer = _layer(
        "uint8[4,8] x, int8[8,16] w, float[1] sx, float[1] sw",
        "y = com.microsoft.MatMulIntegerToFloat (x, w, sx, sw)",
    )
    assert (layer.macs, _bits(layer)[3]) == (4 * 8 * 16, 32)


def test_qgemm() -> None:
    layer = _layer(
        f"uint8[4,8] x, int8[16,8] w, {SCALES}",
        "y = com.microsoft.QGemm <transB = 1> (x, sx, zx, w, sw, zw, , sy, zy)",
    )
    assert (layer.sizes, _bits(layer)) == ({"C": 8, "D": 4, "K": 16}, (8, 8, 8, 32))


def test_fused_conv_and_gemm() -> None:
    conv = _layer(
        "float[1,3,8,8] x, float[4,3,3,3] w",
        'y = com.microsoft.FusedConv <activation = "Relu"> (x, w)',
    )
    gemm = _layer(
        "float[4,8] x, float[16,8] w",
        'y = com.microsoft.FusedGemm <activation = "Relu", transB = 1> (x, w)',
    )
    assert (conv.macs, gemm.macs) == (4 * 6 * 6 * 3 * 3 * 3, 4 * 8 * 16)


@settings(deadline=None)
@given(
    st.tuples(*[st.integers(1, 4)] * 3),
    st.lists(st.integers(1, 3), min_size=1, max_size=2),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_fused_matmul(sizes: tuple[int, int, int], batch: list[int], flags: list[bool]) -> None:
    d, c, k = sizes
    left = _stored((d, c), batch, turned=flags[0], rows_first=flags[2])
    right = _stored((c, k), batch, turned=flags[1], rows_first=flags[3])
    names = ("transA", "transB", "transBatchA", "transBatchB")
    stated = ", ".join(f"{name} = {flag:d}" for name, flag in zip(names, flags, strict=True))
    layer = _layer(
        f"float{left} x, float{right} w", f"y = com.microsoft.FusedMatMul <{stated}> (x, w)"
    )
    assert layer.macs == prod(batch) * d * c * k
    assert layer.elements("O") == prod(batch) * d * k


def _stored(
    matrix: tuple[int, int], batch: list[int], *, turned: bool, rows_first: bool
) -> list[int]:
    """How a stack of matrices is stored: transposed, or with an axis of the matrix in front."""
    first, second = matrix[::-1] if turned else matrix
    return [first, *batch, second] if rows_first else [*batch, first, second]


def test_wrong() -> None:
    with pytest.raises(InputError, match="both attributes"):
        _layer(
            "float[1,5,64] x, uint8[128,2,16] w, float[256] s",
            "y = com.microsoft.MatMulNBits <bits = 4> (x, w, s)",
        )
    with pytest.raises(InputError, match="same inner dimension"):
        _layer(
            f"uint8[4,8] x, int8[7,16] w, {SCALES}",
            "y = QLinearMatMul (x, sx, zx, w, sw, zw, sy, zy)",
        )
