"""Values in design spaces: expressions, mappings with known fields."""

from __future__ import annotations

from nestmap.model.design_space.expression import Expression
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.plain_values import scalar_value


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
        text = repr(scalar_value(node))
    with node.locate_errors():
        return Expression(text=text)
