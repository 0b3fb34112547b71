"""Writes figures: the file name sets the format, equal figures give equal bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from nestmap.pipeline.render.figures.matplotlib_types import page_of
from nestmap.pipeline.render.figures.preconditions import check_ending
from nestmap.pipeline.render.figures.style import styled
from nestmap.pipeline.util.atomic_files import replacing

_NO_DATES: Final[dict[str, dict[str, str | None]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as PNG, SVG or PDF, atomically.

    Raises:
        InputError: if the name has another ending, or the file cannot be written.
    """
    check_ending(path)
    kind = path.suffix.lower().removeprefix(".")
    with styled(), replacing(path) as part:
        page_of(figure).savefig(part, format=kind, metadata=_NO_DATES[kind])
