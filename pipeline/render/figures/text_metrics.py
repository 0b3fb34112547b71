"""Names and numbers as matplotlib draws them: every character is there, long names are cut."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from matplotlib import get_data_path
from matplotlib.ft2font import FT2Font
from matplotlib.ticker import FuncFormatter

from nestmap.pipeline.format.axis_units import LONGEST, Unit, shortened
from nestmap.pipeline.render.figures.matplotlib_types import formatter
from nestmap.pipeline.render.text.plain_table import printable

_POWERS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def unit_formatter(unit: Unit) -> FuncFormatter:
    """Writes the numbers of an axis in the unit."""

    def written(value: float, position: int | None) -> str:
        del position  # of the number on the axis
        return f"{value / unit.divisor:,.4g}"

    return formatter(written)


def short_number(value: float) -> str:
    """A number on a logarithmic axis.

    >>> short_number(1000.0), short_number(0.01), short_number(2e6)
    ('1k', '0.01', '2M')
    """
    for power, letter in _POWERS:
        if value >= power:
            return f"{value / power:g}{letter}"
    return f"{value:g}"


def short_numbers(value: float, position: int | None) -> str:
    """The numbers of a logarithmic axis."""
    del position
    return short_number(value)


def drawable(text: str) -> str:
    """The text with what the font lacks, or what breaks lines, spelled out."""
    known = _known()
    return "".join(
        c if ord(c) in known else c.encode("unicode_escape").decode() for c in printable(text)
    )


def short_name(text: str, longest: int = LONGEST) -> str:
    """A name that can be drawn, without its middle where it is long."""
    return shortened(drawable(text), longest)


@cache
def _known() -> frozenset[int]:
    """The characters of the font of all figures."""
    path = Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return frozenset(FT2Font(str(path)).get_charmap())
