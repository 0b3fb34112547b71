"""Prints results to the standard output, and notes about them to the error output."""

import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Final

import typer

from nestmap.model import InputError
from nestmap.pipeline.render.tables.table import Table
from nestmap.pipeline.render.text.plain_table import Line, Tone, table_lines
from nestmap.pipeline.util.atomic_files import check_writable

_UNLIMITED: Final = 1_000_000


def output_width() -> int:
    """The columns of the terminal; unlimited if the output goes to a file or a pipe."""
    on_terminal = bool(sys.stdout) and sys.stdout.isatty()
    return get_terminal_size().columns if on_terminal else _UNLIMITED


def show(lines: Iterable[Line]) -> None:
    """Prints the lines of a report, with styles only on a terminal."""
    for line in lines:
        typer.secho(
            _encodable(line.text),
            bold=True if line.tone is Tone.STRONG else None,
            dim=True if line.tone is Tone.FAINT else None,
        )


def show_table(table: Table, most: int | None = None) -> None:
    """Prints a table between blank lines, at most so many of its rows."""
    show([Line(), *table_lines(table, output_width(), most), Line()])


def show_prose(text: str) -> None:
    """Prints a sentence, wrapped between words on a terminal."""
    show_text(wrap(text, output_width()))


def show_text(lines: Iterable[str]) -> None:
    """Prints lines unchanged."""
    for line in lines:
        typer.echo(_encodable(line))


def print_note(text: str) -> None:
    """Prints a note to the error output."""
    typer.echo(text, err=True)


def _encodable(text: str) -> str:
    """The text, with escapes for characters that the output's encoding lacks."""
    encoding = sys.stdout.encoding if sys.stdout else "utf-8"  # there is none after >&-
    return text.encode(encoding, "backslashreplace").decode(encoding)


# --- checks that result files can be written, before the work begins ---


def check_target(option: str, target: Path | None, others: Iterable[str | Path | None]) -> None:
    """Checks the file of an option; ``others`` are the files it must not overwrite.

    Raises:
        InputError: where the file cannot be written, or is one of the others.
    """
    if target is None:
        return
    for other in others:
        if other is not None and target.resolve() == Path(other).resolve():
            found = f"{other}, which is used already"
            raise InputError(f"{option} {target}", found, "a different file")
    check_writable(target)
