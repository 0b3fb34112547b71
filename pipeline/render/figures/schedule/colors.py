"""Colours and labels for schedules: layers, transfers, stall reasons."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from nestmap.pipeline.analysis.schedule.tables import BarKind, Row, RowKind, StallReason
from nestmap.pipeline.format.palette import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    Look,
)

_HUES: Final = (BLUE, ORANGE, GREEN, SKY, PURPLE, YELLOW)
_LIGHTEST: Final = 0.5
_DARKEST: Final = 0.55

KIND_LOOKS: Final = {
    BarKind.NODE: Look(BLUE),
    BarKind.CONSTANT: Look("#b5b5b5"),
    BarKind.ACTIVATION: Look("#333333"),
    BarKind.EVICTION: Look(VERMILLION),
    BarKind.RESULT: Look("#7d7d7d"),
    BarKind.STREAM: Look("#ffffff", "//////"),
}
"""Layers have colours; transfers are grey, except for avoidable ones."""

KIND_LABELS: Final = {
    BarKind.NODE: "nodes",
    BarKind.CONSTANT: "constants",
    BarKind.ACTIVATION: "activations",
    BarKind.EVICTION: "evictions",
    BarKind.RESULT: "results",
    BarKind.STREAM: "streams",
}

STALL_LOOKS: Final = {
    StallReason.PREDECESSOR: Look("#e6e6e6"),
    StallReason.TRANSFER: Look("#c9def0"),
    StallReason.MEMORY: Look("#f7cdb5"),
    StallReason.NOTHING: Look("#ffffff"),
}

STALL_LABELS: Final = {
    StallReason.PREDECESSOR: "waits for a predecessor",
    StallReason.TRANSFER: "waits for a transfer",
    StallReason.MEMORY: "waits for room",
    StallReason.NOTHING: "nothing left to run",
}


def layer_colors(layers: int) -> tuple[str, ...]:
    """A colour for each layer: neighbours differ in hue, distant layers also in lightness.

    Up to six layers have pure hues. Beyond that, each group of six is darker than the one before.
    """
    levels = -(-layers // len(_HUES))
    return tuple(
        _shaded(_HUES[layer % len(_HUES)], layer // len(_HUES), levels) for layer in range(layers)
    )


def row_label(row: Row) -> str:
    """The label of a row: the number and name of a core, or the cores at the ends of a channel."""
    return f"{row.number}: {row.name}" if row.kind is RowKind.CORE else core_ranges(row.name)


def core_ranges(name: str) -> str:
    """The name of a channel, with consecutive cores as a range.

    >>> core_ranges("bus 0, 1, 2, 3 -> 5")
    'bus 0\u20133 \u2192 5'
    """
    listed = re.sub(r"\d+(, \d+)+", lambda found: _ranges(found.group()), name)
    return listed.replace("->", "\u2192")


def _ranges(numbers: str) -> str:
    """Three or more consecutive numbers as a range."""
    found = enumerate(map(int, numbers.split(", ")))
    parts: list[str] = []
    for _, run in groupby(found, lambda x: x[1] - x[0]):
        texts = [str(number) for _, number in run]
        parts += [f"{texts[0]}\u2013{texts[-1]}"] if len(texts) > 2 else texts
    return ", ".join(parts)


def _shaded(color: str, level: int, levels: int) -> str:
    """The colour at a level: the second of two is dark, the first ones of more are light."""
    shift = level / 2 if levels <= 2 else 2 * level / (levels - 1) - 1
    if shift < 0:
        return _mixed(color, 255, -shift * _LIGHTEST)
    return _mixed(color, 0, shift * _DARKEST)


def _mixed(color: str, other: int, share: float) -> str:
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (other - part) * share):02x}" for part in parts)
