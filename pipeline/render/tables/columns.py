"""Columns of tables: a title, a unit, the side they line up on."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Align(Enum):
    """On which side a column lines up."""

    LEFT = "left"
    RIGHT = "right"
    FILL = "fill"
    """A column of bars, which share one scale."""


class Column(NamedTuple):
    """A column: its title, a second line of title (a unit), the side it lines up on.

    ``hint`` says more about it where there is a place for that.
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
