"""Formats and files of query results."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final

import pyarrow as pa

from nestmap.model import InputError
from nestmap.pipeline.render.text.query_result import (
    answer_csv,
    answer_json,
    answer_latex,
    answer_markdown,
    answer_spreadsheet,
    answer_table,
)
from nestmap.pipeline.util.atomic_files import replacing
from nestmap.store import Relation


class Layout(StrEnum):
    """The format of a result."""

    TABLE = "table"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    SPREADSHEET = "spreadsheet"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"

    @property
    def is_binary(self) -> bool:
        """Whether the format is for files only."""
        return self in (Layout.PARQUET, Layout.ARROW)


_SUFFIXES: Final = {
    ".txt": Layout.TABLE,
    ".md": Layout.MARKDOWN,
    ".tex": Layout.LATEX,
    ".csv": Layout.CSV,
    ".json": Layout.JSON,
    ".parquet": Layout.PARQUET,
    ".arrow": Layout.ARROW,
    ".feather": Layout.ARROW,
}


def layout_of(asked: Layout | None, output: Path | None) -> Layout:
    """The requested format, else that of the file name; a table without a file.

    Raises:
        InputError: if the file name does not tell, or the format requires a file.
    """
    if output is None:
        layout = asked or Layout.TABLE
        if layout.is_binary:
            raise InputError(
                f"--format {layout}", "no file to write it to", "--output FILE: it is not text"
            )
        return layout
    if asked is not None:
        return asked
    if output.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"--output {output}",
            f"the suffix {output.suffix!r}",
            f"{', '.join(_SUFFIXES)}, or a --format",
        )
    return _SUFFIXES[output.suffix.lower()]


def answer_text(answer: Relation, layout: Layout) -> Iterable[str]:
    """The lines of a result as a table, Markdown, LaTeX, CSV (for spreadsheets too) or JSON.

    Raises:
        ValueError: if the format has no lines.
    """
    match layout:
        case Layout.TABLE:
            return (line.text for line in answer_table(answer))
        case Layout.MARKDOWN:
            return answer_markdown(answer)
        case Layout.LATEX:
            return answer_latex(answer)
        case Layout.CSV:
            return answer_csv(answer)
        case Layout.SPREADSHEET:
            return answer_spreadsheet(answer)
        case Layout.JSON:
            return answer_json(answer)
        case Layout.PARQUET | Layout.ARROW:
            raise ValueError(f"{layout} is not text")


def write_answer(path: Path, answer: Relation, layout: Layout) -> None:
    """Writes a result to a file, atomically.

    Raises:
        InputError: if it cannot be written.
    """
    with replacing(path) as part:
        match layout:
            case Layout.PARQUET:
                _write_parquet(part, answer.arrow())
            case Layout.ARROW:
                with pa.ipc.new_file(str(part), answer.arrow().schema) as file:
                    file.write_table(answer.arrow())
            case _:
                with part.open("w", encoding="utf-8", newline="") as file:
                    file.writelines(line + "\n" for line in answer_text(answer, layout))


def _write_parquet(path: Path, table: pa.Table) -> None:
    from pyarrow import parquet  # noqa: PLC0415 (takes long to import)

    try:
        with parquet.ParquetWriter(path, table.schema) as file:
            file.write_table(table)
    except pa.ArrowNotImplementedError as error:  # on intervals and unions
        raise InputError("--format parquet", str(error), "types that Parquet has") from None
