"""Reading the text of an explanation back: its parts, its loops, its rounded figures."""

import re
from dataclasses import dataclass
from typing import Final, final

from nestmap.model import Loop

PREFIXES: Final = {"f": -15, "p": -12, "n": -9, "u": -6, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6,
                   "G": 9, "T": 12, "P": 15}  # fmt: skip
BYTES: Final = {name: 8 * 1024.0**i for i, name in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}
FIGURE: Final = re.compile(r"(-?[\d,]+)(?:\.(\d+))? ?([fpnuµmkMGTP]?)(J|s)?")
LOOP: Final = re.compile(r" *(?:par)?for (\w+) in \[0:(\d+)\)(?: on (\w+))?:")


@final
@dataclass(frozen=True)
class Rounded:
    """A figure as it was printed."""

    value: float
    half_a_digit: float

    def tells(self, exact: float) -> bool:
        """Whether it is the exact one, rounded."""
        return abs(self.value - exact) <= self.half_a_digit * 1.0001 + 1e-9 * abs(exact)


def figure(text: str) -> Rounded:
    """A figure with its prefix; of an energy in J."""
    match = FIGURE.fullmatch(text)
    assert match, text
    whole, decimals, prefix, _ = match.groups(default="")
    scale = 10.0 ** PREFIXES[prefix]
    half = 0.5 * 10.0 ** -len(decimals) * scale if decimals else 0.0
    return Rounded(float(f"{whole.replace(',', '')}.{decimals or 0}") * scale, half)


def percent(text: str) -> Rounded:
    """A share in percent."""
    return Rounded(float(text.removesuffix("%")) / 100, 0.0005)


def bits(text: str) -> Rounded:
    """A size in bits of four digits."""
    number, unit = text.split()
    if unit == "bit":
        return Rounded(float(number), 0.0)
    value = float(number) * BYTES[unit]
    return Rounded(value, value * 5e-4)


def part(text: str, name: str) -> list[str]:
    """The lines below a title, up to an empty one."""
    lines = text.splitlines()
    begin = lines.index(name) + 1
    return lines[begin : lines.index("", begin)]


def cells(line: str) -> list[str]:
    """The cells of a row."""
    return re.split(r" {2,}", line.strip())


def loops(lines: list[str]) -> list[tuple[Loop, str | None]]:
    """The loops from the outermost in, each with the array dimension that it runs over."""
    matches = [match for line in lines if (match := LOOP.fullmatch(line))]
    return [(Loop(dimension=x[1], size=int(x[2])), x[3]) for x in matches]
