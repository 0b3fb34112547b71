"""The colours of figures: each scale has one meaning, in all figures and pages."""

from collections.abc import Iterable
from typing import Final, NamedTuple

INK: Final = "#222222"
MUTED: Final = "#666666"
GRID: Final = "#dddddd"

GREYS: Final = ("#333333", "#777777", "#a6a6a6", "#555555", "#c4c4c4", "#8f8f8f")
"""Computation: its energy by component, ideal cycles, and leakage."""

RAMP: Final = ("#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#0c2c84")
"""What has an order: memories from the innermost, layers from the first (ColorBrewer's YlGnBu)."""

OUTPUT_COLOR: Final = "#D55E00"
WEIGHT_COLOR: Final = "#7a3b00"
INPUT_COLOR: Final = "#E69F00"
OTHER_OPERANDS: Final = ("#F0E442", "#b2182b", "#CC79A7")
"""The operands of layers; those besides O, W and I in their order."""

TRANSFERS: Final = ("#F0E442", "#E69F00", "#D55E00", "#7a3b00", "#CC79A7")
"""What cores send: constants, activations, evictions, results, streams."""

CAUSES: Final = ("#882255", "#bb4d92", "#d98cc0", "#efc6e2")
"""Why a layer takes longer than computing: stall, on-loading, off-loading, drain."""

WAITS: Final = ("#e9e3ee", "#c9b5d9", "#8a63ad", "#f7f5f9")
"""Why a core is idle: predecessor, transfer, capacity, nothing left to run."""

RUNS: Final = ("#5a6b1e", "#aebb4e", "#2f3a10", "#d8dfa0")
"""Compared runs."""

CANDIDATES: Final = ("#332288", "#44AA99", "#CC6677", "#88CCEE", "#117733")
"""Spatial mappings of one layer (the first ones of Paul Tol's muted scheme, 2021)."""

SERIES: Final = "#5b7083"
"""A single quantity, which needs no legend."""

_HATCHES: Final = ("", "/////", ".....", "xxxxx", "-----")


class Look(NamedTuple):
    """The colour of an area, and its hatch."""

    color: str
    hatch: str = ""


def grey_look(position: int) -> Look:
    """The look of a component of computation: plain greys first, then hatched ones."""
    return _look(GREYS, position)


def run_look(position: int) -> Look:
    """The look of a compared run, as in :func:`grey_look`."""
    return _look(RUNS, position)


def operand_looks(operands: Iterable[str]) -> dict[str, Look]:
    """The look of each operand of layers."""
    fixed = {"O": Look(OUTPUT_COLOR), "W": Look(WEIGHT_COLOR), "I": Look(INPUT_COLOR)}
    names = dict.fromkeys(operands)
    others = [name for name in names if name not in fixed]
    return {name: fixed.get(name) or _look(OTHER_OPERANDS, others.index(name)) for name in names}


def ramp_color(position: float, count: int) -> str:
    """The colour of one of ``count`` ordered things, from light to dark."""
    place = (len(RAMP) - 1) * (position / (count - 1) if count > 1 else 0.5)
    below = min(int(place), len(RAMP) - 2)
    return mixed(RAMP[below], RAMP[below + 1], place - below)


def mixed(color: str, other: str, share: float) -> str:
    """A colour with that share of another one."""
    pairs = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def on(color: str) -> str:
    """The text colour that is readable on a colour."""
    return "#ffffff" if brightness(color) < 0.45 else INK


def brightness(color: str) -> float:
    """How bright a colour is, from 0 (black) to 1 (white), weighted as the eye does."""
    red, green, blue = (channel / 255 for channel in _channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _look(colors: tuple[str, ...], position: int) -> Look:
    hatch = _HATCHES[position // len(colors) % len(_HATCHES)]
    return Look(colors[position % len(colors)], hatch)


# --- the colours of figures for light and dark pages; hatches on paper are tints here ---

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
