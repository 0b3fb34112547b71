"""Colours that colour-blind readers can distinguish, and hatches once they run out."""

from __future__ import annotations

from typing import Final, NamedTuple

INK: Final = "#222222"
MUTED: Final = "#666666"
GRID: Final = "#dddddd"

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
SKY: Final = "#56B4E9"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
YELLOW: Final = "#F0E442"

PALETTE: Final = (BLUE, ORANGE, GREEN, SKY, VERMILLION, PURPLE, YELLOW)
"""The colours of Okabe and Ito ("Color Universal Design", 2008), without black."""

GREYS: Final = ("#333333", "#777777", "#a6a6a6", "#555555", "#c4c4c4", "#8f8f8f")
"""The greys of computation and leakage, which leave the colours to memories."""

_HATCHES: Final = ("", "/////", ".....", "xxxxx", "-----")


class Look(NamedTuple):
    """The colour of an area, and its hatch."""

    color: str
    hatch: str = ""


def look(position: int) -> Look:
    """The look of the part at that position: plain colours first, then hatched ones."""
    return _look(PALETTE, position)


def grey_look(position: int) -> Look:
    """As :func:`look`, in greys."""
    return _look(GREYS, position)


def on(color: str) -> str:
    """The text colour that is readable on a colour."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.45 else INK


def _look(colors: tuple[str, ...], position: int) -> Look:
    hatch = _HATCHES[position // len(colors) % len(_HATCHES)]
    return Look(colors[position % len(colors)], hatch)
