"""Reads files of users, with limits: a path may name a device without an end, or a silent pipe."""

import os
import select
import stat
from pathlib import Path
from time import monotonic
from typing import Final

from nestmap.model import InputError

PIPE_SECONDS: Final = 10.0
"""How long a pipe may take until all of it is read; files have no limit."""

_CHUNK: Final = 2**20


def read_bounded(path: Path, most: int, expected: str, where: str | None = None) -> bytes:
    """The content of a file, pipe or device.

    Args:
        path: where it is.
        most: the largest size (bytes).
        expected: what the file should be, for errors: ``a YAML file``.
        where: its name in errors (default: the path).

    Raises:
        InputError: if it is missing, unreadable, a directory, too large, or a pipe that is not
            written to its end in time.
    """
    name = str(path) if where is None else where
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            return _read(file, name, most, expected)
        finally:
            os.close(file)
    except FileNotFoundError:
        raise InputError(name, "no such file", expected) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = error.strerror if isinstance(error, OSError) else str(error)
        found = f"a file that cannot be read ({reason})"
        raise InputError(name, found, expected) from None


def _read(file: int, name: str, most: int, expected: str) -> bytes:
    kind = os.fstat(file)
    if stat.S_ISDIR(kind.st_mode):
        raise InputError(name, "a directory", expected)
    if stat.S_ISREG(kind.st_mode) and kind.st_size > most:
        raise _too_large(name, most, expected)
    end = None if stat.S_ISREG(kind.st_mode) else monotonic() + PIPE_SECONDS
    read = bytearray()
    while chunk := _next_chunk(file, name, end, expected):
        read += chunk
        if len(read) > most:  # a pipe, or a file that grew
            raise _too_large(name, most, expected)
    return bytes(read)


def _next_chunk(file: int, name: str, end: float | None, expected: str) -> bytes:
    """What can be read next: nothing at the end."""
    if end is not None:
        ready, _, _ = select.select([file], [], [], max(0.0, end - monotonic()))
        if not ready:
            found = f"a pipe that was not written to its end within {PIPE_SECONDS:g} s"
            raise InputError(name, found, expected)
    return os.read(file, _CHUNK)


def _too_large(name: str, most: int, expected: str) -> InputError:
    return InputError(name, f"more than {most:,} bytes", f"{expected} of at most {most:,} bytes")
