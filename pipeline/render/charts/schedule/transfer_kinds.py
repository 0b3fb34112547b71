"""The kinds of transfers as parts of charts."""

from __future__ import annotations

from typing import Final

from nestmap.pipeline.analysis.schedule.names import KIND_LOOKS
from nestmap.pipeline.analysis.schedule.tables import BarKind, Row, RowKind
from nestmap.pipeline.render.charts.schedule.labels import KIND_LABELS, row_label
from nestmap.pipeline.render.charts.schedule.strips import Part

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
