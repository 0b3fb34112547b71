"""Computes the utilization of memories and channels over time."""

import numpy as np

from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import Schedule
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.pipeline.analysis.schedule.downsample import downsample_steps
from nestmap.pipeline.analysis.schedule.link_occupancy import (
    WireOccupancy,
    busy_cycles,
    wire_occupancy,
    wire_rows,
)
from nestmap.pipeline.analysis.schedule.tables import BarKind, Floats, Ints, MemoryUse, WireUse


def memory_uses(schedule: Schedule, cells: int | None = None) -> tuple[MemoryUse, ...]:
    """The usage of each outermost memory over time, the off-chip memory last.

    With ``cells``, the time is divided into that many cells, and only the first, last, lowest and
    highest value of each cell remain.
    """
    homes = TopMemories(accelerator=schedule.problem.accelerator)
    return tuple(_memory(schedule, place, homes, cells) for place in range(len(homes.memories)))


def _memory(schedule: Schedule, place: int, homes: TopMemories, cells: int | None) -> MemoryUse:
    nothing: Ints = np.zeros(0, dtype=np.int64)
    known = place < len(schedule.memory_usage)
    times, bits = schedule.memory_usage[place] if known else (nothing, nothing)
    peak = schedule.peaks[place] if known else 0
    if cells is not None:
        times, bits = downsample_steps(times, bits, schedule.latency, cells)
    return MemoryUse(place, homes.memories[place], place in homes.offchip, peak, times, bits)


def wire_uses(schedule: Schedule, bins: int = 200) -> tuple[WireUse, ...]:
    """The utilization of each channel in use, in each bin of the time.

    A tensor sent to several cores at once takes a channel once. Channels of unlimited bandwidth are
    left out.
    """
    found = wire_occupancy(schedule)
    busy = busy_cycles(found)
    wires = Interconnect(accelerator=schedule.problem.accelerator).channels
    edges = bin_edges(schedule.latency, bins)
    uses: list[WireUse] = []
    for row in wire_rows(schedule.problem.accelerator):
        width = wires[row.number].bandwidth
        if width is not None and busy.get(row.number):
            here = found.rows(np.flatnonzero(found.wire == row.number))
            parts = _parts(schedule, here, width)
            cycles = np.stack([_cycles(here, parts, kind, edges) for kind in BarKind])
            uses.append(WireUse(row, busy[row.number], edges, cycles))
    return tuple(uses)


def _parts(schedule: Schedule, found: WireOccupancy, width: int) -> Floats:
    """The share of the bandwidth that each row takes: 1, except for streams."""
    parts = np.ones(len(found))
    streams = found.kind == BarKind.STREAM
    parts[streams] = np.minimum(1.0, schedule.streams.rate[found.event[streams]] / width)
    return parts


def bin_edges(latency: int, bins: int) -> Ints:
    """Borders of non-empty bins of about equal width, in whole cycles."""
    count = max(1, min(bins, latency))
    edges: Ints = np.arange(count + 1, dtype=np.int64) * max(latency, 1) // count
    return edges


def _cycles(found: WireOccupancy, parts: Floats, kind: BarKind, edges: Ints) -> Floats:
    """The cycles of each bin that a kind occupies."""
    chosen = found.kind == kind
    weights = parts[chosen]
    started = _up_to(found.start[chosen], weights, edges)
    ended = _up_to(found.end[chosen], weights, edges)
    cycles: Floats = np.diff(started - ended)
    return cycles


def _up_to(times: Ints, weights: Floats, edges: Ints) -> Floats:
    """For each edge, the weighted sum of the cycles from each earlier time to the edge."""
    order = np.argsort(times)
    before = np.searchsorted(times[order], edges, side="left")
    weight = np.concatenate(([0.0], np.cumsum(weights[order])))[before]
    moment = np.concatenate(([0.0], np.cumsum((weights * times)[order])))[before]
    total: Floats = weight * edges.astype(np.float64) - moment
    return total
