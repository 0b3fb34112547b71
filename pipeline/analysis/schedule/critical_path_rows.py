"""The critical path as a line through the rows of a Gantt chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.tables import (
    NONE,
    BarKind,
    CriticalPath,
    Gantt,
    Ints,
    Row,
    RowKind,
)


def path_rows(schedule: Schedule, path: CriticalPath, rows: Sequence[Row]) -> Ints:
    """The row of each step: of what passes several wires the slowest one; ``NONE``: it has none."""
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


def path_line(chart: Gantt) -> tuple[Ints, Ints]:
    """Times and rows that the line goes through, across and down; steps without row left out."""
    shown = np.flatnonzero(chart.path_rows != NONE)
    start, end = chart.critical.start[shown], chart.critical.end[shown]
    row = chart.path_rows[shown]
    until = np.maximum(end, np.append(start[1:], end[-1:]))  # waits in its row for the next one
    times = np.stack((start, until), axis=1).reshape(-1)
    return times, np.repeat(row, 2)
