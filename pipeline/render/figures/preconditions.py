"""What must be right before anything is drawn: what draws is installed, files can be named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from nestmap.model import InputError
from nestmap.pipeline.util.extras import check_installed

ENDINGS: Final = (".png", ".svg", ".pdf")
"""The kinds of files that a figure can be written to."""

_LONGEST: Final = 80


def check_matplotlib() -> None:
    """Checks that matplotlib is there.

    Raises:
        InputError: if it is not installed; the message says how to install it.
    """
    check_installed("figures", ("matplotlib",), "plot")


def check_ending(path: Path) -> None:
    """Checks that a file's name ends like one of the kinds of figures.

    Raises:
        InputError: if it does not.
    """
    if path.suffix.lower() not in ENDINGS:
        found = f"the ending {path.suffix!r}" if path.suffix else "no ending"
        raise InputError(str(path), found, f"a figure's: {', '.join(ENDINGS)}")


def file_name(name: str) -> str:
    """A file name, without ending, for what has a name with any characters in it.

    >>> file_name("conv1/3x3: a"), file_name("..")
    ('conv1_3x3_a', '_')
    """
    return re.sub(r"[^A-Za-z0-9.-]+|^\.+", "_", name)[:_LONGEST] or "_"
