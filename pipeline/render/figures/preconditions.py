"""Checks before drawing that matplotlib is installed and file names are valid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from nestmap.model import InputError
from nestmap.pipeline.util.extras import check_installed

ENDINGS: Final = (".png", ".svg", ".pdf")
"""The file formats of figures."""

_LONGEST: Final = 80


def check_matplotlib() -> None:
    """Checks that matplotlib is installed.

    Raises:
        InputError: if it is not; the message says how to install it.
    """
    check_installed("figures", ("matplotlib",), "plot")


def check_ending(path: Path) -> None:
    """Checks that a file name has the ending of a figure format.

    Raises:
        InputError: if it does not.
    """
    if path.suffix.lower() not in ENDINGS:
        found = f"the ending {path.suffix!r}" if path.suffix else "no ending"
        raise InputError(str(path), found, f"a figure's: {', '.join(ENDINGS)}")


def file_name(name: str) -> str:
    """A valid file name, without ending, for any name.

    >>> file_name("conv1/3x3: a"), file_name("..")
    ('conv1_3x3_a', '_')
    """
    return re.sub(r"[^A-Za-z0-9.-]+|^\.+", "_", name)[:_LONGEST] or "_"
