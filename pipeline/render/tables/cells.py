"""Cells of tables: rounded values to read, exact values to sort by and to check."""

from math import isfinite
from typing import Final

from nestmap.pipeline.format import numbers
from nestmap.pipeline.format.numbers import MINUS, TIMES
from nestmap.pipeline.format.palette import SERIES
from nestmap.pipeline.render.tables.table import Bar, Cell

NONE: Final = "\u2013"
"""The text of a cell without a value; most functions here give it for ``None``."""

EDP_UNIT: Final = f"J{TIMES}cycles"
"""The unit of :func:`edp`."""


def energy(picojoules: float | None) -> Cell:
    """An energy; exact in pJ."""
    if picojoules is None:
        return Cell(NONE)
    return Cell(numbers.energy_text(picojoules), repr(float(picojoules)))


def seconds(number: float) -> Cell:
    """A time given in seconds."""
    return engineering(number, "s")


def cycles(number: float | None) -> Cell:
    """A number of cycles."""
    return Cell(NONE) if number is None else Cell(numbers.cycles(number), repr(float(number)))


def count(number: int | None) -> Cell:
    """A whole number, in full."""
    if number is None:
        return Cell(NONE)
    return Cell(numbers.count(number).replace("-", MINUS), repr(number))


def engineering(number: float | None, unit: str = "") -> Cell:
    """A number with a prefix."""
    if number is None:
        return Cell(NONE)
    return Cell(numbers.with_micro(numbers.engineering(number, unit)), repr(number))


def edp(value: float | None) -> Cell:
    """An energy-delay product in J x cycles; exact in pJ x cycles."""
    return Cell(NONE) if value is None else Cell(engineering(value * 1e-12).text, repr(value))


def capacity(bits: int | None) -> Cell:
    """The size of a memory or of what is in it; exact in bits."""
    return Cell(NONE) if bits is None else Cell(numbers.capacity(bits), repr(bits))


def size(bits: int) -> Cell:
    """A data size in whole bytes, no value for none; exact in bits."""
    return Cell(numbers.size_text(bits), repr(bits)) if bits else Cell(NONE)


def plain(number: float, unit: str = "") -> Cell:
    """A number with four significant digits, and its unit if the column does not say it."""
    return Cell(f"{number:.4g} {unit}".rstrip(), repr(number))


def share(part: float | None, total: float = 1.0) -> Cell:
    """A share of a total in percent; no value if the total is 0."""
    if part is None or not total:
        return Cell(NONE)
    return Cell(numbers.share(part / total), repr(part / total))


def gap(part: float | None) -> Cell:
    """How far a result may be from the optimum; exact as a share of the result."""
    return Cell(NONE) if part is None else Cell(numbers.gap_text(part), repr(part))


def change(before: float, after: float) -> Cell:
    """A relative change in percent; exact as a share of 1."""
    if before == after:
        return Cell("=", "0.0")
    if not before:
        return Cell("more", repr(float("inf")))
    part = after / before - 1
    if not isfinite(part):
        return Cell(NONE)
    return Cell(numbers.signed_share(part).replace("-", MINUS), repr(part))


def bar(begin: float, end: float, total: float, color: str = SERIES) -> Cell:
    """A bar from ``begin`` to ``end`` on a scale from 0 to ``total``."""
    if end <= begin or not total:
        return Cell("")
    return Cell("", bar=Bar(begin / total, end / total, color))


def texts(*parts: str) -> tuple[Cell, ...]:
    """Cells of text."""
    return tuple(Cell(part) for part in parts)
