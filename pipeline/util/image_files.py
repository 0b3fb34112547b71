"""Writes pictures to files whose names say the format."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nestmap.model import InputError
from nestmap.pipeline.util.atomic_files import replacing
from nestmap.pipeline.util.extras import check_installed

PICTURES: Final = (".svg", ".png", ".pdf")
"""The formats of pictures."""

CHARTS: Final = (*PICTURES, ".html", ".json")
"""The formats of charts: those of pictures, a page, and the Vega-Lite specification."""

_LONGEST: Final = 80
_SCALE: Final = 2.0
"""Pixels of a PNG for one of the picture."""


def check_drawing() -> None:
    """Checks that charts can be drawn.

    Raises:
        InputError: if vl-convert is not installed; the message says how to install it.
    """
    check_installed("charts", ("vl_convert",), "plot")


def check_ending(path: Path, endings: Sequence[str] = CHARTS) -> str:
    """The ending of a file name, if it is one of some formats.

    Raises:
        InputError: if it is not.
    """
    ending = path.suffix.lower()
    if ending not in endings:
        found = f"the ending {path.suffix!r}" if path.suffix else "no ending"
        raise InputError(str(path), found, f"one of {', '.join(endings)}")
    return ending


def save_svg(svg: str, path: Path) -> None:
    """Writes a picture as SVG, PNG or PDF, atomically.

    Raises:
        InputError: if the name has another ending, or the file cannot be written.
    """
    ending = check_ending(path, PICTURES)
    with replacing(path) as part:
        if ending == ".svg":
            part.write_text(svg, encoding="utf-8")
        else:
            part.write_bytes(_converted(svg, ending))


def _converted(svg: str, ending: str) -> bytes:
    check_drawing()
    import vl_convert  # noqa: PLC0415 (takes long to import)

    if ending == ".pdf":
        return vl_convert.svg_to_pdf(svg)
    return vl_convert.svg_to_png(svg, scale=_SCALE)


def file_name(name: str) -> str:
    """A valid file name, without ending, for any name.

    >>> file_name("conv1/3x3: a"), file_name("..")
    ('conv1_3x3_a', '_')
    """
    return re.sub(r"[^A-Za-z0-9.-]+|^\.+", "_", name)[:_LONGEST] or "_"
