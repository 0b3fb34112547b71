"""Reports errors to the user: one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import typer

BUG: Final = 1
WRONG_INPUT: Final = 2
INTERRUPTED: Final = 130  # 128 + the number of SIGINT, as shells report it

_HINT: Final = (
    "This is a bug in nestmap. Please report it with the command you gave and the lines above."
)


@contextmanager
def report_errors() -> Generator[None]:
    """Turns an error within the block into a message and an exit code.

    Raises:
        typer.Exit: if there was an error.
    """
    try:
        yield
        typer.echo("", nl=False)  # flushes, so that a full disk or a closed pipe is detected here
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(BUG) from None
    except Exception as error:
        raise typer.Exit(_told(error)) from None


def _told(error: Exception) -> int:
    """Prints the message for an error; returns the exit code."""
    from nestmap.model import NestmapError  # noqa: PLC0415 (takes long to import)

    if isinstance(error, NestmapError | OSError):
        typer.echo(f"error: {error}", err=True)
        return WRONG_INPUT
    traceback.print_exception(error)
    typer.echo(_HINT, err=True)
    return BUG


def _drop_output() -> None:
    """Discards further output after a closed pipe, so that Python's final flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
