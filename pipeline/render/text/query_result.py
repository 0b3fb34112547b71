"""Formats the result of an SQL query: tables for people, CSV and JSON for programs."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from io import StringIO
from itertools import islice
from math import isfinite
from typing import Final, cast
from unicodedata import normalize

from nestmap.pipeline.format.numbers import rounded
from nestmap.pipeline.format.runs import short_id
from nestmap.pipeline.render.tables.table import Align, Column, Table, table
from nestmap.pipeline.render.text.plain_table import Line, Tone, printable, table_lines
from nestmap.pipeline.util.atomic_files import Json
from nestmap.store import Relation

# --- tables in Markdown, and in LaTeX without packages ---

_MARKDOWN: Final = str.maketrans({"|": r"\|", "<": "&lt;", ">": "&gt;", "`": r"\`", "*": r"\*"})
_LATEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)


def markdown_lines(table: Table) -> Iterator[str]:
    """The lines of a Markdown table, with numbers to the right."""
    yield _markdown_row([_title(column).translate(_MARKDOWN) for column in table.columns])
    yield _markdown_row(["---:" if _is_right(column) else "---" for column in table.columns])
    for row in _rows(table):
        yield _markdown_row([text.translate(_MARKDOWN) for text in row])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex_lines(table: Table) -> Iterator[str]:
    r"""The lines of a LaTeX ``tabular``, with numbers to the right."""
    places = "".join("r" if _is_right(column) else "l" for column in table.columns)
    yield rf"\begin{{tabular}}{{{places}}}"
    yield r"\hline"
    yield _latex_row([_title(column) for column in table.columns])
    yield r"\hline"
    for row in _rows(table):
        yield _latex_row(row)
    yield r"\hline"
    yield r"\end{tabular}"


def _latex_row(cells: Sequence[str]) -> str:
    # in braces, because a bracket after the end of the row before would be its argument
    return " & ".join(f"{{{cell.translate(_LATEX)}}}" for cell in cells) + r" \\"


def _title(column: Column) -> str:
    return f"{column.title} ({column.unit})" if column.unit else column.title


def _is_right(column: Column) -> bool:
    return column.align is Align.RIGHT


def _rows(table: Table) -> Iterator[Sequence[str]]:
    for row in (*table.rows, *([table.total] if table.total else [])):
        yield row.texts


# --- formats the result of an SQL query: tables for people, CSV and JSON for programs ---

MOST_ROWS: Final = 1000
"""The maximum number of table rows, to keep it readable; CSV and JSON have all rows."""

_END: Final = "\r\n"
_BYTE_ORDER_MARK: Final = "\ufeff"
_FORMULA_STARTS: Final = tuple("=+-@")
_SKIPPED: Final = " \t\r\n\ufeff"
"""What spreadsheets skip before a formula."""

_RUN: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def answer_table(answer: Relation) -> list[Line]:
    """The first rows as a table, and the total number of rows."""
    if not answer.columns:
        return [Line("The statement gives no rows.", Tone.FAINT)]
    lines = table_lines(_table(answer, MOST_ROWS))
    return [*lines, Line(_count(len(answer)), Tone.FAINT)]


def answer_markdown(answer: Relation) -> Iterator[str]:
    """All rows as a Markdown table, with the texts of :func:`answer_table`."""
    return markdown_lines(_table(answer))


def answer_latex(answer: Relation) -> Iterator[str]:
    """All rows as a LaTeX table, with the texts of :func:`answer_table`."""
    return latex_lines(_table(answer))


def _table(answer: Relation, most: int | None = None) -> Table:
    rows = list(islice(answer_rows(answer), most))
    columns = [
        Column(printable(name), align=_alignment(row[i] for row in rows))
        for i, name in enumerate(answer.columns)
    ]
    return table(columns, ([cell_text(value) for value in row] for row in rows))


def answer_csv(answer: Relation) -> Iterator[str]:
    """CSV lines with a header; nested values are JSON, NULL is empty."""
    yield _csv_line(answer.columns)
    for row in answer_rows(answer):
        yield _csv_line([_field(value) for value in row])


def answer_spreadsheet(answer: Relation) -> Iterator[str]:
    """The lines of :func:`answer_csv`, of which a spreadsheet runs nothing.

    A spreadsheet takes a text such as ``=HYPERLINK(...)`` for a formula: an apostrophe before it
    makes it text. A byte order mark says that the file is UTF-8.
    """
    header = _csv_line([_spreadsheet_field(name) for name in answer.columns])
    yield _BYTE_ORDER_MARK + header
    for row in answer_rows(answer):
        yield _csv_line([_spreadsheet_field(_field(value)) for value in row])


def answer_json(answer: Relation) -> Iterator[str]:
    """The lines of a JSON list with an object for each row."""
    yield "["
    for number, row in enumerate(answer_rows(answer), start=1):
        entry = dict(zip(answer.columns, row, strict=True))
        yield json.dumps(entry, ensure_ascii=False) + ("," if number < len(answer) else "")
    yield "]"


def answer_rows(answer: Relation) -> Iterator[tuple[Json, ...]]:
    """The rows, fetched lazily."""
    for row in answer:
        yield tuple(_plain(value) for value in row.values())


def _plain(value: object) -> Json:
    """A DuckDB value as a JSON value."""
    if isinstance(value, dict):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): _plain(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return _scalar(value)


def _scalar(value: object) -> Json:
    """A number if that is exact, else text."""
    match value:
        case None | bool() | int() | str():
            return value
        case Decimal():  # the sum of integers is a decimal without a fraction
            return int(value) if value == value.to_integral_value() else float(value)
        case float() if isfinite(value):
            return value
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _:
            return str(value)


def _alignment(values: Iterable[Json]) -> Align:
    numbers = all(isinstance(value, int | float) for value in values if value is not None)
    return Align.RIGHT if numbers else Align.LEFT


def cell_text(value: Json) -> str:
    """A value in a table: ``[K 2, C 3]`` for a list of loops, the beginning of the id of a run.

    Fractions are rounded; CSV and JSON have all digits.
    """
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, list):
        return f"[{', '.join(map(cell_text, value))}]"
    if isinstance(value, dict):
        return " ".join(map(cell_text, value.values()))
    if isinstance(value, str) and _RUN.fullmatch(value):
        return short_id(value)
    return "" if value is None else printable(str(value))


def _field(value: Json) -> str | int | float | None:
    if isinstance(value, list | dict | bool):
        return json.dumps(value, ensure_ascii=False)
    return value


def _spreadsheet_field(field: str | float | None) -> str | int | float | None:
    if isinstance(field, str):
        begin = normalize("NFKC", field.lstrip(_SKIPPED)[:1])  # some take characters of full width
        return f"'{field}" if begin in _FORMULA_STARTS else field
    return field


def _csv_line(fields: Sequence[str | int | float | None]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator=_END).writerow(fields)  # quotes as needed
    return line.getvalue().removesuffix(_END)


def _count(rows: int) -> str:
    note = f"({rows:,} row{'s' * (rows != 1)}"
    if rows > MOST_ROWS:
        note += f"; the first {MOST_ROWS:,} are shown, --format csv gives all"
    return note + ")"
