"""The looks of what a schedule does: nodes, transfers by kind, idle times by reason."""

from __future__ import annotations

from typing import Final

from nestmap.pipeline.analysis.schedule.tables import BarKind, StallReason
from nestmap.pipeline.format.palette import GREYS, TRANSFERS, WAITS, Look

_SENT: Final = (
    BarKind.CONSTANT,
    BarKind.ACTIVATION,
    BarKind.EVICTION,
    BarKind.RESULT,
    BarKind.STREAM,
)
KIND_LOOKS: Final = {
    BarKind.NODE: Look(GREYS[0]),
    **{kind: Look(color) for kind, color in zip(_SENT, TRANSFERS, strict=True)},
}
"""Nodes without the colour of their layer are grey."""

STALL_LOOKS: Final = {reason: Look(color) for reason, color in zip(StallReason, WAITS, strict=True)}
