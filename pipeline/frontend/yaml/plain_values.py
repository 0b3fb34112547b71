"""The values of a YAML file as dictionaries, lists, texts and numbers."""

from __future__ import annotations

from nestmap.model.design_space.expression_syntax import LARGEST, Value
from nestmap.pipeline.frontend.yaml.located_node import Node


def plain_values(node: Node) -> dict[str, object]:
    """The values of a mapping, as dictionaries, lists, texts and numbers; keys become texts.

    Raises:
        InputError: if there is another value, such as a date.
    """
    if node.is_numbered:
        entries = node.numbered("values by number").items()
        return {str(number): plain_value(entry) for number, entry in entries}
    return {name: plain_value(entry) for name, entry in node.entries().items()}


def plain_value(node: Node) -> object:
    """The value, as a dictionary, a list, a text, a number or ``None``.

    Raises:
        InputError: if there is another value in it, such as a date.
    """
    if node.is_mapping:
        return plain_values(node)
    if node.is_sequence:
        return [plain_value(item) for item in node.sequence()]
    return None if node.is_null else scalar_value(node)


def scalar_value(node: Node) -> Value:
    """A text, a number or a truth value.

    Raises:
        InputError: if it is another value.
    """
    text, truth, number = node.text_or_none(), node.boolean_or_none(), node.number_or_none()
    if text is not None:
        return text
    if truth is not None:
        return truth
    if number is None or not -LARGEST <= number <= LARGEST:  # NaN compares false
        raise node.error("a number, a text, true or false")
    return number
