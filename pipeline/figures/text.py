"""Names and numbers as they stand in figures: every character can be drawn, long names are cut."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from matplotlib import get_data_path
from matplotlib.ft2font import FT2Font
from matplotlib.ticker import FuncFormatter

from nestmap.pipeline.figures.matplot import formatter
from nestmap.pipeline.report.columns import printable
from nestmap.pipeline.report.figures import energy

LONGEST: Final = 26
"""Letters of a name in a figure; longer ones lose their middle."""

TIMES: Final = "\u00d7"

_ENERGIES: Final = ((1e15, "kJ"), (1e12, "J"), (1e9, "mJ"), (1e6, "µJ"), (1e3, "nJ"), (1.0, "pJ"))
_CYCLES: Final = (
    (1e9, "billion cycles"),
    (1e6, "million cycles"),
    (1e3, "thousand cycles"),
    (1.0, "cycles"),
)
_POWERS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


class Unit(NamedTuple):
    """What the numbers on an axis are divided by, and the unit that gives."""

    divisor: float
    name: str

    def formatter(self) -> FuncFormatter:
        """Writes the numbers of an axis in the unit."""
        return formatter(self._written)

    def _written(self, value: float, position: int | None) -> str:
        del position  # of the number on the axis
        return f"{value / self.divisor:,.4g}"


def energy_unit(largest: float) -> Unit:
    """A unit for energies of up to so many pJ."""
    return _unit(_ENERGIES, largest)


def cycles_unit(largest: float) -> Unit:
    """A unit for up to so many cycles."""
    return _unit(_CYCLES, largest)


def energy_text(picojoules: float) -> str:
    """An energy given in pJ, in letters.

    >>> energy_text(95.13e6)
    '95.13 µJ'
    """
    return energy(picojoules).replace(" u", " µ")


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
    name = drawable(text)
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}…{name[-end:]}"


@cache
def _known() -> frozenset[int]:
    """The characters of the font of all figures."""
    path = Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return frozenset(FT2Font(str(path)).get_charmap())


def _unit(units: tuple[tuple[float, str], ...], largest: float) -> Unit:
    return next((Unit(*unit) for unit in units if largest >= unit[0]), Unit(*units[-1]))
