"""Relevance and tensor sizes follow from the indices, whatever the dimensions are called."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings

from nestmap.model import AffineIndex, Layer, Relevance, Term, layer_from_equation
from tests.model.builders import convolution, fully_connected
from tests.strategies import layers


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


@settings(max_examples=50, deadline=None)
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


@settings(max_examples=50, deadline=None)
@given(layers())
def test_size_one_is_relevant_to_nothing(layer: Layer) -> None:
    for operand in layer.operands:
        for dimension, size in layer.sizes.items():
            is_none = layer.relevance(operand.name, dimension) == Relevance.NONE
            assert is_none == (size == 1)
