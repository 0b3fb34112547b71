"""The colours of figures for light and dark pages; hatches on paper are tints here."""

from __future__ import annotations

from typing import Final, NamedTuple

from nestmap.pipeline.format.palette import GREYS, Look

_WHITE: Final = 255
_BLACK: Final = 0

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


class Tone(NamedTuple):
    """A colour for light pages and one for dark pages."""

    light: str
    dark: str


def tone(look: Look) -> Tone:
    """The colours of a part of a figure."""
    if look.color == "#ffffff":
        blank = _BLANKS.get(look.hatch, look.color)
        return Tone(blank, blank)
    mixed = _mixed(look.color, *_TINTS[look.hatch])
    return Tone(mixed, _lighter_grey(mixed) if look.color in GREYS else _mixed(mixed, _WHITE, 0.12))


def _mixed(color: str, other: int, share: float) -> str:
    parts = (round(x + (other - x) * share) for x in _channels(color))
    return "#" + "".join(f"{x:02x}" for x in parts)


def _lighter_grey(color: str) -> str:
    """A grey that is visible on black; dark greys become light."""
    value = 255 - round(_channels(color)[0] * 0.62)
    return f"#{value:02x}{value:02x}{value:02x}"


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
