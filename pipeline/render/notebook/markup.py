"""Builds HTML tables and paragraphs in the notebook's own colours; all input is escaped."""

from collections.abc import Iterable
from html import escape
from typing import Final

from nestmap.pipeline.format.numbers import count, printable
from nestmap.pipeline.render.tables.table import Align, Column, Room, Row, Table

MOST_ROWS: Final = 60
"""The maximum number of table rows shown."""

_BOLD: Final = "bold"
_NORMAL: Final = "normal"
_CAPTION: Final = "caption-side:top;text-align:left;font-weight:bold;white-space:nowrap"
_TABLE: Final = "border-collapse:collapse;font-size:0.85em"
_CLASS: Final = "nestmap"  # page styles apply to tables without a class
_INDENT: Final = "\N{EM SPACE}"


def table_html(table: Table, *notes: str) -> str:
    """The first rows of a table, without bars, and the notes below it."""
    shown = table.without(Room.PAGE)
    head = "".join(map(_title, shown.columns))
    body = "".join(_row(shown, row, _NORMAL) for row in shown.rows[:MOST_ROWS])
    foot = f"<tfoot>{_row(shown, shown.total, _BOLD)}</tfoot>" if shown.total else ""
    name = f'<caption style="{_CAPTION}">{text(shown.caption)}</caption>'
    parts = f"{name}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}"
    whole = f'<table class="{_CLASS}" style="{_TABLE}">{parts}</table>'
    rows, most = count(len(shown.rows)), count(MOST_ROWS)
    cut = f"{rows} rows; the first {most} are shown." if len(shown.rows) > MOST_ROWS else ""
    return whole + "".join(paragraph(note) for note in (cut, *notes) if note)


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
    if column.align is Align.FILL:
        return ""
    title = [part for part in (column.title, column.unit) if part]
    style = f"{_style(column)};font-weight:bold;border-bottom:1px solid"
    return f'<th scope="col" style="{style}">{_lines(title)}</th>'


def _row(table: Table, row: Row, weight: str) -> str:
    return "".join(
        ("<tr>", *(_cell(table, row, place, weight) for place in range(len(row.cells))), "</tr>")
    )


def _cell(table: Table, row: Row, place: int, weight: str) -> str:
    column, content = table.columns[place], text(row.cells[place].text)
    if column.align is Align.FILL:
        return ""
    bold = "" if weight == _NORMAL else f";font-weight:{weight}"
    if place == table.head:
        style = f"{_style(column)};font-weight:{weight}"
        return f'<th scope="row" style="{style}">{_INDENT * row.depth}{content}</th>'
    return f'<td style="{_style(column)}{bold}">{content}</td>'


def _style(column: Column) -> str:
    side = Align.RIGHT if column.align is Align.RIGHT else Align.LEFT
    return f"text-align:{side.value};white-space:nowrap;padding:.2em .6em"
