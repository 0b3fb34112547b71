"""Nests of vector operators as one reads them: their loops, and where these index the tensors."""

from dataclasses import dataclass
from typing import final

import pytest

from nestmap.model.workload.access import AxisIndex, VectorNest
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import written

IMAGE = "float[2,3,8,6] x"
ROWS = "float[2,5,6] x"


@final
@dataclass(frozen=True)
class Case:
    """A node; its loops; where they index the output and the inputs (``-``: a whole axis)."""

    inputs: str
    node: str
    loops: str
    indices: tuple[str, ...]
    stored: str = ""
    outputs: str = "y"


CASES = {
    "number": Case("float x", "y = Relu (x)", "", ("", "")),
    "vector": Case("float[5] x", "y = Relu (x)", "K5", ("k", "k")),
    "matrix": Case("float[4,5] x", "y = Relu (x)", "D4 K5", ("d k", "d k")),
    "rows": Case(ROWS, "y = Relu (x)", "B2 D5 K6", ("b d k", "b d k")),
    "image": Case(IMAGE, "y = Relu (x)", "B2 K3 OX6 OY8", ("b k oy ox", "b k oy ox")),
    "volume": Case(
        "float[1,2,3,4,5] x", "y = Relu (x)", "B1 K2 OX5 OY4 OZ3", ("b k oz oy ox", "b k oz oy ox")
    ),
    "six axes": Case(
        "float[1,2,3,4,5,6] x",
        "y = Relu (x)",
        "B1 H2 B33 B44 D5 K6",
        ("b h b3 b4 d k", "b h b3 b4 d k"),
    ),
    "sum": Case(
        f"{IMAGE}, float[2,3,8,6] z",
        "y = Add (x, z)",
        "B2 K3 OX6 OY8",
        ("b k oy ox", "b k oy ox", "b k oy ox"),
    ),
    "broadcast": Case(
        f"{IMAGE}, float[3,1,1] z, float u",
        "y = Sum (x, z, u)",
        "B2 K3 OX6 OY8",
        ("b k oy ox", "b k oy ox", "k - -", ""),
    ),
    "both broadcast": Case(
        "float[4,1] x, float[1,5] z", "y = Mul (x, z)", "D4 K5", ("d k", "d -", "- k")
    ),
    "the same twice": Case("float[4,5] x", "y = Mul (x, x)", "D4 K5", ("d k", "d k")),
    "read in two ways": Case(
        "float[4,4] x", "y = LayerNormalization (x, x)", "D4 K4", ("d k", "d -")
    ),
    "one left out": Case("float[5] x, float z", "y = Clip (x, , z)", "K5", ("k", "k", "")),
    "a type only": Case("float[5] x, int8[7] z", "y = CastLike (x, z)", "K5", ("k", "k")),
    "scales": Case(
        "float[4,5] x, float[5] s, int8[5] z",
        "y = QuantizeLinear (x, s, z)",
        "D4 K5",
        ("d k", "d k", "k", "k"),
    ),
    "pooling": Case(
        IMAGE,
        "y = MaxPool <kernel_shape = [2,3], strides = [2,1], dilations = [1,2]> (x)",
        "B2 K3 OX2 OY4 FX3 FY2",
        ("b k oy ox", "b k 2*oy+fy ox+2*fx"),
    ),
    "padded": Case(
        IMAGE,
        "y = AveragePool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]> (x)",
        "B2 K3 OX3 OY4 FX3 FY3",
        ("b k oy ox", "b k 2*oy+fy(1,0) 2*ox+fx(1,0)"),
    ),
    "along one axis": Case(
        "float[2,3,9] x",
        "y = LpPool <kernel_shape = [3]> (x)",
        "B2 K3 OX7 FX3",
        ("b k ox", "b k ox+fx"),
    ),
    "global": Case(
        IMAGE,
        "y = GlobalAveragePool (x)",
        "B2 K3 OX1 OY1 FX6 FY8",
        ("b k oy ox", "b k oy+fy ox+fx"),
    ),
    "channels last": Case(
        "int8[2,8,6,3] x",
        "y = com.microsoft.NhwcMaxPool <kernel_shape = [2,2]> (x)",
        "B2 K3 OX5 OY7 FX2 FY2",
        ("b oy ox k", "b oy+fy ox+fx k"),
        outputs="int8[2,7,5,3] y",
    ),
    "around channels": Case(
        IMAGE, "y = LRN <size = 2> (x)", "B2 K3 OX6 OY8 FK2", ("b k oy ox", "b k+fk(0,1) oy ox")
    ),
    "twice as large": Case(
        IMAGE,
        "y = Resize (x, , s)",
        "B2 K3 OX6 OY8 PY2",
        ("b k 2*oy+py ox", "b k oy ox", "whole"),
        "float[4] s = {1, 1, 2, 1}",
    ),
    "half as large": Case(
        IMAGE,
        'y = Resize <mode = "linear"> (x, , s)',
        "B2 K3 OX3 OY4 FX2 FY2",
        ("b k oy ox", "b k 2*oy+fy 2*ox+fx", "whole"),
        "float[4] s = {1, 1, 0.5, 0.5}",
    ),
    "other factors": Case(
        IMAGE,
        "y = Resize (x, , , s)",
        "B2 K3 OX6 OY9",
        ("b k oy ox", "b k - ox", "whole"),
        "int64[4] s = {2, 3, 9, 6}",
    ),
    "softmax": Case(ROWS, "y = Softmax (x)", "B2 D5 K6", ("b d k", "b d -")),
    "of heads": Case(IMAGE, "y = Softmax (x)", "B2 H3 D8 K6", ("b h d k", "b h d -")),
    "of classes": Case(
        IMAGE, "y = Softmax <axis = 1> (x)", "B2 K3 OX6 OY8", ("b k oy ox", "b - oy ox")
    ),
    "layer": Case(
        f"{ROWS}, float[6] s, float[6] b",
        "y = LayerNormalization (x, s, b)",
        "B2 D5 K6",
        ("b d k", "b d -", "k", "k"),
    ),
    "with a skip connection": Case(
        f"{ROWS}, float[5,6] z, float[6] g, float[6] h, float[6] b",
        "y = com.microsoft.SkipLayerNormalization (x, z, g, h, b)",
        "B2 D5 K6",
        ("b d k", "b d -", "d -", "k", "k", "whole"),
        outputs="float[2,5,6] y",
    ),
    "batch": Case(
        f"{IMAGE}, float[3] s, float[3] b, float[3] m, float[3] v",
        "y = BatchNormalization (x, s, b, m, v)",
        "B2 K3 OX6 OY8",
        ("b k oy ox", "b k oy ox", "k", "k", "k", "k"),
    ),
    "instance": Case(
        f"{IMAGE}, float[3] s, float[3] b",
        "y = InstanceNormalization (x, s, b)",
        "B2 K3 OX6 OY8",
        ("b k oy ox", "b k - -", "k", "k"),
    ),
    "sums of rows": Case(
        ROWS, "y = ReduceSum (x, a)", "B2 D5 K1", ("b d k", "b d -", "whole"), "int64[1] a = {2}"
    ),
    "sums without the axis": Case(
        ROWS,
        "y = ReduceSum <keepdims = 0> (x, a)",
        "D2 K6",
        ("d k", "d - k", "whole"),
        "int64[1] a = {1}",
    ),
    "where the largest is": Case(
        ROWS, "y = ArgMax <axis = 1, keepdims = 0> (x)", "D2 K6", ("d k", "d - k")
    ),
    "the largest": Case(
        "float[4,8] x, int64[1] k",
        "y, i = TopK (x, k)",
        "D4 K3",
        ("d k", "d -", "whole"),
        outputs="float[4,3] y, int64[4,3] i",
    ),
    "running sum": Case(
        ROWS, "y = CumSum (x, a)", "B2 D5 K6", ("b d k", "b - k", "whole"), "int64 a = {1}"
    ),
    "one behind the other": Case(
        "float s, int8 z, int8[2,4] p, int8[2,3] q",
        "y = com.microsoft.QLinearConcat <axis = 1> (s, z, p, s, z, q, s, z)",
        "D2 K7",
        ("d k", "whole", "whole", "d k(0,3)", "d k(4,0)"),
        outputs="int8[2,7] y",
    ),
    "at points": Case(
        f"{IMAGE}, float[2,5,4,2] g",
        "y = GridSample (x, g)",
        "B2 K3 OX4 OY5",
        ("b k oy ox", "b k - -", "b oy ox -"),
    ),
    "turned": Case(
        "float[2,3,5,8] x, float[9,4] c, float[9,4] s, int64[2,5] p",
        "y = RotaryEmbedding (x, c, s, p)",
        "B2 H3 D5 K8",
        ("b h d k", "b h d -", "whole", "whole", "b d"),
    ),
    "sums of a matrix": Case(
        "float[4,5] x", 'y = Einsum <equation = "ij->j"> (x)', "K5", ("k", "- k")
    ),
    "attention": Case(
        "float[2,3,5,8] q, float[2,3,7,8] k, float[2,3,7,8] v, float[2,1,5,7] m",
        "y = Attention (q, k, v, m)",
        "B2 H3 D5 K7",
        ("b h d k", "b h d -", "b - d -"),
        outputs="float[2,3,5,8] y",
    ),
    "deformed": Case(
        f"{IMAGE}, float[4,3,3,3] w, float[2,18,6,4] o",
        "y = DeformConv (x, w, o)",
        "B2 K3 FY3 FX3 OX4 OY6",
        ("b k fy fx oy ox", "b k - -", "b - oy ox"),
        outputs="float[2,4,6,4] y",
    ),
}


def _text(axis: AxisIndex) -> str:
    if axis is None:
        return "-"
    return str(axis) + ("" if axis.padding == (0, 0) else str(axis.padding).replace(" ", ""))


def _lines(nest: VectorNest) -> tuple[str, tuple[str, ...]]:
    loops = " ".join(f"{loop.dimension}{loop.size}" for loop in nest.loops)
    read = ["whole" if x is None else " ".join(map(_text, x.axes)) for x in nest.inputs]
    return loops, (" ".join(map(_text, nest.output)), *read)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_loops(case: Case) -> None:
    model = written(case.inputs, case.node, stored=case.stored, outputs=case.outputs)
    (node,) = parse_onnx(model).vector_nodes
    assert node.nest is not None
    assert _lines(node.nest) == (case.loops, case.indices)
