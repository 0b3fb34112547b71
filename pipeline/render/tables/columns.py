"""Columns of tables, as text and as HTML: a title, a unit, the side they line up on."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Align(Enum):
    """On which side a column lines up."""

    LEFT = "left"
    RIGHT = "right"


class Column(NamedTuple):
    """A column: its title, a second line of title (a unit), the side it lines up on."""

    title: str
    unit: str = ""
    align: Align = Align.LEFT


def figures(title: str, unit: str = "") -> Column:
    """A column of numbers."""
    return Column(title, unit, Align.RIGHT)
