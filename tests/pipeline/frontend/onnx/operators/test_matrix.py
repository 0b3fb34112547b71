"""Gemm and MatMul nodes: sizes by hand, and stacks of matrices against NumPy's broadcasting."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap import explore, network
from nestmap.model import InputError
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import Attribute, layer_of, model, node, one, weights

TRANSPOSITIONS: dict[str, tuple[tuple[int, int], tuple[int, int], dict[str, Attribute]]] = {
    "none": ((4, 8), (8, 16), {}),
    "zeros": ((4, 8), (8, 16), {"transA": 0, "transB": 0}),
    "first": ((8, 4), (8, 16), {"transA": 1}),
    "second": ((4, 8), (16, 8), {"transB": 1}),
    "both": ((8, 4), (16, 8), {"transA": 1, "transB": 1, "alpha": 0.5}),
}


@pytest.mark.parametrize(("left", "right", "attributes"), TRANSPOSITIONS.values())
def test_gemm(
    left: tuple[int, int], right: tuple[int, int], attributes: dict[str, Attribute]
) -> None:
    layer = layer_of(one("Gemm", {"a": left}, {"b": right, "bias": (16,)}, attributes))
    assert list(layer.sizes.items()) == [("C", 8), ("D", 4), ("K", 16)]
    assert layer.equation == "O[d][k] += I[d][c] * W[c][k]"
    assert (layer.macs, layer.elements("O")) == (512, 64)
    assert (layer.elements("I"), layer.elements("W")) == (32, 128)
    assert layer.operator == "Gemm"


PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], str]] = {
    "matrices": ((4, 8), (8, 16), "O[d][k] += I[d][c] * W[c][k]"),
    "two stacks": ((2, 4, 8), (2, 8, 16), "O[b][d][k] += I[b][d][c] * W[b][c][k]"),
    "one matrix for all": ((2, 4, 8), (8, 16), "O[b][d][k] += I[b][d][c] * W[c][k]"),
    "a stack of one": ((2, 4, 8), (1, 8, 16), "O[b][d][k] += I[b][d][c] * W[c][k]"),
    "one input for all": ((4, 8), (2, 8, 16), "O[b][d][k] += I[d][c] * W[b][c][k]"),
    "heads": ((2, 3, 4, 8), (2, 3, 8, 16), "O[b][h][d][k] += I[b][h][d][c] * W[b][h][c][k]"),
    "heads share": ((2, 3, 4, 8), (3, 8, 16), "O[b][h][d][k] += I[b][h][d][c] * W[h][c][k]"),
    "crossed": ((2, 1, 4, 8), (1, 3, 8, 16), "O[b][h][d][k] += I[b][d][c] * W[h][c][k]"),
    "five": ((2, 3, 5, 4, 8), (5, 8, 16), "O[b][h][b3][d][k] += I[b][h][b3][d][c] * W[b3][c][k]"),
    "row": ((8,), (8, 16), "O[d][k] += I[d][c] * W[c][k]"),
    "column": ((4, 8), (8,), "O[d][k] += I[d][c] * W[c][k]"),
    "row of a stack": ((8,), (3, 8, 16), "O[b][d][k] += I[d][c] * W[b][c][k]"),
}


@pytest.mark.parametrize(("left", "right", "equation"), PRODUCTS.values(), ids=PRODUCTS)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], equation: str) -> None:
    layer = layer_of(one("MatMul", {"a": left, "b": right}, {}))
    assert layer.equation == equation
    assert layer.operator == "MatMul"


def test_matmul_loops() -> None:
    layer = layer_of(one("MatMul", {"a": (2, 3, 4, 8)}, {"b": (8, 16)}))
    assert list(layer.sizes.items()) == [("C", 8), ("D", 4), ("K", 16), ("B", 2), ("H", 3)]
    assert layer.macs == 2 * 3 * 4 * 8 * 16


SIZE = st.integers(1, 5)


@st.composite
def factors(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that NumPy's matmul accepts."""
    inner = draw(SIZE)
    batch = draw(st.lists(SIZE, max_size=4))

    def stack() -> tuple[int, ...]:
        own = [draw(st.sampled_from([1, size])) for size in batch]
        return tuple(own[draw(st.integers(0, len(own))) :])

    left = st.sampled_from([(inner,), (*stack(), draw(SIZE), inner)])
    right = st.sampled_from([(inner,), (*stack(), inner, draw(SIZE))])
    return draw(left), draw(right)


@settings(deadline=None)
@given(factors())
def test_matmul_is_numpys(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    left, right = shapes
    whole = np.matmul(np.ones(left), np.ones(right)).shape
    layer = layer_of(one("MatMul", {"a": left, "b": right}, {}))
    assert layer.macs == prod(whole) * left[-1]
    assert layer.elements("O") == prod(whole)
    assert layer.elements("I") == prod(left)
    assert layer.elements("W") == prod(right)


def test_both_inputs_may_come_from_nodes() -> None:
    network = parse_onnx(
        model(
            [
                node("Relu", "x", "q", name="query"),
                node("Sigmoid", "z", "k", name="key"),
                node("MatMul", "q k", "y", name="scores"),
            ],
            {"x": (2, 4, 8), "z": (2, 8, 4)},
        )
    )
    (layer,) = network.layers
    assert [(x.name, x.source, x.constant) for x in layer.inputs] == [
        ("I", "query", False),
        ("W", "key", False),
    ]


def test_more_products_than_can_be_counted() -> None:
    with pytest.raises(InputError, match=r"node 'n' \(MatMul\)") as caught:
        parse_onnx(one("MatMul", {"a": (2**20, 2**20), "b": (2**20, 2**20)}, {}))
    assert "2**53" in caught.value.expected


STACKS = [((), ()), ((3,), ()), ((), (3,)), ((2, 3), (3,))]


@pytest.mark.parametrize(("of_weights", "of_inputs"), STACKS)
def test_a_constant_on_the_left_is_the_weight(
    of_weights: tuple[int, ...], of_inputs: tuple[int, ...]
) -> None:
    product = node("MatMul", "w x", "y", name="n")
    left = layer_of(model([product], {"x": (*of_inputs, 8, 5)}, [weights("w", *of_weights, 16, 8)]))
    mirrored = node("MatMul", "x w", "y", name="n")
    right = layer_of(
        model([mirrored], {"x": (*of_inputs, 5, 8)}, [weights("w", *of_weights, 8, 16)])
    )
    assert left.loops == right.loops
    for operand in left.operands:
        twin = right.operand(operand.name)
        assert (*twin.indices[:-2], *twin.indices[:-3:-1]) == operand.indices
        assert copy_with(operand, {"indices": twin.indices}) == twin
    assert [(x.name, x.constant) for x in left.inputs] == [("I", False), ("W", True)]
    assert explore(network("net", left), "tpu_like").total.layers[0].cme == (
        explore(network("net", right), "tpu_like").total.layers[0].cme
    )
