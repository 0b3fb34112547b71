"""Draws the critical path as a line through the rows of a Gantt chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.tables import (
    NONE,
    BarKind,
    CriticalPath,
    Ints,
    Row,
    RowKind,
)


def path_rows(schedule: Schedule, path: CriticalPath, rows: Sequence[Row]) -> Ints:
    """The row of each step, ``NONE`` if it has none; with several channels, the slowest one."""
    ways = Interconnect(accelerator=schedule.problem.accelerator)
    place = {(row.kind is RowKind.CORE, row.number): i for i, row in enumerate(rows)}
    found: list[int] = []
    for kind, event in zip(path.kind.tolist(), path.event.tolist(), strict=True):
        if kind == BarKind.NODE:
            found.append(place[True, int(schedule.core[event])])
            continue
        sent = schedule.transfers
        wires = ways.path(int(sent.sending[event]), int(sent.receiving[event]))
        shown = [wire for wire in wires if (False, wire) in place]
        slowest = min(shown, key=lambda x: (ways.channels[x].bandwidth or 0, x), default=None)
        found.append(NONE if slowest is None else place[False, slowest])
    return np.array(found, dtype=np.int64)
