"""Relevance and tensor sizes follow from the indices, whatever the dimensions are called."""

from itertools import product

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from nestmap.model import AffineIndex, Layer, Relevance, Term, layer_from_equation
from nestmap.model.base import copy_with
from tests.costmodel.machines import loops
from tests.model.builders import convolution, fully_connected
from tests.strategies import layers
from tests.sweeps import some_of


def test_relevance() -> None:
    layer = convolution()
    assert layer.relevance("W", "K") == Relevance.RELEVANT
    assert layer.relevance("W", "OX") == Relevance.IRRELEVANT
    assert layer.relevance("I", "OX") == Relevance.PARTIALLY_RELEVANT
    assert layer.relevance("I", "FX") == Relevance.PARTIALLY_RELEVANT
    assert fully_connected(B=1).relevance("I", "B") == Relevance.NONE


@pytest.mark.parametrize(
    ("stride", "dilation", "outputs", "kernel"),
    [(1, 1, 7, 3), (2, 1, 7, 3), (3, 1, 5, 3), (1, 2, 7, 3), (2, 2, 7, 3), (2, 4, 5, 3)],
)
def test_elements_are_the_distinct_positions(
    stride: int, dilation: int, outputs: int, kernel: int
) -> None:
    layer = layer_from_equation(
        "O[ox]+=W[fx]*I[ix]",
        {"OX": outputs, "FX": kernel},
        name="x",
        relations=[f"ix={stride}*ox+{dilation}*fx"],
    )
    touched = {stride * a + dilation * b for a, b in product(range(outputs), range(kernel))}
    assert layer.elements("I") == len(touched)


def test_known_axis_length_and_padding_bound_the_elements() -> None:
    terms = (Term(dimension="OX"), Term(dimension="FX"))
    whole = (5, 3)
    assert AffineIndex(terms=terms).touched(whole, whole) == 7
    assert AffineIndex(terms=terms, padding=(1, 1)).touched(whole, whole) == 5
    assert AffineIndex(terms=terms, size=6, padding=(1, 1)).touched(whole, whole) == 6
    assert AffineIndex(terms=terms, size=6).touched((2, 2), whole) == 3


@settings(max_examples=some_of(50), deadline=None)
@given(layers())
def test_renamed_dimensions_have_the_same_sizes(layer: Layer) -> None:
    names = {dimension: f"R{i}" for i, dimension in enumerate(layer.sizes)}
    text = layer.model_dump_json()
    for dimension, name in names.items():
        text = text.replace(f'"{dimension}"', f'"{name}"')
    # Operands are called I, W and O, which no dimension of the strategies is.
    renamed = Layer.model_validate_json(text)
    assert renamed.macs == layer.macs
    for operand in layer.operands:
        assert renamed.elements(operand.name) == layer.elements(operand.name)
        for dimension, name in names.items():
            assert renamed.relevance(operand.name, name) == layer.relevance(operand.name, dimension)


@settings(max_examples=some_of(50), deadline=None)
@given(layers())
def test_size_one_is_relevant_to_nothing(layer: Layer) -> None:
    for operand in layer.operands:
        for dimension, size in layer.sizes.items():
            is_none = layer.relevance(operand.name, dimension) == Relevance.NONE
            assert is_none == (size == 1)


def padded_window() -> Layer:
    """OX 5, FX 3 and C 7 with a known axis, padded to OX 6 and C 8."""
    layer = layer_from_equation(
        "O[k][ox]+=W[k][c][fx]*I[c][ix]",
        {"K": 2, "C": 7, "OX": 5, "FX": 3},
        name="x",
        relations=["ix=2*ox+1*fx"],
        axes={"IX": (12, (1, 0))},
    )
    return layer.padded({"C": 8, "OX": 6})


def test_padding_enlarges_loops_and_tensors() -> None:
    layer = padded_window()
    assert list(layer.sizes.items()) == [("K", 2), ("C", 8), ("OX", 6), ("FX", 3)]
    assert layer.macs == 2 * 8 * 6 * 3
    assert [str(x) for x in layer.padding] == ["C 7 -> 8", "OX 5 -> 6"]
    assert layer.elements("O") == 2 * 6
    assert layer.inputs[1].indices[1].size == 12 + 2  # one more window, at stride 2
    assert layer.elements("I") == 8 * (2 * 6 + 3 - 2)


def test_padding_again_remembers_what_is_needed() -> None:
    layer = padded_window()
    assert layer.padded({"C": 8, "OX": 6}) == layer
    again = layer.padded({"C": 10})
    assert [str(x) for x in again.padding] == ["C 7 -> 10", "OX 5 -> 6"]


def test_a_padded_layer_has_other_content_than_one_of_that_size() -> None:
    padded = padded_window()
    other = copy_with(padded, {"unpadded": ()})
    assert other.anonymous.content_hash != padded.anonymous.content_hash


@pytest.mark.parametrize(
    ("unpadded", "expected"),
    [
        ("C 8", "padded from C 8; expected a smaller size"),
        ("Q 1", "padded from Q 1; expected a smaller size of one of its loops: K 2, C 8"),
        ("C 6 C 7", "unpadded loop C occurs twice"),
    ],
)
def test_padding_is_that_of_the_loops(unpadded: str, expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        copy_with(padded_window(), {"unpadded": loops(unpadded)})


def test_sums_have_no_fewer_bits_than_what_they_become() -> None:
    # else data that stays in a memory may take more there: searches proved what was no optimum
    with pytest.raises(ValidationError, match="at least the 16 bits of a finished element"):
        layer_from_equation(
            "O[k]+=W[k]*I[k]", {"K": 2}, name="x", precision={"O": 16}, partial_precision=8
        )
