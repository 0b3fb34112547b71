"""Reports errors to the user: one line and an exit code."""

import os
import sys
import traceback
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

import typer

# --- says in one line that there is too little memory, or that no thread can start ---

LEAST_ADDRESS_SPACE: Final = 2 * 2**30
"""Bytes of address space with which every command runs on a few cores.

With less, NumPy, LLVM and DuckDB end the process while they are loaded, and no message can be
printed.
"""

_NO_THREAD: Final = ("can't start new thread", "cannot join thread before it is started")
_NO_MEMORY: Final = ("OutOfMemoryException", "ArrowMemoryError")
_WHAT_TO_DO: Final = "more: raise the limits of this process (ulimit -v, ulimit -u), or free memory"


def check_address_space() -> None:
    """Checks the limit that ``ulimit -v`` sets, where the system has one.

    Raises:
        InputError: if it is too low.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 (not on Windows)

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        from nestmap.model.errors import InputError  # noqa: PLC0415 (takes long to import)

        raise InputError(
            "ulimit -v",
            f"{limit / 2**20:.0f} MiB of address space",
            f"at least {LEAST_ADDRESS_SPACE / 2**20:.0f} MiB, with less of which libraries crash",
        )


def exhausted_resource(error: BaseException) -> str | None:
    """What an error, or one that led to it, says has run out; ``None`` if nothing has."""
    for each in _led_to(error):
        if isinstance(each, MemoryError) or type(each).__name__ in _NO_MEMORY:
            return f"memory: found none left; expected {_WHAT_TO_DO}"
        if isinstance(each, RuntimeError) and str(each) in _NO_THREAD:
            return f"threads: found that no more can start; expected {_WHAT_TO_DO}"
    return None


def _led_to(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# --- reports errors to the user: one line and an exit code ---

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
        raise typer.Exit(report_error(error)) from None


def report_error(error: Exception) -> int:
    """Prints the message for an error, and returns the exit code."""
    code = _told(error)
    try:
        typer.echo("", nl=False)
    except OSError:  # Python would try again at the end, and fail
        _drop_output()
    return code


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


def _drop_output() -> None:
    """Discards further output after a closed pipe, so that Python's final flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
