"""Columns of tables: title, unit, alignment."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Align(Enum):
    """The alignment of a column."""

    LEFT = "left"
    RIGHT = "right"
    FILL = "fill"
    """A column of bars on one scale."""


class Column(NamedTuple):
    """A column: its title, a second title line (a unit), its alignment.

    ``hint`` explains it in media that show hints.
    """

    title: str
    unit: str = ""
    align: Align = Align.LEFT
    hint: str = ""


def number_column(title: str, unit: str = "", hint: str = "") -> Column:
    """A column of numbers."""
    return Column(title, unit, Align.RIGHT, hint)


def bar_column(title: str) -> Column:
    """A column of bars."""
    return Column(title, align=Align.FILL)
