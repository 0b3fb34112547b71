"""Numbers as people read them: engineering units, thousands separators, shares; safe text."""

from __future__ import annotations

from typing import Final

_PREFIXES: Final = {
    -15: "f", -12: "p", -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"
}  # fmt: skip
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def engineering(value: float, unit: str = "") -> str:
    """Four significant digits and a prefix; ``value`` is in ``unit`` and not negative.

    >>> engineering(118_013_952), engineering(9.5127e-5, "J"), engineering(1093)
    ('118.0 M', '95.13 uJ', '1,093')
    """
    if value == int(value) and value < 10_000:  # whole numbers of four digits say it all
        return f"{int(value):,} {unit}".strip()
    power = int(f"{value:.3e}".partition("e")[2])  # after rounding: 999.96 is 1.000 k
    thousands = max(min(_PREFIXES), min(max(_PREFIXES), power // 3 * 3))
    text = f"{value / 10.0**thousands:.{max(0, 3 - (power - thousands))}f}"
    return f"{text} {_PREFIXES[thousands]}{unit}".strip()


def energy(picojoules: float) -> str:
    """An energy given in pJ.

    >>> energy(5129932356.88), energy(0.0)
    ('5.130 mJ', '0 J')
    """
    return engineering(picojoules * 1e-12, "J")


def count(number: int) -> str:
    """A whole number with thousands separators.

    >>> count(8002654)
    '8,002,654'
    """
    return f"{number:,}"


def cycles(number: float) -> str:
    """A number of cycles, with decimals only where it is no whole one.

    >>> cycles(401408.0), cycles(12.375)
    ('401,408', '12.38')
    """
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def share(part: float) -> str:
    """A share of 1 in percent.

    >>> share(0.28731)
    '28.7%'
    """
    return f"{100 * part:.1f}%"


def capacity(bits: int) -> str:
    """A memory size given in bits.

    >>> capacity(16777216), capacity(1024), capacity(12)
    ('2 MiB', '128 B', '12 bit')
    """
    if bits % 8:
        return f"{bits} bit"
    value, step = bits / 8, 0
    while value >= 1024 and step + 1 < len(_BINARY):
        value, step = value / 1024, step + 1
    return f"{value:.4g} {_BINARY[step]}"


def printable(text: str) -> str:
    """The text with what would move a terminal's cursor or break a line spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
