"""Plain-text tables: aligned columns that never hide a character."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from itertools import compress
from textwrap import wrap
from typing import Final, NamedTuple

from rich.cells import cell_len

from nestmap.pipeline.format.numbers import MINUS, TIMES, printable
from nestmap.pipeline.render.tables.cells import NONE
from nestmap.pipeline.render.tables.table import Align, Bar, Cell, Column, Room, Row, Table

__all__ = ["BAR", "Line", "Tone", "listing", "printable", "table_lines"]

BAR: Final = 40
"""The length of the longest bar, in characters."""

_GAP: Final = "  "
_INDENT: Final = "  "
_NARROWEST: Final = 12
"""The least width of a column of names that wrap."""
_TYPED: Final = str.maketrans({"\N{MICRO SIGN}": "u", MINUS: "-", NONE: "-", TIMES: " x "})


class Tone(Enum):
    """The style of a line, if the terminal supports it."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"


class Line(NamedTuple):
    """One line of a report."""

    text: str = ""
    tone: Tone = Tone.PLAIN


def table_lines(table: Table, width: int | None = None, most: int | None = None) -> list[Line]:
    """The titles, a rule, and a line for each row; columns fit their longest cell.

    The total follows another rule. If a row is wider than ``width``, long texts go to lines of
    their own, so that all numbers stay in their columns. At most ``most`` rows are shown, and a
    line says how many more there are.
    """
    shown = table.without(Room.PAGE)
    left = 0 if most is None else len(shown.rows) - most
    if left > 0:
        more = Line(f"and {left:,} more")
        return [*table_lines(replace(shown, rows=shown.rows[:most]), width), more]
    lines = _flat(shown)
    if width is None or max(cell_len(line.text) for line in lines) <= width:
        return lines
    is_long = any(column.room is Room.LINE for column in shown.columns)
    return _stacked(shown, width) if is_long else lines


def listing(table: Table) -> list[Line]:
    """A line for each row and the total, without titles and in one tone."""
    rows = _texts(table)
    widths = _widths(rows)
    return [Line(_joined(table.columns, widths, row)) for row in rows]


def _flat(table: Table) -> list[Line]:
    """One line per row."""
    rows, columns = _texts(table), table.columns
    widths = _widths([*_titles(columns), *rows])
    *heads, rule = _header(columns, widths)
    lines = [Line(_joined(columns, widths, row)) for row in rows]
    if table.total:
        lines[-1:] = [rule, lines[-1]._replace(tone=Tone.STRONG)]
    return [*heads, rule, *lines]


def _stacked(table: Table, width: int) -> list[Line]:
    """One line of numbers per row, with its long texts below it."""
    beside, long = table.without(Room.LINE), [x.room is Room.LINE for x in table.columns]
    columns, rows = beside.columns, _texts(beside)
    widths = _widths([*_titles(columns), *rows])
    missing = max(0, _total_width(widths) - width)
    widths[0] = max(widths[0] - missing, min(widths[0], _NARROWEST))
    *heads, rule = _header(columns, widths)
    title = "; ".join(_one_line(column) for column in compress(table.columns, long))
    lines = [*heads, Line(_INDENT + title, Tone.STRONG), rule]
    for row, texts in zip(rows[: len(table.rows)], _texts(table), strict=False):
        name, *more = wrap(row[0], widths[0]) or [""]  # a name may be blank
        lines.append(Line(_joined(columns, widths, (name, *row[1:]))))
        lines += (Line(part) for part in more)
        below = "; ".join(filter(None, compress(texts, long)))
        room = max(width, _total_width(widths)) - len(_INDENT)
        lines += (Line(_INDENT + part, Tone.FAINT) for part in wrap(below, room))
    if table.total:
        lines += [rule, Line(_joined(columns, widths, rows[-1]), Tone.STRONG)]
    return lines


def _one_line(column: Column) -> str:
    return f"{column.title} ({column.unit})" if column.unit else column.title


def _texts(table: Table) -> list[tuple[str, ...]]:
    """The texts of all rows, the total at the end."""
    rows = [*table.rows, *([table.total] if table.total else [])]
    return [tuple(_row_texts(table, row)) for row in rows]


def _row_texts(table: Table, row: Row) -> Iterator[str]:
    for place, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True)):
        yield (_INDENT * row.depth if place == table.head else "") + _text(column, cell)


def _text(column: Column, cell: Cell) -> str:
    """A cell in characters that every terminal has; numbers alone may have others."""
    if column.align is Align.FILL:
        return _bar(cell.bar) if cell.bar else ""
    text = printable(cell.text)
    return text.translate(_TYPED) if column.align is Align.RIGHT else text


def _bar(bar: Bar) -> str:
    first = min(BAR - 1, round(BAR * bar.begin))
    return " " * first + "#" * max(1, round(BAR * bar.end) - first)


def _header(columns: Sequence[Column], widths: Sequence[int]) -> list[Line]:
    """The titles and a rule."""
    lines = [Line(_joined(columns, widths, row), Tone.STRONG) for row in _titles(columns)]
    return [*lines, Line("-" * _total_width(widths), Tone.FAINT)]


def _titles(columns: Sequence[Column]) -> list[list[str]]:
    """The one or two rows of titles."""
    units = [column.unit.translate(_TYPED) for column in columns]
    first = [column.title for column in columns]
    return [first, units] if any(units) else [first]


def _widths(rows: Iterable[Sequence[str]]) -> list[int]:
    """The width of the longest cell of each column, in terminal cells."""
    return [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]


def _total_width(widths: Sequence[int]) -> int:
    """The width of a row."""
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _joined(columns: Sequence[Column], widths: Sequence[int], row: Sequence[str]) -> str:
    """One row with aligned cells."""
    cells = (
        _padded(cell, width, column.align)
        for cell, width, column in zip(row, widths, columns, strict=True)
    )
    return _GAP.join(cells).rstrip()


def _padded(cell: str, width: int, align: Align) -> str:
    blank = " " * (width - cell_len(cell))
    return blank + cell if align is Align.RIGHT else cell + blank
