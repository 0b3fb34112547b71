"""Vector operators: iterations and operations worked out by hand."""

from dataclasses import dataclass
from math import prod
from typing import final

import pytest

from nestmap.model import InputError, NoCostNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import vector_of, written


@final
@dataclass(frozen=True)
class Case:
    """A node, its loops and its operations in each of them."""

    inputs: str
    node: str
    iterations: tuple[int, ...]
    operations: int
    stored: str = ""
    outputs: str = "y"
    opset: int = 23


IMAGE = "float[2,3,8,6] x"
ELEMENTWISE = {
    "relu": Case("float[2,3] x", "y = Relu (x)", (2, 3), 1),
    "scalar": Case("float x", "y = Relu (x)", (), 1),
    "broadcast": Case("float[4,1] x, float[3] z", "y = Add (x, z)", (4, 3), 1),
    "the same twice": Case("float[5] x", "y = Mul (x, x)", (5,), 1),
    "sum of one": Case("float[5] x", "y = Sum (x)", (5,), 1),
    "sum of three": Case("float[5] x, float[5] z, float u", "y = Sum (x, z, u)", (5,), 2),
    "mean of three": Case("float[5] x, float[5] z, float u", "y = Mean (x, z, u)", (5,), 3),
    "largest of two": Case("float[5] x, float[2,1] z", "y = Max (x, z)", (2, 5), 1),
    "clip": Case("float[5] x, float z", "y = Clip (x, , z)", (5,), 2),
    "gelu": Case("float[5] x", "y = Gelu (x)", (5,), 5),
    "gelu by tanh": Case("float[5] x", 'y = Gelu <approximate = "tanh"> (x)', (5,), 8),
    "where": Case("bool[5] c, float[2,1] x, float z", "y = Where (c, x, z)", (2, 5), 1),
    "quantize": Case("float[4,5] x, float s", "y = QuantizeLinear (x, s)", (4, 5), 3),
    "quantize around": Case(
        "float[4,5] x, float s, int8 z", "y = QuantizeLinear (x, s, z)", (4, 5), 4
    ),
    "dequantize": Case("int8[4,5] x, float s", "y = DequantizeLinear (x, s)", (4, 5), 1),
    "dequantize around": Case(
        "int8[4,5] x, float s, int8 z", "y = DequantizeLinear (x, s, z)", (4, 5), 2
    ),
    "rotated": Case(
        "float[2,3,5,8] x, float[9,4] c, float[9,4] s, int64[2,5] p",
        "y = RotaryEmbedding (x, c, s, p)",
        (2, 3, 5, 8),
        3,
    ),
    "rotated in part": Case(
        "float[2,5,24] x, float[9,2] c, float[9,2] s, int64[2,5] p",
        "y = RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 4> (x, c, s, p)",
        (2, 5, 3, 4),
        3,
    ),
    "fast gelu": Case(
        "float[4,5] x, float[5] b",
        "y = com.microsoft.FastGelu (x, b)",
        (4, 5),
        9,
        outputs="float[4,5] y",
    ),
}
WINDOWS = {
    "largest": Case(IMAGE, "y = MaxPool <kernel_shape = [2,3]> (x)", (2, 3, 7, 4, 2, 3), 1),
    "average": Case(
        IMAGE,
        "y = AveragePool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]> (x)",
        (2, 3, 4, 3, 3, 3),
        1,
    ),
    "along one axis": Case(
        "float[2,3,9] x", "y = LpPool <kernel_shape = [3]> (x)", (2, 3, 7, 3), 2
    ),
    "dilated": Case(
        "float[1,1,9] x", "y = MaxPool <kernel_shape = [3], dilations = [3]> (x)", (1, 1, 3, 3), 1
    ),
    "global": Case(IMAGE, "y = GlobalAveragePool (x)", (2, 3, 8, 6), 1),
    "regions": Case(
        f"{IMAGE}, float[5,4] r, int64[5] b",
        "y = RoiAlign <output_height = 2, output_width = 4, sampling_ratio = 3> (x, r, b)",
        (5, 3, 2, 4, 3, 3, 2, 2),
        2,
    ),
    "columns": Case(
        "float[1,8,6] x",
        "y = Col2Im (x, i, b)",
        (1, 8, 6),
        1,
        "int64[2] i = {4, 3}, int64[2] b = {2, 2}",
        outputs="float[1,2,4,3] y",
    ),
}
SCALES = "float[4] s = {1, 1, 2, 0.5}"
RESAMPLED = {
    "nearest": Case(IMAGE, "y = Resize (x, , s)", (2, 3, 16, 3), 1, SCALES),
    "linear": Case(IMAGE, 'y = Resize <mode = "linear"> (x, , s)', (2, 3, 16, 3, 2, 2), 2, SCALES),
    "cubic": Case(IMAGE, 'y = Resize <mode = "cubic"> (x, , s)', (2, 3, 16, 3, 4, 4), 2, SCALES),
    "filtered": Case(
        IMAGE,
        'y = Resize <mode = "linear", antialias = 1> (x, , s)',
        (2, 3, 16, 3, 2, 4),
        2,
        SCALES,
    ),
    "along one axis": Case(
        IMAGE,
        'y = Resize <mode = "linear"> (x, , , s)',
        (2, 3, 8, 12, 2),
        2,
        "int64[4] s = {2, 3, 8, 12}",
    ),
    "an empty region": Case(
        IMAGE, "y = Resize (x, r, s)", (2, 3, 16, 3), 1, f"float[0] r = {{}}, {SCALES}"
    ),
    "old": Case(IMAGE, "y = Upsample (x, s)", (2, 3, 16, 3), 1, SCALES, opset=9),
    "at points": Case(f"{IMAGE}, float[2,5,4,2] g", "y = GridSample (x, g)", (2, 3, 5, 4, 2, 2), 2),
    "where points are": Case(
        "float[2,2,3] x", "y = AffineGrid (x, s)", (2, 5, 4, 2), 4, "int64[4] s = {2, 3, 5, 4}"
    ),
}
NORMALIZED = {
    "softmax": Case("float[4,5] x", "y = Softmax (x)", (4, 5), 5),
    "layer": Case("float[4,5] x, float[5] s", "y = LayerNormalization (x, s)", (4, 5), 6),
    "layer with bias": Case(
        "float[4,5] x, float[5] s, float[5] b", "y = LayerNormalization (x, s, b)", (4, 5), 7
    ),
    "batch": Case(
        f"{IMAGE}, float[3] s, float[3] b, float[3] m, float[3] v",
        "y = BatchNormalization (x, s, b, m, v)",
        (2, 3, 8, 6),
        2,
    ),
    "local": Case(IMAGE, "y = LRN <size = 5> (x)", (2, 3, 8, 6), 14),
    "likelihood": Case(
        "float[4,9,5] x, int64[4,5] t", "y = NegativeLogLikelihoodLoss (x, t)", (4, 5), 2
    ),
    "with a skip connection": Case(
        "float[4,5] x, float[4,5] z, float[5] s",
        "y = com.microsoft.SkipSimplifiedLayerNormalization (x, z, s)",
        (4, 5),
        5,
        outputs="float[4,5] y",
    ),
}
REDUCED = {
    "sum": Case("float[4,5] x", "y = ReduceSum (x)", (4, 5), 1),
    "norm": Case("float[4,5] x", "y = ReduceL2 (x, a)", (4, 5), 2, "int64[1] a = {1}"),
    "where the largest is": Case("float[4,5] x", "y = ArgMax <axis = 1> (x)", (4, 5), 1),
    "the three largest": Case("float[4,8] x", "y, i = TopK (x, k)", (4, 8), 2, "int64[1] k = {3}"),
    "the four largest": Case(
        "float[8,4] x", "y, i = TopK <axis = -2> (x, k)", (8, 4), 3, "int64[1] k = {4}"
    ),
    "running sum": Case("float[4,5] x", "y = CumSum (x, a)", (4, 5), 1, "int64 a = {1}"),
    "determinant": Case("float[7,3,3] x", "y = Det (x)", (7,), 16),
    "spectrum": Case(
        "float[2,16,1] x", "y = DFT <axis = 1, onesided = 1> (x)", (2, 16), 20, opset=17
    ),
    "spectrum along another": Case(
        "float[2,16,9,1] x", "y = DFT (x, , a)", (2, 16, 9), 20, "int64 a = {1}"
    ),
    "spectrum of frames": Case(
        "float[2,40,1] x",
        "y = STFT (x, p, w)",
        (2, 4, 16),
        21,
        "int64 p = {8}, float[16] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}",
        outputs="float[2,4,9,2] y",
    ),
}
CASES = {
    f"{kind}: {name}": case
    for kind, cases in (
        ("elementwise", ELEMENTWISE),
        ("windows", WINDOWS),
        ("resampled", RESAMPLED),
        ("normalized", NORMALIZED),
        ("reduced", REDUCED),
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_work(case: Case) -> None:
    node = vector_of(
        written(case.inputs, case.node, stored=case.stored, outputs=case.outputs, opset=case.opset)
    )
    assert (node.iterations, node.operations) == (case.iterations, case.operations)
    assert node.total_operations == prod(case.iterations) * case.operations


def test_traffic_is_that_of_the_tensors() -> None:
    node = vector_of(written("float16[4,1] x, float16[3] z", "y = Add (x, z)"))
    assert [tensor.name for tensor in node.inputs] == ["x", "z"]
    assert (node.bits_read, node.bits_written) == ((4 + 3) * 16, 12 * 16)
    scalar = vector_of(written("int8[5] x, int8 z", "y = Add (x, z)"))
    assert (scalar.bits_read, scalar.bits_written) == (6 * 8, 5 * 8)
    same = vector_of(written("int8[5] x", "y = Mul (x, x)"))
    assert same.bits_read == 5 * 8


def test_a_cast_reads_one_width_and_writes_another() -> None:
    cast = vector_of(written("int32[5] x", "y = Cast <to = 3> (x)"))
    assert (cast.bits_read, cast.bits_written) == (5 * 32, 5 * 8)
    like = vector_of(written("int32[5] x, int8[7] z", "y = CastLike (x, z)"))
    assert (like.bits_read, like.bits_written) == (5 * 32, 5 * 8)


def test_all_outputs_are_written() -> None:
    pool = vector_of(written("float16[1,1,4] x", "y, i = MaxPool <kernel_shape = [2]> (x)"))
    assert pool.bits_written == 3 * 16 + 3 * 64


@pytest.mark.parametrize(
    ("inputs", "node", "stored"),
    [
        ("float[N,4] x", "y = Relu (x)", ""),
        ("float[] x", "y = Relu (x)", ""),
        ("float[0,4] x", "y = Relu (x)", ""),
        ("float[0,4] x", "y = ReduceSum (x)", ""),
        ("float[3,4] x", "y = NonZero (x)", ""),
        ("float[1] x", "y = Add (w, w)", "float[4] w = {1,2,3,4}"),
        ("float[4] x", "y = com.microsoft.Unique (x)", ""),
    ],
    ids=[
        "symbolic",
        "no shape",
        "no elements",
        "none to sum up",
        "by data",
        "constants",
        "no inference",
    ],
)
def test_what_cannot_be_counted_or_need_not_be_done_costs_nothing(
    inputs: str, node: str, stored: str
) -> None:
    (made,) = parse_onnx(written(inputs, node, stored=stored)).nodes
    assert isinstance(made, NoCostNode)
    assert made.known


@pytest.mark.parametrize(
    ("inputs", "node", "outputs", "message"),
    [
        (
            "float[1,1,4] x",
            "y = MaxPool <kernel_shape = [2, 2]> (x)",
            "float[1,1,3] y",
            r"MaxPool.*kernel_shape \[2, 2\].*1 number",
        ),
        (
            "float[1,1,4] x",
            "y = MaxPool <kernel_shape = [-1]> (x)",
            "float[1] y",
            "kernel_shape -1",
        ),
        ("float[4,5] x, int64[1] k", "y, i = TopK <axis = 2> (x, k)", "float[4,2] y", "axis 2"),
        ("float[4,5] x, int64[1] k", "y, i = TopK <axis = -3> (x, k)", "float[4,2] y", "axis -3"),
        (
            "float[4,5] x, int64[1] k",
            "y, i = TopK (x, k)",
            "float[4] y",
            r"stated shape \[4\].*\[\?, \?\]",
        ),
        ("float x, int64[1] k", "y, i = TopK (x, k)", "float y", "axis -1 of 0 axes"),
        (
            "float[4,5] x, float[2] s",
            'y = Resize <mode = "linear"> (x, , s)',
            "float[4] y",
            "stated",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(inputs: str, node: str, outputs: str, message: str) -> None:
    outputs = f"{outputs}, int64[1] i" if "TopK" in node else outputs
    with pytest.raises(InputError, match=message):
        parse_onnx(written(inputs, node, outputs=outputs))


def test_layers_read_through_vector_operators() -> None:
    nodes = "a = MatMul (x, w) r = Relu (a) s = Add (r, a) y = MatMul (s, w)"
    network = parse_onnx(written("float[4,4] x, float[4,4] w", nodes))
    first, last = network.layers
    assert network.readers == {first.name: (last.name,), last.name: ()}
    assert [node.operator for node in network.vector_nodes] == ["Relu", "Add"]
