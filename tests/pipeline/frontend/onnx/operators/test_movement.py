"""Operators that only move data: what the graph knows of the tensors that they connect."""

from dataclasses import dataclass
from typing import final

import pytest

from nestmap.model import NoCostNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.written import written


@final
@dataclass(frozen=True)
class Case:
    """A node that reads ``float16[2,3,4] x``, and the sizes of what it makes."""

    node: str
    sizes: tuple[tuple[int, ...], ...]
    stored: str = ""


MOVES = {
    "reshape": Case("y = Reshape (x, s)", ((2, 12),), "int64[2] s = {0, -1}"),
    "transpose": Case("y = Transpose <perm = [2,0,1]> (x)", ((4, 2, 3),)),
    "flatten": Case("y = Flatten <axis = 2> (x)", ((6, 4),)),
    "add an axis": Case("y = Unsqueeze (x, s)", ((2, 1, 3, 4),), "int64[1] s = {1}"),
    "nothing": Case("y = Identity (x)", ((2, 3, 4),)),
    "dropout": Case("y, mask = Dropout (x)", ((2, 3, 4), (2, 3, 4))),
    "parts": Case("y, z = Split <axis = 2> (x, s)", ((2, 3, 1), (2, 3, 3)), "int64[2] s = {1, 3}"),
    "twice": Case("y = Concat <axis = 1> (x, x)", ((2, 6, 4),)),
    "slice": Case(
        "y = Slice (x, a, b, c)",
        ((2, 3, 2),),
        "int64[1] a = {1}, int64[1] b = {3}, int64[1] c = {2}",
    ),
    "gather": Case("y = Gather <axis = 1> (x, s)", ((2, 5, 4),), "int64[5] s = {0, 1, 0, 2, 2}"),
    "gather one": Case("y = Gather <axis = 1> (x, s)", ((2, 4),), "int64 s = {1}"),
    "pad": Case("y = Pad (x, s)", ((2, 4, 7),), "int64[6] s = {0, 1, 2, 0, 0, 1}"),
    "expand": Case("y = Expand (x, s)", ((5, 2, 3, 4),), "int64[4] s = {5, 1, 1, 1}"),
    "tile": Case("y = Tile (x, s)", ((2, 9, 4),), "int64[3] s = {1, 3, 1}"),
    "triangle": Case("y = Trilu (x)", ((2, 3, 4),)),
    "shape": Case("y = Shape (x)", ((3,),)),
    "no elements": Case(
        "y = Slice (x, a, b, c)",
        ((2, 3, 0),),
        "int64[1] a = {2}, int64[1] b = {2}, int64[1] c = {2}",
    ),
}


@pytest.mark.parametrize("case", MOVES.values(), ids=MOVES)
def test_sizes(case: Case) -> None:
    (node,) = parse_onnx(written("float16[2,3,4] x", case.node, stored=case.stored)).nodes
    assert isinstance(node, NoCostNode)
    assert node.known
    assert tuple(tensor.sizes for tensor in node.outputs) == case.sizes
    assert (node.inputs[0].sizes, node.inputs[0].bits) == ((2, 3, 4), 24 * 16)


def test_precision_stays_and_a_shape_has_its_own() -> None:
    workload = parse_onnx(
        written("float16[2,3] x", "a = Transpose (x) b = Identity (a) y = Shape (b)")
    )
    assert [node.outputs[0].precision for node in workload.nodes] == [16, 16, 64]


def test_the_same_bits_as_another_type() -> None:
    (node,) = parse_onnx(written("float16[2,3] x", "y = BitCast <to = 4> (x)", opset=26)).nodes
    assert isinstance(node, NoCostNode)
    assert node.inputs[0].bits == node.outputs[0].bits == 6 * 16


def test_a_split_and_a_concat_connect_all_layers() -> None:
    network = parse_onnx(
        written(
            "float[4,8] x, float[8,8] w, float[4,4] v",
            "a = MatMul (x, w) p, q = Split <axis = 1, num_outputs = 2> (a)"
            "b = MatMul (p, v) c = MatMul (q, v) d = Concat <axis = 1> (b, c) y = MatMul (d, w)",
        )
    )
    a, b, c, y = (layer.name for layer in network.layers)
    assert network.readers == {a: (b, c), b: (y,), c: (y,), y: ()}


def test_a_sequence_connects_what_goes_in_with_what_comes_out() -> None:
    network = parse_onnx(
        written(
            "float[4,4] x",
            "a = MatMul (x, x) s = SequenceConstruct (a, x) i = Constant <value = int64 {0}> ()"
            "b = SequenceAt (s, i) y = MatMul (b, x)",
            outputs="float[4,4] y",
        )
    )
    first, last = (layer.name for layer in network.layers)
    assert network.readers[first] == (last,)
    assert network.unknown_operators == {}
