"""Builds HTML tables and paragraphs in the notebook's own colours; all input is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from nestmap.pipeline.format.numbers import count, printable
from nestmap.pipeline.render.tables import table as tables
from nestmap.pipeline.render.tables.table import Align, Column, Row, Table

MOST_ROWS: Final = 60
"""The maximum number of table rows shown."""

Cell = str | tuple[str, ...]
"""One or several lines of text."""

_BOLD: Final = "bold"
_NORMAL: Final = "normal"
_CAPTION: Final = "caption-side:top;text-align:left;font-weight:bold;white-space:nowrap"
_TABLE: Final = "border-collapse:collapse;font-size:0.85em"
_CLASS: Final = "nestmap"  # page styles apply to tables without a class
_INDENT: Final = "\N{EM SPACE}"


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    total: Sequence[Cell] = (),
    note: str = "",
) -> str:
    """:func:`table_html` for a caption, columns and rows of text."""
    cells = ([_table_cell(cell) for cell in row] for row in rows)
    last = [_table_cell(cell) for cell in total]
    return table_html(tables.table(columns, cells, caption=caption, total=last), note)


def table_html(table: Table, note: str = "") -> str:
    """A table whose first column names the rows; ``note`` is below it.

    Each pair of leading spaces in a cell indents it.
    """
    head = "".join(_title(column) for column in table.columns)
    body = "".join(_row(table.columns, row, _NORMAL) for row in table.rows)
    foot = f"<tfoot>{_row(table.columns, table.total, _BOLD)}</tfoot>" if table.total else ""
    name = f'<caption style="{_CAPTION}">{text(table.caption)}</caption>'
    parts = f"{name}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}"
    whole = f'<table class="{_CLASS}" style="{_TABLE}">{parts}</table>'
    return whole + (paragraph(note) if note else "")


def cut_note(number: int, what: str) -> str:
    """A note that only some of the rows are shown; empty if all are."""
    if number <= MOST_ROWS:
        return ""
    return f"{count(number)} {what}; the first {count(MOST_ROWS)} are shown."


def paragraph(*lines: str) -> str:
    """A paragraph of text with line breaks."""
    return f'<p style="margin:0.6em 0">{_lines(lines)}</p>'


def preformatted(lines: Iterable[str]) -> str:
    """Lines of text with their spaces and line breaks preserved."""
    style = "overflow-x:auto;white-space:pre;font-family:monospace;line-height:1.3"
    return f'<pre style="{style}">{_lines(lines)}</pre>'


def collapsible(title: str, inside: str) -> str:
    """A foldable section around HTML, initially open."""
    summary = f"<summary><b>{text(title)}</b></summary>"
    return f'<details open="open" style="margin:0.6em 0">{summary}{inside}</details>'


def container(*parts: str) -> str:
    """Joins tables and paragraphs."""
    return f"<div>{''.join(parts)}</div>"


def text(given: str) -> str:
    """Text as HTML: markup is escaped, and no character is hidden."""
    return escape(printable(given))


def _lines(given: Iterable[str]) -> str:
    return "<br/>".join(map(text, given))


def _title(column: Column) -> str:
    title = [part for part in (column.title, column.unit) if part]
    style = f"{_style(column)};font-weight:bold;border-bottom:1px solid"
    return f'<th scope="col" style="{style}">{_lines(title)}</th>'


def _row(columns: Sequence[Column], row: Row, weight: str) -> str:
    (column, name), *others = zip(columns, row.cells, strict=True)
    first = f'<th scope="row" style="{_style(column)};font-weight:{weight}">{_cell(name)}</th>'
    bold = "" if weight == _NORMAL else f";font-weight:{weight}"
    rest = (f'<td style="{_style(x)}{bold}">{_cell(cell)}</td>' for x, cell in others)
    return f"<tr>{first}{''.join(rest)}</tr>"


def _style(column: Column) -> str:
    side = Align.RIGHT if column.align is Align.RIGHT else Align.LEFT
    return f"text-align:{side.value};white-space:nowrap;padding:.2em .6em"


def _table_cell(given: Cell) -> tables.Cell:
    return tables.Cell(given) if isinstance(given, str) else tables.Cell("", below=given)


def _cell(given: tables.Cell) -> str:
    if given.below:
        return _lines([x for x in (given.text, *given.below) if x])
    blanks = len(given.text) - len(given.text.lstrip(" "))
    return _INDENT * (blanks // 2) + text(given.text.strip(" "))
