"""Texts that matplotlib can draw: unsupported characters escaped, long names shortened."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from matplotlib import get_data_path
from matplotlib.ft2font import FT2Font
from matplotlib.ticker import FuncFormatter

from nestmap.pipeline.format.mappings import LONGEST, shortened
from nestmap.pipeline.format.numbers import Unit, short_number
from nestmap.pipeline.render.figures.matplotlib_types import formatter
from nestmap.pipeline.render.text.plain_table import printable


def unit_formatter(unit: Unit) -> FuncFormatter:
    """Formats the numbers of an axis in the unit."""

    def written(value: float, position: int | None) -> str:
        del position  # of the number on the axis
        return unit.number(value)

    return formatter(written)


def short_numbers(value: float, position: int | None) -> str:
    """Formats the numbers of a logarithmic axis."""
    del position
    return short_number(value)


def escape_undrawable(text: str) -> str:
    """The text with line breaks and characters missing in the font escaped."""
    known = _known()
    return "".join(
        c if ord(c) in known else c.encode("unicode_escape").decode() for c in printable(text)
    )


def short_name(text: str, longest: int = LONGEST) -> str:
    """A drawable name, with its middle left out if it is long."""
    return shortened(escape_undrawable(text), longest)


@cache
def _known() -> frozenset[int]:
    """The characters of the figure font."""
    path = Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return frozenset(FT2Font(str(path)).get_charmap())
