"""Cells of tables: rounded figures to read, with exact values to sort by and to check."""

from __future__ import annotations

import re
from math import isfinite
from typing import Final

from nestmap.pipeline.format import numbers as figures
from nestmap.pipeline.format.axis_units import energy_text
from nestmap.pipeline.format.palette import BLUE
from nestmap.pipeline.render.tables.table import Bar, Cell

NONE: Final = "\u2013"
"""What stands where there is no figure."""

MINUS: Final = "\u2212"


def energy(picojoules: float) -> Cell:
    """An energy; exact in pJ."""
    return Cell(energy_text(picojoules), repr(float(picojoules)))


def seconds_text(seconds: float) -> str:
    """A time given in seconds."""
    return lettered(figures.engineering(seconds, "s"))


def cycles(number: float) -> Cell:
    """A number of cycles."""
    return Cell(figures.cycles(number), repr(float(number)))


def count(number: int) -> Cell:
    """A whole number, in full."""
    return Cell(figures.count(number), repr(number))


def engineering(number: float, unit: str = "") -> Cell:
    """A number with a prefix."""
    return Cell(figures.engineering(number, unit).replace(" u", " µ"), repr(number))


def capacity(bits: int) -> Cell:
    """The size of a memory or of what is in it; exact in bits."""
    return Cell(figures.capacity(bits), repr(bits))


def plain(number: float) -> Cell:
    """A number with four digits that count."""
    return Cell(f"{number:.4g}", repr(number))


def share(part: float, total: float = 1.0) -> Cell:
    """A part of a total in percent; nothing of nothing is no figure."""
    if not total:
        return Cell(NONE)
    return Cell(figures.share(part / total), repr(part / total))


def change(before: float, after: float) -> Cell:
    """How much more (or less) in percent; exact as a share of 1."""
    if before == after:
        return Cell("=", "0.0")
    if not before:
        return Cell("more", repr(float("inf")))
    part = after / before - 1
    if not isfinite(part):
        return Cell(NONE)
    digits = ".1f" if abs(part) >= 0.0005 else ".1g"
    return Cell(f"{100 * part:+{digits}}%".replace("-", MINUS), repr(part))


def bar(begin: float, end: float, total: float, color: str = BLUE) -> Cell:
    """A bar from ``begin`` to ``end`` where the whole is ``total``."""
    if end <= begin or not total:
        return Cell("")
    return Cell("", bar=Bar(begin / total, end / total, color))


def texts(*parts: str) -> tuple[Cell, ...]:
    """Cells of text."""
    return tuple(Cell(part) for part in parts)


def lettered(text: str) -> str:
    """The prefix of a millionth as it should be: figures for terminals spell it u.

    >>> lettered("5 cycles (3.2 us), 18.7 uJ in unit u")
    '5 cycles (3.2 µs), 18.7 µJ in unit u'
    """
    return re.sub(r"(?<=\d )u(?=[Js]\b)", "µ", text)
