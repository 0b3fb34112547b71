"""Reads the parameters of a design space: lists of values, ranges and expressions."""

from typing import Final

from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import LARGEST
from nestmap.model.design_space.parameters import (
    Choices,
    LinearRange,
    Parameter,
    PowerRange,
    ValueList,
)
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.yaml.field_schema import Form, Forms
from nestmap.pipeline.frontend.yaml.load import scalar_value
from nestmap.pipeline.frontend.yaml.located_node import Node


def read_expression(node: Node) -> Expression:
    """An expression; numbers and truth values may stand without quotes.

    Raises:
        InputError: if it is none.
    """
    text = node.text_or_none()
    if text is None:
        text = repr(scalar_value(node))
    with node.locate_errors():
        return Expression(text=text)


_CHOICES: Final = (
    "a list of values, a range such as {from: 8, to: 64, step: 8} or {from: 8, to: 64, factor: 2}, "
    "a value, or an expression such as rows * columns"
)
_RANGE: Final = ("from", "to", "step", "factor")


PARAMETERS: Final = Forms(
    "Parameters",
    "Names are a letter, then letters, digits or `_`, at most 32. Expressions consist of numbers, "
    "texts in quotes, names of parameters, `+ - * / // % **`, comparisons, `and`, `or`, `not`, "
    "`min`, `max`, `ceil` and `floor`.",
    (
        Form("rows: [8, 16, 32]", "each of these values: numbers, texts, or `true` and `false`"),
        Form("rows: {from: 8, to: 32, step: 8}", "8, 16, 24 and 32"),
        Form("rows: {from: 8, to: 64, factor: 2}", "8, 16, 32 and 64"),
        Form("rows: 16", "always 16"),
        Form("rows: 2 * 8 + 1", "the value of an expression, here without names"),
    ),
)


def read_parameter(name: str, node: Node) -> Parameter:
    """The parameter with a name.

    Raises:
        InputError: if name or values are invalid.
    """
    choices = _choices(node)
    with node.locate_errors():
        return Parameter(name=name, choices=choices)


def _choices(node: Node) -> Choices:
    if node.is_sequence:
        values = tuple(scalar_value(item) for item in node.sequence())
        with node.locate_errors():
            return ValueList(values=values)
    if node.is_mapping:
        return _range(node)
    if node.text_or_none() is None:
        return ValueList(values=(scalar_value(node),))
    return read_expression(node)


def _range(node: Node) -> LinearRange | PowerRange:
    entries = node.entries()
    for name, entry in entries.items():
        if name not in _RANGE:
            raise entry.error(suggestion(name, _RANGE), f"the unknown field {name!r}")
    for name in ("from", "to"):
        if name not in entries:
            raise node.error(f"the field {name}", f"no {name}")
    if ("step" in entries) == ("factor" in entries):
        both = "a range with both step and factor"
        found = both if "step" in entries else "a range without step or factor"
        raise node.error(_CHOICES, found)
    numbers = {name: _number(entry) for name, entry in entries.items()}
    first, last = numbers["from"], numbers["to"]
    with node.locate_errors():
        if "step" in numbers:
            return LinearRange(first=first, last=last, step=numbers["step"])
        return PowerRange(first=first, last=last, factor=numbers["factor"])


def _number(node: Node) -> int | float:
    number = node.number_or_none()
    if number is None or not -LARGEST <= number <= LARGEST:
        raise node.error("a number")
    return number
