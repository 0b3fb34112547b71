"""Reads the bytes of ONNX files, without the onnx library, which takes long to import."""

import os
from pathlib import Path
from typing import Final

from nestmap.pipeline.frontend.bounded_files import read_bounded

EXPECTED: Final = "an ONNX model (a file that onnx.save wrote)"

InputValue = bool | int | float
"""A value that all elements of an input of a network have."""

_LARGEST: Final = 2**31 - 1
"""The largest file (bytes): protobuf reads no larger message."""

_LARGEST_PIPED: Final = 2**28
"""The largest content of a pipe or device (bytes), which may have no end."""


def read_onnx_bytes(path: Path, where: str | None = None) -> bytes:
    """The content of a file, pipe or device that should hold an ONNX model.

    Args:
        path: where it is.
        where: its name in messages (default: the path).

    Raises:
        InputError: if it cannot be read, is too large, or is a pipe that is not written to its end.
    """
    most = _LARGEST if os.path.isfile(path) else _LARGEST_PIPED
    return read_bounded(path, most, EXPECTED, where)


def default_name(path: Path) -> str:
    """The name of the workload in a file."""
    return os.fsencode(path.stem).decode(errors="replace") or "onnx"
