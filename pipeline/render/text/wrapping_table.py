"""Tables of layers: one line per layer if the terminal is wide enough, else details below it."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from nestmap.pipeline.render.tables.table import Column, table
from nestmap.pipeline.render.text.plain_table import (
    Line,
    Tone,
    header,
    joined,
    table_lines,
    titles,
    total_width,
    widths_of,
)

_INDENT: Final = "  "
_NARROWEST: Final = 12


class Row(NamedTuple):
    """The cells of a row: its names, its details, its numbers.

    ``below`` are the details for a line of their own; empty: no such line.
    """

    names: tuple[str, ...]
    details: tuple[str, ...]
    below: str
    figures: tuple[str, ...]


class RowColumns(NamedTuple):
    """The columns of such rows; ``below`` is the title of details on a line of their own."""

    names: tuple[Column, ...]
    details: tuple[Column, ...]
    below: str
    figures: tuple[Column, ...]


def rows_table(columns: RowColumns, rows: Sequence[Row], width: int) -> list[Line]:
    """The rows, of which the last one is the total.

    If a row is wider than ``width``, details go to a line of their own, so that all numbers stay in
    their columns.
    """
    flat = _flat(columns, rows)
    fits = max(len(line.text) for line in flat) <= width
    return flat if fits else _stacked(columns, rows, width)


def _flat(columns: RowColumns, rows: Sequence[Row]) -> list[Line]:
    """One line per row."""
    *cells, total = [(*row.names, *row.details, *row.figures) for row in rows]
    every = (*columns.names, *columns.details, *columns.figures)
    return table_lines(table(every, cells, total=total))


def _stacked(columns: RowColumns, rows: Sequence[Row], width: int) -> list[Line]:
    """One line of numbers per row, with the details below it."""
    every = (*columns.names, *columns.figures)
    widths = widths_of([*titles(every), *((*row.names, *row.figures) for row in rows)])
    missing = max(0, total_width(widths) - width)
    widths[0] = max(widths[0] - missing, min(widths[0], _NARROWEST))
    *heads, line = header(every, widths)
    details = Line(_INDENT + columns.below, Tone.STRONG)
    *parts, total = rows
    body = [line for row in parts for line in _stack(row, every, widths, width)]
    last = Line(joined(every, widths, (*total.names, *total.figures)), Tone.STRONG)
    return [*heads, details, line, *body, line, last]


def _stack(
    row: Row, columns: Sequence[Column], widths: Sequence[int], width: int
) -> Iterator[Line]:
    name, *more = wrap(row.names[0], widths[0]) or [""]  # a name may be blank
    yield Line(joined(columns, widths, (name, *row.names[1:], *row.figures)))
    yield from (Line(part) for part in more)
    below = wrap(row.below, max(width, total_width(widths)) - len(_INDENT))
    yield from (Line(_INDENT + part, Tone.FAINT) for part in below)
