"""Einsum nodes: names of dimensions by hand, products and sizes against NumPy."""

from math import prod

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError, NoCostNode, VectorNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import layer_of, one
from tests.pipeline.frontend.onnx.counting import products_of_einsum

Shape = tuple[int, ...]


def einsum(equation: str, *shapes: Shape) -> onnx.ModelProto:
    inputs = {f"x{i}": shape for i, shape in enumerate(shapes)}
    return one("Einsum", inputs, {}, {"equation": equation})


EQUATIONS: dict[str, tuple[str, Shape, Shape, str]] = {
    "matrices": ("ij,jk->ik", (4, 8), (8, 16), "O[d][k] += I[d][c] * W[c][k]"),
    "implicit": ("ij,jk", (4, 8), (8, 16), "O[d][k] += I[d][c] * W[c][k]"),
    "transposed": ("ji,kj->ik", (8, 4), (16, 8), "O[d][k] += I[d][c] * W[c][k]"),
    "stack": ("bij,bjk->bik", (2, 4, 8), (2, 8, 16), "O[b][d][k] += I[b][d][c] * W[b][c][k]"),
    "dots": (
        "...ij,...jk->...ik",
        (2, 3, 4, 8),
        (3, 8, 16),
        "O[b][h][d][k] += I[b][h][d][c] * W[h][c][k]",
    ),
    "dots and size 1": (
        "...ij,...jk",
        (2, 1, 4, 8),
        (1, 3, 8, 16),
        "O[b][h][d][k] += I[b][d][c] * W[h][c][k]",
    ),
    "scores": (
        "bqhd,bkhd->bhqk",
        (2, 4, 3, 8),
        (2, 16, 3, 8),
        "O[b][h][d][k] += I[b][h][d][c] * W[b][h][c][k]",
    ),
    "heads from hidden": (
        "bsd,dhk->bshk",
        (2, 4, 8),
        (8, 3, 16),
        "O[b][h][d][k] += I[b][d][c] * W[h][c][k]",
    ),
    "hidden from heads": (
        "bshk,hkd->bsd",
        (2, 4, 3, 8),
        (3, 8, 16),
        "O[b][d][k] += I[b][d][c][c2] * W[c][c2][k]",
    ),
    "vector": ("ij,j->i", (4, 8), (8,), "O[d][k] += I[d][c] * W[c][k]"),
    "outer": ("i,j->ij", (4,), (16,), "O[d][k] += I[d][c] * W[c][k]"),
    "element by element": (
        "ij,ij->ij",
        (4, 8),
        (4, 8),
        "O[b][h][d][k] += I[b][h][d][c] * W[b][h][c][k]",
    ),
    "inner": ("i,i", (8,), (8,), "O[d][k] += I[d][c] * W[c][k]"),
    "summed alone": ("ij,k->k", (4, 8), (16,), "O[d][k] += I[d][c][c2] * W[k]"),
    "diagonal": ("iij,jk->ik", (4, 4, 8), (8, 16), "O[d][k] += I[d][c] * W[c][k]"),
    "capitals": ("aA,Ab->ab", (4, 8), (8, 16), "O[d][k] += I[d][c] * W[c][k]"),
    "scalar": (",ij->ij", (), (4, 8), "O[b][d][k] += I[d][c] * W[b][c][k]"),
}


@pytest.mark.parametrize(("equation", "left", "right", "nest"), EQUATIONS.values(), ids=EQUATIONS)
def test_two_tensors(equation: str, left: Shape, right: Shape, nest: str) -> None:
    layer = layer_of(einsum(equation, left, right))
    assert layer.equation == nest
    assert layer.macs == products_of_einsum(equation, (left, right))
    assert layer.operator == "Einsum"


def test_a_matrix_product_is_that_of_matmul() -> None:
    left, right = (2, 3, 4, 8), (2, 3, 8, 16)
    product = layer_of(one("MatMul", {"x0": left, "x1": right}, {}))
    found = layer_of(einsum("abij,abjk->abik", left, right))
    assert (found.loops, found.equation) == (product.loops, product.equation)


@st.composite
def contractions(draw: st.DrawFn) -> tuple[str, Shape, Shape]:
    """An equation of two tensors whose letters are anywhere, and their shapes."""
    letters = draw(st.lists(st.sampled_from("abcdEF"), min_size=1, max_size=5, unique=True))
    sizes = {letter: draw(st.integers(1, 4)) for letter in letters}
    own = [draw(st.lists(st.sampled_from(letters), unique=True)) for _ in range(2)]
    found = sorted({*own[0], *own[1]})
    kept = draw(st.lists(st.sampled_from(found), unique=True)) if found else []
    terms = ("".join(own[0]), "".join(own[1]))
    equation = f"{terms[0]},{terms[1]}"
    if draw(st.booleans()) or not found:
        equation += f"->{''.join(kept)}"
    left, right = (tuple(sizes[letter] for letter in term) for term in terms)
    return equation, left, right


@settings(deadline=None)
@given(contractions())
def test_products_and_tensors_are_numpys(case: tuple[str, Shape, Shape]) -> None:
    equation, left, right = case
    layer = layer_of(einsum(equation, left, right))
    result: Shape = np.einsum(equation, np.ones(left), np.ones(right)).shape
    assert layer.macs == products_of_einsum(equation, (left, right))
    assert layer.elements("I") == prod(left)
    assert layer.elements("W") == prod(right)
    assert layer.elements("O") == prod(result)


def test_one_tensor_is_summed_by_the_vector_unit() -> None:
    (node,) = parse_onnx(einsum("bij->b", (2, 3, 4))).nodes
    assert isinstance(node, VectorNode)
    assert (node.iterations, node.operations, node.name) == ((2, 3, 4), 1, "n")


@pytest.mark.parametrize(("equation", "shape"), [("ij->ji", (3, 4)), ("ii->i", (3, 3))])
def test_one_tensor_is_moved(equation: str, shape: Shape) -> None:
    (node,) = parse_onnx(einsum(equation, shape)).nodes
    assert isinstance(node, NoCostNode)
    assert node.known


def test_three_tensors_in_the_cheapest_order() -> None:
    workload = parse_onnx(einsum("ij,jk,kl->il", (2, 100), (100, 50), (50, 3)))
    first, second = workload.layers
    assert [first.name, second.name] == ["n/product0", "n"]
    assert (first.macs, second.macs) == (2 * 100 * 50, 2 * 50 * 3)
    assert [x.source for x in second.inputs] == ["n/product0", None]


def test_many_tensors() -> None:
    count = 30
    workload = parse_onnx(einsum(",".join(["i"] * count) + "->i", *[(5,)] * count))
    assert len(workload.layers) == count - 1
    assert workload.macs == 5 * (count - 1)


WRONG: dict[str, tuple[str, tuple[Shape, ...], str]] = {
    "no letters": ("i2,j->i", ((1, 2), (2,)), "letters and dots"),
    "two arrows": ("i->i->i", ((1,),), "letters and dots"),
    "twice dots": ("......,i->i", ((1,), (1,)), "letters and dots"),
    "too few inputs": ("i,j->ij", ((3,),), "2, as in the equation"),
    "wrong rank": ("ij,j->i", ((3,), (3,)), "one letter for each axis"),
    "sizes differ": ("ij,jk->ik", ((3, 4), (5, 6)), "equal sizes"),
    "no square": ("ii->i", ((3, 4),), "equal sizes"),
    "unknown output": ("i,j->k", ((3,), (4,)), "letters of the inputs"),
    "output twice": ("i,j->ii", ((3,), (4,)), "letters of the inputs"),
}


@pytest.mark.parametrize(("equation", "shapes", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_equations(equation: str, shapes: tuple[Shape, ...], expected: str) -> None:
    with pytest.raises(InputError, match=r"node 'n' \(Einsum\)") as caught:
        parse_onnx(einsum(equation, *shapes))
    assert expected in caught.value.expected
