"""The colours of figures for light and dark pages; hatches on paper are tints here."""

from __future__ import annotations

from typing import Final, NamedTuple

from nestmap.pipeline.format.palette import GREYS, WAITS, Look, brightness, mixed

_WHITE: Final = "#ffffff"
_BLACK: Final = "#000000"

_TINTS: Final = {
    "": (_WHITE, 0.0),
    "/////": (_WHITE, 0.55),
    ".....": (_BLACK, 0.35),
    "xxxxx": (_WHITE, 0.78),
    "-----": (_BLACK, 0.6),
}
"""The colour mixed in for each hatch, and its share."""

_BLANKS: Final = {"/////": "#ffffff", ".....": "#dadada"}
"""The same for hatches on white."""

_SHADE: Final = 0.45


class Tone(NamedTuple):
    """A colour for light pages and one for dark pages."""

    light: str
    dark: str


def tone(look: Look) -> Tone:
    """The colours of a part of a figure."""
    if look.color == "#ffffff":
        blank = _BLANKS.get(look.hatch, look.color)
        return Tone(blank, blank)
    light = mixed(look.color, *_TINTS[look.hatch])
    if look.color in WAITS:  # idle times are close to the colour of the page
        return Tone(light, mixed(light, _BLACK, _SHADE))
    return Tone(light, _lighter_grey(light) if look.color in GREYS else _lighter(light))


def _lighter(color: str) -> str:
    """A colour that is visible on black: the darker it is, the more white it gets."""
    return mixed(color, _WHITE, max(0.12, 0.5 - brightness(color)))


def _lighter_grey(color: str) -> str:
    """A grey that is visible on black; dark greys become light."""
    value = 255 - round(int(color[1:3], 16) * 0.62)
    return f"#{value:02x}{value:02x}{value:02x}"
