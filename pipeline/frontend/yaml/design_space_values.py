"""Values in design spaces: expressions, plain values, mappings with known fields."""

from __future__ import annotations

from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.expression_syntax import LARGEST, Value
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.yaml.located_node import Node


def known_entries(node: Node, known: tuple[str, ...], required: tuple[str, ...]) -> dict[str, Node]:
    """The entries of a mapping with known names.

    Raises:
        InputError: if there is another one, or a required one is missing.
    """
    entries = node.entries()
    for name, entry in entries.items():
        if name not in known:
            raise entry.error(suggestion(name, known), f"the unknown field {name!r}")
    for name in required:
        if name not in entries:
            raise node.error(f"the field {name}", f"no {name}")
    return entries


def read_expression(node: Node) -> Expression:
    """An expression; numbers and truth values may stand without quotes.

    Raises:
        InputError: if it is none.
    """
    text = node.text_or_none()
    if text is None:
        text = repr(read_value(node))
    with node.locate_errors():
        return Expression(text=text)


def read_value(node: Node) -> Value:
    """A number, a text or a truth value.

    Raises:
        InputError: if it is another thing, or a number beyond 2^62.
    """
    text, truth, number = node.text_or_none(), node.boolean_or_none(), node.number_or_none()
    if text is not None:
        return text
    if truth is not None:
        return truth
    if number is None or not -LARGEST <= number <= LARGEST:  # NaN compares false
        raise node.error("a number, a text, true or false")
    return number


def plain_values(node: Node) -> dict[str, object]:
    """The values of a mapping, as dictionaries, lists, texts and numbers.

    Raises:
        InputError: if there is another value, such as a date.
    """
    return {name: _plain(entry) for name, entry in node.entries().items()}


def _plain(node: Node) -> object:
    if node.is_mapping:
        return plain_values(node)
    if node.is_sequence:
        return [_plain(item) for item in node.sequence()]
    return None if node.is_null else read_value(node)
