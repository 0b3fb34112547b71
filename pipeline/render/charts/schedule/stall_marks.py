"""Idle times and the critical path for the Gantt chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.tables import NONE, Gantt
from nestmap.pipeline.render.charts.vega_spec import Row

MOST_STALLS: Final = 1000
"""The maximum number of idle times shown, the longest ones."""

_CELLS: Final = 1500
"""Steps of the critical path on a row are merged if closer than one part in this number."""


def stall_rows(schedule: Schedule, found: Gantt) -> Iterator[Row]:
    """The longest idle times: core, duration, reason, and the waiting layer and node."""
    stalls, nodes = found.stalls, schedule.problem.nodes
    layers = {name: place for place, name in enumerate(found.layers)}
    lengths = stalls.end - stalls.start
    for place in sorted(np.argsort(-lengths, kind="stable")[:MOST_STALLS].tolist()):
        node = int(stalls.node[place])
        datum: dict[str, int] = {
            "row": int(stalls.row[place]),
            "start": int(stalls.start[place]),
            "end": int(stalls.end[place]),
            "reason": int(stalls.reason[place]),
        }
        if node != NONE:
            layer, number = nodes.layer_of(node)
            datum |= {"layer": layers[layer.nest.name], "node": number}
        yield datum


def critical_rows(found: Gantt) -> Iterator[Row]:
    """The rows and times of the steps of the critical path, with close ones merged."""
    path, spans = found.critical, dict[int, list[tuple[int, int]]]()
    columns = (found.path_rows.tolist(), path.start.tolist(), path.end.tolist())
    for row, start, end in zip(*columns, strict=True):
        if row != NONE:
            spans.setdefault(row, []).append((start, end))
    for row, some in spans.items():
        for start, end in _joined(some, found.latency / _CELLS):
            yield {"row": row, "start": start, "end": end}


def _joined(spans: Sequence[tuple[int, int]], gap: float) -> Iterator[tuple[int, int]]:
    """Spans by time, with those merged that have only a small gap between them."""
    ordered = sorted(spans)
    start, end = ordered[0]
    for first, last in ordered[1:]:
        if first - end > gap:
            yield start, end
            start, end = first, last
        end = max(end, last)
    yield start, end
