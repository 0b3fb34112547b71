"""Names and colours of the kinds of transfers."""

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
"""Colours for light and dark pages; figures on paper have greys."""


_PREFIXES: Final = {RowKind.CORE: "core", RowKind.WIRE: "wire", RowKind.OFFCHIP: "off chip"}


def sent_parts() -> tuple[Part, ...]:
    """The kinds of transfers as parts of a chart, in their order."""
    pairs = zip(SENT_KINDS, _LOOKS, strict=True)
    return tuple(Part(KIND_LABELS[kind], look) for kind, look in pairs)


def row_name(row: Row) -> str:
    """The label of a row; off-chip channels say so."""
    return f"{_PREFIXES[row.kind]} {row_label(row)}"
