"""Writes files atomically, as text or JSON: a file is complete or absent."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nestmap.model import InputError

EXPECTED: Final = "a file to write to"


def write_text(path: Path, text: str) -> None:
    """Writes a file atomically; also writes to pipes and devices.

    Raises:
        InputError: if it cannot be written.
    """
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Checks before long work whether :func:`write_text` can write to the file.

    Raises:
        InputError: if it cannot.
    """
    if path.is_dir():
        raise InputError(str(path), "a folder", EXPECTED)
    if not path.parent.is_dir():
        raise InputError(str(path), f"no folder {path.parent}", "a file in an existing folder")
    if is_special(path):
        return  # opening and closing a pipe would send its reader an end of file
    part = part_of(path)
    with os_errors_as_input_errors(path):
        try:
            part.touch(exist_ok=False)
        except FileExistsError:
            found = f"a file {part}, which would be overwritten"
            raise InputError(str(path), found, "a file to write to, or that one moved") from None
        part.unlink()


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yields a temporary path that replaces ``path`` if the block succeeds.

    Pipes and devices are written to directly.

    Raises:
        InputError: if the file cannot be written.
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
    """The operating system's error as an input error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), EXPECTED) from None


def is_special(path: Path) -> bool:
    """Whether the path is a pipe or a device, which is written to and not replaced."""
    return path.exists() and not path.is_file()


def part_of(path: Path) -> Path:
    """The temporary path that the content is written to first."""
    whole = path.resolve()
    return whole.with_name(whole.name + ".part")


# --- JSON values and files ---

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def write_json(path: Path, value: Json) -> None:
    """Writes a value to a file, as :func:`~nestmap.pipeline.util.atomic_files.write_text` does.

    Raises:
        InputError: if the file cannot be written.
    """
    write_text(path, json.dumps(value, indent=2) + "\n")
