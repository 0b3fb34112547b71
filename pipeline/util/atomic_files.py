"""Files that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nestmap.model import InputError

EXPECTED: Final = "a file to write to"


def write_text(path: Path, text: str) -> None:
    """Writes a file, which is there whole or not at all; also to pipes and devices.

    Raises:
        InputError: where that cannot be done.
    """
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Finds out before long work whether :func:`write_text` can write to the file.

    Raises:
        InputError: where it cannot.
    """
    if path.is_dir():
        raise InputError(str(path), "a folder", EXPECTED)
    if not path.parent.is_dir():
        raise InputError(str(path), f"no folder {path.parent}", "a file in an existing folder")
    if is_special(path):
        return  # opening a pipe and closing it would end it for its reader
    with os_errors_as_input_errors(path):
        part = part_of(path)
        part.touch()
        part.unlink()


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Where to write what shall stand at ``path``; it gets there when all has gone well.

    Pipes and devices are written to directly.

    Raises:
        InputError: where the file cannot be written.
    """
    with os_errors_as_input_errors(path):
        if is_special(path):
            yield path
            return
        part = part_of(path)
        try:
            yield part
            part.replace(path.resolve())
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def os_errors_as_input_errors(path: Path) -> Generator[None]:
    """What the system has against a file, as wrong input."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), EXPECTED) from None


def is_special(path: Path) -> bool:
    """Whether it is a pipe or a device, which must be written to and not replaced."""
    return path.exists() and not path.is_file()


def part_of(path: Path) -> Path:
    """Where the file grows before it gets its name."""
    whole = path.resolve()
    return whole.with_name(whole.name + ".part")
