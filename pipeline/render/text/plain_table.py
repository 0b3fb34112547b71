"""Plain-text tables: aligned columns that never hide a character."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from rich.cells import cell_len

from nestmap.pipeline.format.numbers import printable
from nestmap.pipeline.render.tables.table import Align, Column, Table

__all__ = [
    "GAP",
    "Line",
    "Tone",
    "header",
    "joined",
    "listing",
    "printable",
    "rule",
    "table_lines",
    "titles",
    "total_width",
    "widths_of",
]

GAP = "  "


class Tone(Enum):
    """The style of a line, if the terminal supports it."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"


class Line(NamedTuple):
    """One line of a report."""

    text: str = ""
    tone: Tone = Tone.PLAIN


def table_lines(table: Table) -> list[Line]:
    """The titles, a rule, and a line for each row; columns fit their longest cell.

    The total follows another rule.
    """
    rows, columns = [row.texts for row in table.rows], table.columns
    total = [] if table.total is None else [table.total.texts]
    widths = widths_of([*titles(columns), *rows, *total])
    lines = [*header(columns, widths), *(Line(joined(columns, widths, row)) for row in rows)]
    for row in total:
        lines += [rule(widths), Line(joined(columns, widths, row), Tone.STRONG)]
    return lines


def listing(table: Table) -> list[Line]:
    """A line for each row, without titles."""
    rows = [row.texts for row in table.rows]
    widths = widths_of(rows)
    return [Line(joined(table.columns, widths, row)) for row in rows]


def header(columns: Sequence[Column], widths: Sequence[int]) -> list[Line]:
    """The titles and a rule."""
    lines = [Line(joined(columns, widths, row), Tone.STRONG) for row in titles(columns)]
    return [*lines, rule(widths)]


def titles(columns: Sequence[Column]) -> list[list[str]]:
    """The one or two rows of titles."""
    units = [column.unit for column in columns]
    first = [column.title for column in columns]
    return [first, units] if any(units) else [first]


def widths_of(rows: Iterable[Sequence[str]]) -> list[int]:
    """The width of the longest cell of each column, in terminal cells."""
    return [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]


def rule(widths: Sequence[int]) -> Line:
    """A rule across all columns."""
    return Line("-" * total_width(widths), Tone.FAINT)


def total_width(widths: Sequence[int]) -> int:
    """The width of a row."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def joined(columns: Sequence[Column], widths: Sequence[int], row: Sequence[str]) -> str:
    """One row with aligned cells."""
    cells = (
        _padded(cell, width, column.align)
        for cell, width, column in zip(row, widths, columns, strict=True)
    )
    return GAP.join(cells).rstrip()


def _padded(cell: str, width: int, align: Align) -> str:
    blank = " " * (width - cell_len(cell))
    return blank + cell if align is Align.RIGHT else cell + blank
