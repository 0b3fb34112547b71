"""Formats numbers: engineering units, thousands separators, shares, units of axes."""

from __future__ import annotations

import re
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from nestmap.model.units import AreaUnit

ARBITRARY_UNITS: Final = "a.u."
TIMES: Final = "\u00d7"
MINUS: Final = "\u2212"

_PREFIXES: Final = {
    -15: "f", -12: "p", -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"
}  # fmt: skip
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_POWERS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


class Unit(NamedTuple):
    """The divisor of the numbers on an axis, and the resulting unit."""

    divisor: float
    name: str

    def number(self, value: float) -> str:
        """A value in the unit, to four significant digits."""
        return f"{value / self.divisor:,.4g}"


PERCENT: Final = Unit(0.01, "%")
_ENERGY_UNITS: Final = (
    Unit(1e15, "kJ"),
    Unit(1e12, "J"),
    Unit(1e9, "mJ"),
    Unit(1e6, "µJ"),
    Unit(1e3, "nJ"),
    Unit(1.0, "pJ"),
)
_CYCLE_UNITS: Final = (
    Unit(1e9, "billion cycles"),
    Unit(1e6, "million cycles"),
    Unit(1e3, "thousand cycles"),
    Unit(1.0, "cycles"),
)
_BIT_UNITS: Final = (
    Unit(8.0 * 2**30, "GiB"),
    Unit(8.0 * 2**20, "MiB"),
    Unit(8.0 * 2**10, "KiB"),
    Unit(8.0, "B"),
)


def engineering(value: float, unit: str = "") -> str:
    """The value with four significant digits and a prefix; ``value`` is non-negative, in ``unit``.

    >>> engineering(118_013_952), engineering(9.5127e-5, "J"), engineering(1093)
    ('118.0 M', '95.13 uJ', '1,093')
    """
    if value == int(value) and value < 10_000:  # four-digit whole numbers need no prefix
        return f"{int(value):,} {unit}".strip()
    power = int(f"{value:.3e}".partition("e")[2])  # after rounding: 999.96 is 1.000 k
    thousands = max(min(_PREFIXES), min(max(_PREFIXES), power // 3 * 3))
    text = f"{value / 10.0**thousands:.{max(0, 3 - (power - thousands))}f}"
    return f"{text} {_PREFIXES[thousands]}{unit}".strip()


def rounded(value: float) -> str:
    """The value with five significant digits, and an exponent that is a multiple of three.

    Values from a thousandth to a million have no exponent, and all digits before the point.

    >>> rounded(5598921732.656), rounded(0.759435351), rounded(123456.75), rounded(2.5e-05)
    ('5.5989e9', '0.75944', '123457', '25e-6')
    """
    if value == 0 or 1e-3 <= abs(value) < 999_999.5:
        return f"{value:.{max(len(str(int(abs(value)))), 5)}g}"
    digits, _, exponent = f"{value:.4e}".partition("e")
    power, shift = divmod(int(exponent), 3)
    return f"{float(digits) * 10**shift:.5g}e{3 * power}"


def energy(picojoules: float) -> str:
    """An energy given in pJ.

    >>> energy(5129932356.88), energy(0.0)
    ('5.130 mJ', '0 J')
    """
    return engineering(picojoules * 1e-12, "J")


def energy_text(picojoules: float) -> str:
    """An energy given in pJ, with ``µ`` as the prefix for micro.

    >>> energy_text(95.13e6)
    '95.13 µJ'
    """
    return with_micro(energy(picojoules))


def area_unit(unit: AreaUnit | None) -> str:
    """The unit of areas; arbitrary units if the description states none."""
    return ARBITRARY_UNITS if unit is None else unit.value


def area_text(area: float, unit: AreaUnit | None) -> str:
    """An area with its unit.

    >>> area_text(12.345678, None)
    '12.35 a.u.'
    """
    return f"{area:.4g} {area_unit(unit)}"


def count(number: int) -> str:
    """A whole number with thousands separators.

    >>> count(8002654)
    '8,002,654'
    """
    return f"{number:,}"


def cycles(number: float) -> str:
    """A number of whole cycles: fractions come from bounds on loading, which no chip measures.

    >>> cycles(401408.0), cycles(7398636.69)
    ('401,408', '7,398,637')
    """
    return f"{number:,.0f}"


def share(part: float) -> str:
    """A share of 1 as a percentage.

    >>> share(0.28731)
    '28.7%'
    """
    return f"{100 * part:.1f}%"


def gap_text(gap: float | None) -> str:
    """How far a result may be from the optimum, rounded up, as a share of the result.

    >>> gap_text(0.0), gap_text(0.1231), gap_text(1e-6), gap_text(None)
    ('optimal', '12.4%', '0.1%', '-')
    """
    if gap is None:
        return "-"
    return f"{ceil(1000 * gap) / 10:.1f}%" if gap else "optimal"


def capacity(bits: int) -> str:
    """A memory size given in bits.

    >>> capacity(16777216), capacity(1024), capacity(12), capacity(3008103)
    ('2 MiB', '128 B', '12 bit', '367.2 KiB')
    """
    if bits % 8 and bits < 8 * 1024:
        return f"{bits} bit"
    value, step = bits / 8, 0
    while value >= 1024 and step + 1 < len(_BINARY):
        value, step = value / 1024, step + 1
    return f"{value:.4g} {_BINARY[step]}"


def size_text(bits: int) -> str:
    """A data size in whole bytes; ``-`` for none.

    >>> [size_text(bits) for bits in (0, 1, 8, 12, 8192)]
    ['-', '1 B', '1 B', '2 B', '1 KiB']
    """
    return capacity(-(-bits // 8) * 8) if bits else "-"


def printable(text: str) -> str:
    """The text with control characters and line breaks escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short_number(value: float) -> str:
    """A number for a logarithmic axis.

    >>> short_number(1000.0), short_number(0.01), short_number(2e6)
    ('1k', '0.01', '2M')
    """
    for power, letter in _POWERS:
        if value >= power:
            return f"{value / power:g}{letter}"
    return f"{value:g}"


def signed_share(part: float) -> str:
    """A relative change in percent with its sign; a small one has one significant digit.

    >>> signed_share(0.5), signed_share(-0.25), signed_share(0.00012)
    ('+50.0%', '-25.0%', '+0.01%')
    """
    digits = ".1f" if abs(part) >= 0.0005 else ".1g"
    return f"{100 * part:+{digits}}%"


def with_micro(text: str) -> str:
    """The text with the prefix ``u`` (for terminals) replaced by ``µ``.

    >>> with_micro("5 cycles (3.2 us), 18.7 uJ, 3 u in unit u")
    '5 cycles (3.2 µs), 18.7 µJ, 3 µ in unit u'
    """
    return re.sub(r"(?<=\d )u(?=[Js]?\b)", "µ", text)


def energy_unit(largest: float) -> Unit:
    """A unit for energies of up to that many pJ."""
    return _unit(_ENERGY_UNITS, largest)


def cycles_unit(largest: float) -> Unit:
    """A unit for up to that many cycles."""
    return _unit(_CYCLE_UNITS, largest)


def power_unit(largest: float) -> Unit:
    """A power of ten for numbers of up to that magnitude, where they are large or small.

    >>> [power_unit(x).divisor for x in (2.5e17, 1234.0, 0.0)]
    [1000000000000000.0, 1.0, 1.0]
    """
    if largest == 0 or 1e-3 <= largest < 1e6:
        return Unit(1.0, "")
    power = max(-300, floor(log10(largest)) // 3 * 3)  # 1e-303 is no precise number
    return Unit(float(f"1e{power}"), f"{TIMES} 10^{power}")


def bits_unit(largest: float) -> Unit:
    """A unit for up to that many bits."""
    return _unit(_BIT_UNITS, largest)


def _unit(units: tuple[Unit, ...], largest: float) -> Unit:
    return next((unit for unit in units if largest >= unit.divisor), units[-1])
