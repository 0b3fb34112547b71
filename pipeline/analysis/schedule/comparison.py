"""Prepares schedules for comparison: common layer numbers, fewer rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nestmap.pipeline.analysis.schedule.tables import NONE, Gantt, GanttBars, Ints, RowKind


def align_layers(charts: Sequence[Gantt]) -> tuple[Gantt, ...]:
    """The charts with the layers of all of them, in order of first appearance."""
    layers = tuple(dict.fromkeys(name for chart in charts for name in chart.layers))
    place = {name: i for i, name in enumerate(layers)}
    made: list[Gantt] = []
    for chart in charts:
        new = np.array([place[name] for name in chart.layers], dtype=np.int64)
        bars = replace(chart.bars, layer=new[chart.bars.layer])
        made.append(replace(chart, bars=bars, layers=layers))
    return tuple(made)


def without_wires(chart: Gantt) -> Gantt:
    """The chart without channels between cores; their steps on the critical path have no row."""
    kept = [i for i, row in enumerate(chart.rows) if row.kind is not RowKind.WIRE]
    new = np.full(len(chart.rows) + 1, NONE, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    shown = np.flatnonzero(new[chart.bars.row] != NONE)
    return replace(
        chart,
        rows=tuple(chart.rows[i] for i in kept),
        bars=_moved(chart.bars, shown, new),
        stalls=replace(chart.stalls, row=new[chart.stalls.row]),
        path_rows=new[chart.path_rows],
    )


def _moved(bars: GanttBars, shown: Ints, new: Ints) -> GanttBars:
    return GanttBars(
        row=new[bars.row[shown]],
        start=bars.start[shown],
        end=bars.end[shown],
        kind=bars.kind[shown],
        event=bars.event[shown],
        layer=bars.layer[shown],
        count=bars.count[shown],
    )
