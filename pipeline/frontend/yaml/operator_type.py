"""Reads operator types, which may be any text."""

from __future__ import annotations

from typing import Final

from nestmap.model.errors import nearest, shortened, warn_of_input
from nestmap.model.workload.operator_types import is_operator_type, operator_types
from nestmap.pipeline.frontend.yaml.located_node import Node

_KIND: Final = "an operator type such as Conv"


def operator_type(node: Node) -> str:
    """The operator type; an unknown one is a warning.

    Raises:
        InputError: if the value is no text; the error names line and field.
    """
    name = node.text(_KIND)
    if not is_operator_type(name):
        found = f"the unknown operator type {shortened(repr(name))}"
        warn_of_input(node.where, found, nearest(name, operator_types()) or _KIND)
    return name
