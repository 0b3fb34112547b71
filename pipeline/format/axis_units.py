"""Numbers of figures in units that suit their size, and names cut to the room there is."""

from __future__ import annotations

from typing import Final, NamedTuple

from nestmap.pipeline.format.numbers import energy

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
_BITS: Final = ((8.0 * 2**30, "GiB"), (8.0 * 2**20, "MiB"), (8.0 * 2**10, "KiB"), (8.0, "B"))


class Unit(NamedTuple):
    """What the numbers on an axis are divided by, and the unit that gives."""

    divisor: float
    name: str


PERCENT: Final = Unit(0.01, "%")


def energy_unit(largest: float) -> Unit:
    """A unit for energies of up to so many pJ."""
    return _unit(_ENERGIES, largest)


def cycles_unit(largest: float) -> Unit:
    """A unit for up to so many cycles."""
    return _unit(_CYCLES, largest)


def bits_unit(largest: float) -> Unit:
    """A unit for up to so many bits."""
    return _unit(_BITS, largest)


def energy_text(picojoules: float) -> str:
    """An energy given in pJ, in letters.

    >>> energy_text(95.13e6)
    '95.13 µJ'
    """
    return energy(picojoules).replace(" u", " µ")


def shortened(name: str, longest: int = LONGEST) -> str:
    """The name without its middle where it is long.

    >>> shortened("layer1/conv2/weights", 11)
    'layer…ights'
    """
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}…{name[-end:]}"


def _unit(units: tuple[tuple[float, str], ...], largest: float) -> Unit:
    return next((Unit(*unit) for unit in units if largest >= unit[0]), Unit(*units[-1]))
