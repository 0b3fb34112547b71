"""Equations and relations are read as they stand, and faulty ones are named."""

import pytest

from nestmap.model import InputError, layer_from_equation, parse_equation, parse_relation

EQUATIONS = {
    "O[b][k]+=W[k][c]*I[b][c]": "O[b][k] += W[k][c] * I[b][c]",
    " O [b] [k] += W[k] [c] * I[b][c] ": "O[b][k] += W[k][c] * I[b][c]",
    "O[b][k][c]=W[b][k]*I[b][c]": "O[b][k][c] += W[b][k] * I[b][c]",
    "O[b][k][c]=W[b][k][c]+I[b][k][c]": "O[b][k][c] += W[b][k][c] * I[b][k][c]",
    "O[b][k]+=I[b][k][c]": "O[b][k] += I[b][k][c]",
}
CONTRADICTIONS = {
    "O[b][k]=W[k][c]*I[b][c]": "no sum of products over C",
    "O[b][k]+=W[k][c]+I[b][c]": "no sum of products over C",
    "O[b][k]=I[b][k][c]": "no sum of products over C",
    "O[b][k]=W[b][k]+I[b][k]": "a loop over C, which indexes no operand",
}


@pytest.mark.parametrize(("text", "shown"), EQUATIONS.items())
def test_equations(text: str, shown: str) -> None:
    layer = layer_from_equation(text, {"B": 2, "K": 3, "C": 5}, name="x")
    assert layer.equation == shown


@pytest.mark.parametrize(("text", "found"), CONTRADICTIONS.items())
def test_equations_that_contradict_their_loops(text: str, found: str) -> None:
    with pytest.raises(InputError, match=found) as caught:
        layer_from_equation(text, {"B": 2, "K": 3, "C": 5}, name="x")
    assert caught.value.where == "layer 'x': equation"
    assert layer_from_equation(text, {"B": 2, "K": 3, "C": 1}, name="x").macs == 6


@pytest.mark.parametrize(
    ("text", "shown"),
    [("ix=2*ox+3*fx", "2*ox+3*fx"), ("ix = ox + fx", "ox+fx"), ("IX=1*OX+2*FX", "ox+2*fx")],
)
def test_relations(text: str, shown: str) -> None:
    name, index = parse_relation(text)
    assert name == "IX"
    assert str(index) == shown


@pytest.mark.parametrize(
    "text", ["", "O[b][k]", "O[b+=I[b]", "O[b]=W[b]*I[b]*V[b]", "O[b]=", "[b]=I[b]", "O[b]=I[b-1]"]
)
def test_faulty_equations(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_equation(text, "layers.yaml, layer 3")
    assert caught.value.where == "layers.yaml, layer 3"


@pytest.mark.parametrize(
    "text", ["", "ix", "ix=ox", "ix=0*ox+fx", "ix=ox+ox", "ix=ox-fx", "ix=ox+fx+1", "ix=2.5*ox+fx"]
)
def test_faulty_relations(text: str) -> None:
    with pytest.raises(InputError, match="dimension_relations"):
        parse_relation(text)


def test_defaults() -> None:
    layer = layer_from_equation("O[b][k]+=W[k][c]*I[b][c]", {"B": 1, "K": 2, "C": 3}, name="x")
    assert (layer.output.precision, layer.output.partial_precision) == (8, 16)
    assert [x.precision for x in layer.inputs] == [8, 8]
    assert layer.macs == 6
    wide = layer_from_equation("O[b]+=I[b]", {"B": 4}, name="x", precision={"O": 32})
    assert wide.output.partial_precision == 32
