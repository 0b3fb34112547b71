"""Fields of files as models: what is read, and how errors name place, finding and expectation."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError
from nestmap.pipeline.frontend.yaml.field_schema import KEY, Need, Origin
from nestmap.pipeline.frontend.yaml.file_model import (
    Count,
    Energy,
    FileModel,
    Name,
    Operands,
    Text,
    Written,
    read_fields,
    section_of,
)
from nestmap.pipeline.frontend.yaml.load import parse_yaml


class Color(StrEnum):
    """Colors."""

    RED = "red"
    GREEN = "green"


class Part(FileModel, frozen=True, title="Part"):
    """A part.

    It has a size.
    """

    at = ("parts", KEY)
    origin = Origin.NESTMAP

    size: Annotated[Count, Written("a positive size", "4")]
    """CACTI's size of the part."""
    cost: Annotated[Energy, Written(example="0.5", origin=Origin.STREAM)] = 0.25
    """Energy of the part."""
    color: Annotated[Color | None, Written(example="red", otherwise="any")] = None
    """[Color](#colors) of the part."""


class Whole(FileModel, frozen=True):
    """A whole of parts."""

    name: Annotated[Text, Written("a name")]
    parts: Annotated[Mapping[Name, Part], Written("parts by name")]
    operands: Annotated[Operands, Written("a list of operands")] = ()
    pair: Annotated[tuple[Count, Count], Written("a pair such as [1, 2]")] = (1, 1)


GIVEN = """\
name: all
parts:
  one: {size: 4, color: green}
  two:
    size: 2
    cost:
operands: [I1, I2]
"""


def read(text: str) -> Whole:
    """What a text describes."""
    return read_fields(parse_yaml(text, "f.yaml"), Whole)


def test_values_are_read_and_nothing_counts_as_left_out() -> None:
    whole = read(GIVEN)
    assert (whole.parts["one"].color, whole.parts["two"].cost) == (Color.GREEN, 0.25)
    assert whole.parts["two"].model_fields_set == {"size"}
    assert whole.operands == ("I1", "I2")


@pytest.mark.parametrize(
    ("written", "instead", "where", "found", "expected"),
    [
        ("name: all\n", "", "1", "no name", "the field name: a name"),
        ("name: all", "name:", "1: name", "nothing", "a name"),
        ("name: all", "nam: all", "1: nam", "the unknown field 'nam'", "name (one of name, parts"),
        ("size: 4", "size: 0", "3: parts.one.size", "0", "a positive size"),
        ("size: 4", "size: 4.0", "3: parts.one.size", "4.0", "a positive size"),
        ("size: 4", "size: yes", "3: parts.one.size", "yes (which", "a positive size"),
        ("size: 4", "size: 2147483648", "3: parts.one.size", "2147", "size, at most 2147483647"),
        ("cost:", "cost: 1e-3", "6: parts.two.cost", "'1e-3'", "not negative (YAML reads this"),
        ("cost:", "cost: .nan", "6: parts.two.cost", ".nan", "an energy in pJ, not negative"),
        ("green", "gren", "3: parts.one.color", "'gren'", "green (one of red, green)"),
        ("green", "[green]", "3: parts.one.color", "a list", "one of red, green"),
        ("one:", "1ne:", "3: parts.1ne", "the key '1ne'", "parts by name"),
        ("{size: 4, color: green}", "7", "3: parts.one", "7", "the fields size, cost, color"),
        ("[I1, I2]", "[I1, I1]", "7: operands[1]", "a second I1", "such as I1, each once"),
        ("[I1, I2]", "[I1, 1I]", "7: operands[1]", "'1I'", "such as I1 (a letter, then letters"),
        ("[I1, I2]", "I1", "7: operands", "'I1'", "a list of operands"),
        ("operands: [I1, I2]", "pair: [1]", "7: pair", "a list of 1 items", "a pair such as"),
        ("operands: [I1, I2]", "pair: [1, 2, 3]", "7: pair", "a list of 3 items", "a pair such"),
        ("operands: [I1, I2]", "pair: [1, x]", "7: pair[1]", "'x'", "a pair such as [1, 2]"),
    ],
)
def test_errors_say_where_what_and_what_would_be_right(
    written: str, instead: str, where: str, found: str, expected: str
) -> None:
    with pytest.raises(InputError) as raised:
        read(GIVEN.replace(written, instead))
    assert raised.value.where == f"f.yaml:{where}"
    assert found in raised.value.found
    assert expected in raised.value.expected


class Spent(FileModel, frozen=True):
    """A single number."""

    x: Energy


def spent(text: str) -> float:
    """The energy that a text states."""
    return read_fields(parse_yaml(f"x: {text}\n", "f.yaml"), Spent).x


@pytest.mark.parametrize(
    "text",
    [
        ".nan",
        ".inf",
        "-.inf",
        "'1'",
        "no",
        "[]",
        "",
        "!!float x",
        "-0.1",
        "1.0e+300",
        "abc",
        "1e-3",
    ],
)
def test_what_is_no_energy(text: str) -> None:
    with pytest.raises(InputError) as raised:
        spent(text)
    assert raised.value.where == "f.yaml:1: x"
    assert raised.value.expected.startswith("an energy in pJ, not negative")
    assert ("1.0e-3" in raised.value.expected) is (text in ("'1'", "1e-3"))


@settings(deadline=None)
@given(number=st.floats(0, 1e9))
def test_numbers_survive(number: float) -> None:
    assert math.isclose(spent(yaml.safe_dump(number)), number)


def test_an_unknown_field_is_told_before_wrong_values_and_missing_ones() -> None:
    with pytest.raises(InputError, match="the unknown field 'sise'"):
        read("parts: {one: {sise: 4, cost: x}}\n")
    with pytest.raises(InputError, match=r"parts\.one\.cost: found 'x'"):
        read("parts: {one: {cost: x}}\n")


def test_a_model_is_documented_by_its_docstrings_types_and_defaults() -> None:
    section = section_of(Part)
    assert (section.title, section.at) == ("Part", ("parts", KEY))
    assert section.meaning == "A part. It has a size."
    size, cost, color = section.fields
    assert (size.meaning, size.kind, size.example) == (
        "CACTI's size of the part",
        "a positive size",
        "4",
    )
    assert (size.need, size.origin) == (Need.REQUIRED, Origin.NESTMAP)
    assert (cost.meaning, cost.default, cost.origin) == (
        "energy of the part",
        "0.25",
        Origin.STREAM,
    )
    assert (color.meaning, color.default, color.otherwise) == (
        "[color](#colors) of the part",
        "",
        "any",
    )
    assert (color.kind, color.need) == ("one of red, green", Need.OPTIONAL)
