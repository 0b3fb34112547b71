"""Tables in Markdown, and in LaTeX without packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nestmap.pipeline.render.tables.columns import Align, Column
from nestmap.pipeline.render.tables.table import Table

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
