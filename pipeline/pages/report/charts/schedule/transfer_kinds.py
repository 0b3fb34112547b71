"""What passes wires, by kind: names and colours."""

from __future__ import annotations

from typing import Final

from nestmap.pipeline.analysis.schedule.tables import BarKind, Row, RowKind
from nestmap.pipeline.format.palette import BLUE, GREEN, ORANGE, PURPLE, VERMILLION, Look
from nestmap.pipeline.pages.report.charts.schedule.strips import Part
from nestmap.pipeline.render.figures.schedule.colors import KIND_LABELS, row_label

SENT_KINDS: Final = (
    BarKind.CONSTANT,
    BarKind.ACTIVATION,
    BarKind.EVICTION,
    BarKind.RESULT,
    BarKind.STREAM,
)

_LOOKS: Final = (Look(ORANGE), Look(BLUE), Look(VERMILLION), Look(GREEN), Look(PURPLE))
"""Figures on paper have greys; pages are light or dark."""


_PREFIXES: Final = {RowKind.CORE: "core", RowKind.WIRE: "wire", RowKind.OFFCHIP: "off chip"}


def sent_parts() -> tuple[Part, ...]:
    """The parts of what is sent, in the order of the kinds."""
    pairs = zip(SENT_KINDS, _LOOKS, strict=True)
    return tuple(Part(KIND_LABELS[kind], look) for kind, look in pairs)


def row_name(row: Row) -> str:
    """What a row is called; wires to and from the memory off the chip say so."""
    return f"{_PREFIXES[row.kind]} {row_label(row)}"
