"""Reports errors to the user: one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

import typer

from nestmap.pipeline.cli.resource_limits import check_address_space, exhausted_resource

BUG: Final = 1
WRONG_INPUT: Final = 2
INCOMPLETE: Final = 3  # there are results, but no mapping fits some layers

_HINT: Final = (
    "This is a bug in nestmap. Please report it with the command you gave and the lines above."
)


@contextmanager
def report_errors() -> Generator[None]:
    """Turns an error within the block into a message and an exit code.

    Raises:
        typer.Exit: if there was an error.
        KeyboardInterrupt: if the user interrupted it.
    """
    try:
        check_address_space()
        yield
        typer.echo("", nl=False)  # flushes, so that a full disk or a closed pipe is detected here
    except typer.Exit:
        raise
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(BUG) from None
    except Exception as error:
        code = _told(error)
        _drop_output_if_full()
        raise typer.Exit(code) from None


@contextmanager
def report_warnings(*, strict: bool) -> Generator[None]:
    """Prints warnings about input within the block as lines; if ``strict``, they are errors.

    Raises:
        InputWarning: for the first warning, if ``strict``.
    """
    from nestmap.model import InputWarning  # noqa: PLC0415 (takes long to import)

    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if category is InputWarning:
                typer.echo(f"warning: {message}", err=True)
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("error" if strict else "default", InputWarning)
        yield


def exit_without_mapping(infeasible: Sequence[object]) -> None:
    """Ends a command that has shown its results if some layers have no mapping.

    Raises:
        typer.Exit: if there is such a layer.
    """
    if infeasible:
        raise typer.Exit(INCOMPLETE)


def _told(error: Exception) -> int:
    """Prints the message for an error; returns the exit code."""
    from nestmap.model import InputWarning, NestmapError  # noqa: PLC0415 (takes long to import)

    if isinstance(error, NestmapError | InputWarning | OSError):
        typer.echo(f"error: {error}", err=True)
        return WRONG_INPUT
    exhausted = exhausted_resource(error)
    if exhausted is not None:
        typer.echo(f"error: {exhausted}", err=True)
        return WRONG_INPUT
    traceback.print_exception(error)
    typer.echo(_HINT, err=True)
    return BUG


def _drop_output_if_full() -> None:
    """Discards output that cannot be written: Python would try again at the end, and fail."""
    try:
        typer.echo("", nl=False)
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Discards further output after a closed pipe, so that Python's final flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
