"""Builds the Gantt chart of a schedule: a row for each core and channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.critical_path import critical_path
from nestmap.pipeline.analysis.schedule.critical_path_rows import path_rows
from nestmap.pipeline.analysis.schedule.downsample import downsample_bars
from nestmap.pipeline.analysis.schedule.link_occupancy import (
    WireOccupancy,
    join_streams,
    wire_occupancy,
    wire_rows,
)
from nestmap.pipeline.analysis.schedule.stalls import stalls
from nestmap.pipeline.analysis.schedule.tables import BarKind, Gantt, GanttBars, Ints, Row, RowKind

_SENT: Final = {
    BarKind.CONSTANT: "constants of",
    BarKind.ACTIVATION: "output of",
    BarKind.EVICTION: "evicted, of",
    BarKind.RESULT: "result of",
    BarKind.STREAM: "streamed for",
}


def gantt(schedule: Schedule, cells: int | None = None) -> Gantt:
    """The chart of a schedule.

    With ``cells``, the time is divided into that many cells, and bars narrower than a cell are
    merged (:func:`~nestmap.pipeline.analysis.schedule.downsample.downsample_bars`). Channels of
    unlimited bandwidth have no row.
    """
    rows = gantt_rows(schedule)
    bars = gantt_bars(schedule, rows)
    if cells is not None:
        bars = downsample_bars(bars, max(1, schedule.latency), cells)
    layers = tuple(layer.nest.name for layer in schedule.problem.nodes.layers)
    path = critical_path(schedule)
    return Gantt(
        rows=rows,
        layers=layers,
        bars=bars,
        stalls=stalls(schedule),
        critical=path,
        path_rows=path_rows(schedule, path, rows),
        latency=schedule.latency,
    )


def gantt_rows(schedule: Schedule) -> tuple[Row, ...]:
    """The cores that compute, then the channels in use: between cores, then off-chip."""
    accelerator = schedule.problem.accelerator
    found = _timed(schedule, wire_occupancy(schedule))
    used = set(found.wire.tolist())
    wires = [row for row in wire_rows(accelerator) if row.number in used]
    return (
        *(Row(RowKind.CORE, core.id, core.name) for core in accelerator.compute_cores),
        *(row for row in wires if row.kind is RowKind.WIRE),
        *(row for row in wires if row.kind is RowKind.OFFCHIP),
    )


def gantt_bars(schedule: Schedule, rows: Sequence[Row]) -> GanttBars:
    """All bars: one for each node, and one for each channel that a transfer or a stream takes.

    Transfers of one tensor that share a channel are one bar, as are streams that share a channel.
    """
    found = join_streams(_timed(schedule, wire_occupancy(schedule)))
    nodes = np.arange(len(schedule.core), dtype=np.int64)
    place = {(row.kind is RowKind.CORE, row.number): i for i, row in enumerate(rows)}
    of_core = [place[True, core] for core in schedule.core.tolist()]
    of_wire = [place[False, wire] for wire in found.wire.tolist()]
    events = np.concatenate((nodes, found.event))
    kinds = np.concatenate((np.full(len(nodes), int(BarKind.NODE)), found.kind))
    row = np.array([*of_core, *of_wire], dtype=np.int64)
    start = np.concatenate((schedule.start, found.start))
    order = np.lexsort((start, row))
    return GanttBars(
        row=row[order],
        start=start[order],
        end=np.concatenate((schedule.end, found.end))[order],
        kind=kinds[order],
        event=events[order],
        layer=layers_of_events(schedule, kinds, events)[order],
        count=np.concatenate((np.ones(len(nodes), dtype=np.int64), found.count))[order],
    )


def layers_of_events(schedule: Schedule, kinds: Ints, events: Ints) -> Ints:
    """The position of the layer that runs, or that produces or first reads the tensor."""
    nodes = events.copy()
    streams = kinds == BarKind.STREAM
    transfers = (kinds != BarKind.NODE) & ~streams
    nodes[streams] = schedule.streams.node[events[streams]]
    nodes[transfers] = schedule.tensors.node[schedule.transfers.tensor[events[transfers]]]
    found: Ints = np.searchsorted(schedule.problem.nodes.first_nodes, nodes, side="right") - 1
    return found


def _timed(schedule: Schedule, found: WireOccupancy) -> WireOccupancy:
    """The occupancy of channels of limited bandwidth."""
    wires = Interconnect(accelerator=schedule.problem.accelerator).channels
    slow = np.array([wire.bandwidth is not None for wire in wires], dtype=np.bool_)
    return found.rows(np.flatnonzero((found.end > found.start) & slow[found.wire]))
