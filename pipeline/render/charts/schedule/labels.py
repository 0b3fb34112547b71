"""Labels, colours, kinds of transfers and windows that charts of schedules share."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from nestmap.pipeline.analysis.schedule.names import KIND_LOOKS
from nestmap.pipeline.analysis.schedule.tables import BarKind, Row, RowKind, StallReason
from nestmap.pipeline.format.mappings import core_ranges
from nestmap.pipeline.format.palette import mixed, ramp_color
from nestmap.pipeline.render.charts.schedule.strips import Part

# --- the kinds of transfers as parts of charts ---

SENT_KINDS: Final = (
    BarKind.CONSTANT,
    BarKind.ACTIVATION,
    BarKind.EVICTION,
    BarKind.RESULT,
    BarKind.STREAM,
)

_PREFIXES: Final = {RowKind.CORE: "core", RowKind.WIRE: "wire", RowKind.OFFCHIP: "off chip"}


def sent_parts() -> tuple[Part, ...]:
    """The kinds of transfers as parts of a chart, in their order."""
    return tuple(Part(KIND_LABELS[kind], KIND_LOOKS[kind]) for kind in SENT_KINDS)


def row_name(row: Row) -> str:
    """The label of a row; off-chip channels say so."""
    return f"{_PREFIXES[row.kind]} {row_label(row)}"


_TINTS: Final = (0.2, 0.4)
"""The shares of white in the colours of layers between those in the legend, in turn."""

KIND_LABELS: Final = {
    BarKind.NODE: "nodes",
    BarKind.CONSTANT: "constants",
    BarKind.ACTIVATION: "activations",
    BarKind.EVICTION: "evictions",
    BarKind.RESULT: "results",
    BarKind.STREAM: "streams",
}

STALL_LABELS: Final = {
    StallReason.PREDECESSOR: "waits for a predecessor",
    StallReason.TRANSFER: "waits for a transfer",
    StallReason.MEMORY: "waits for capacity",
    StallReason.NOTHING: "nothing left to run",
}


def layer_colors(layers: int, named: Sequence[int]) -> tuple[str, ...]:
    """A colour for each layer, from the first to the last; the named ones are evenly apart.

    The others are between their neighbours, and lighter.
    """
    places = np.interp(np.arange(layers), named, np.arange(len(named)))
    colors = [ramp_color(place, len(named)) for place in places.tolist()]
    return tuple(
        color if layer in named else mixed(color, "#ffffff", _TINTS[layer % 2])
        for layer, color in enumerate(colors)
    )


def row_label(row: Row) -> str:
    """The label of a row: the number and name of a core, or the cores at the ends of a channel."""
    return f"{row.number}: {row.name}" if row.kind is RowKind.CORE else core_ranges(row.name)
