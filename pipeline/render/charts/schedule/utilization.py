"""Charts the utilization of memories, channels and cores over the time of a schedule."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.tables import Floats, Ints, MemoryUse, WireUse
from nestmap.pipeline.analysis.schedule.utilization import bin_edges, memory_uses, wire_uses
from nestmap.pipeline.format.numbers import capacity, count, share
from nestmap.pipeline.format.palette import SERIES, Look
from nestmap.pipeline.render.charts import vega_spec as vega
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.schedule.labels import SENT_KINDS, row_name, sent_parts
from nestmap.pipeline.render.charts.schedule.strips import (
    MOST_CELLS,
    Part,
    Strips,
    cell,
    strips_chart,
)

_BINS: Final = 300
_FEWEST: Final = 20
"""The number of time bins: limited by the number of rows, but at least the minimum."""


def overview_chart(schedule: Schedule) -> Chart:
    """The number of busy cores over time; dragging selects the time that other charts show."""
    cores = len(schedule.problem.accelerator.compute_cores)
    edges = bin_edges(schedule.latency, _BINS)
    running = np.diff(_core_cycles(schedule, edges)) / np.maximum(np.diff(edges), 1)
    cells: list[vega.Row] = [
        cell(0, start, end, 0.0, value / cores) | {"part": 0, "value": round(value, 3)}
        for (start, end), value in zip(pairwise(edges.tolist()), running.tolist(), strict=True)
        if value > 0
    ]
    mean = int((schedule.end - schedule.start).sum()) / max(schedule.latency, 1)
    strips = Strips(
        name="overview",
        title="Cores that run",
        summary=(
            f"Of {count(cores)} cores {mean:.2f} run at a time on average. Drag over the chart to "
            "choose the time that the other ones show."
        ),
        rows=("cores that run",),
        parts=(Part("cores that run", Look(SERIES)),),
        quantity="cores that run",
        text="format(datum.value, '.3~f')",
        latency=schedule.latency,
        chooses=True,
    )
    return strips_chart(strips, cells)


def _core_cycles(schedule: Schedule, edges: Ints) -> Floats:
    """The cycles up to each edge in which cores run, summed over the cores."""
    times = np.concatenate(([0], schedule.start, schedule.end))
    steps = np.repeat([0, 1, -1], [1, len(schedule.start), len(schedule.end)])
    order = np.argsort(times, kind="stable")
    running = np.cumsum(steps[order])
    cycles = np.concatenate(([0], np.cumsum(running[:-1] * np.diff(times[order]))))
    found: Floats = np.interp(edges, times[order], cycles)
    return found


def memory_chart(schedule: Schedule) -> Chart | None:
    """The usage of each on-chip memory, up to its capacity; ``None`` if none is used."""
    uses = [use for use in memory_uses(schedule) if not use.offchip and use.peak]
    if not uses:
        return None
    most = max(_FEWEST, MOST_CELLS // (4 * len(uses)))
    thin = {use.place: use for use in memory_uses(schedule, most)}
    fullest = max(uses, key=lambda use: use.peak / use.capacity)
    strips = Strips(
        name="memories",
        title="Memories on the chip",
        summary=(
            f"{count(len(uses))} memories; fullest is {vega.plain(_memory_name(fullest))}: at most "
            f"{capacity(fullest.peak)}, {share(fullest.peak / fullest.capacity)} of "
            f"{capacity(fullest.capacity)}. Lines: empty and full."
        ),
        rows=[_memory_name(use) for use in uses],
        parts=(Part("in use", Look(SERIES)),),
        quantity="in use",
        text=f"{vega.exact('value', 'bit')} + ' (' + {vega.percent('share')} + ')'",
        latency=schedule.latency,
    )
    cells = [x for row, use in enumerate(uses) for x in _steps(row, thin[use.place], strips)]
    return strips_chart(strips, cells)


def _memory_name(use: MemoryUse) -> str:
    return f"core {', '.join(map(str, use.home.cores))} {use.home.name}"


def _steps(row: int, use: MemoryUse, strips: Strips) -> Iterator[vega.Row]:
    times = [*use.times.tolist(), max(strips.latency, int(use.times[-1]))]
    for (start, end), bits in zip(pairwise(times), use.bits.tolist(), strict=True):
        if bits and end > start:
            part = bits / use.capacity
            yield cell(row, start, end, 0.0, part) | {"part": 0, "value": bits, "share": part}


def wire_chart(schedule: Schedule) -> Chart | None:
    """The occupancy of each channel over time, by kind of data; ``None`` if none is used."""
    uses = wire_uses(schedule, _BINS)
    if not uses:
        return None
    uses = wire_uses(schedule, max(_FEWEST, min(_BINS, MOST_CELLS // (2 * len(uses)))))
    busiest = max(uses, key=lambda use: use.busy)
    strips = Strips(
        name="wires",
        title="Wires",
        summary=(
            f"{count(len(uses))} wires are used; {_wire_name(busiest)} is taken most: "
            f"{share(busiest.busy / max(schedule.latency, 1))} of the time."
        ),
        rows=[_wire_name(use) for use in uses],
        parts=sent_parts(),
        quantity="of the time",
        text=vega.percent("value"),
        latency=schedule.latency,
    )
    return strips_chart(strips, [x for row, use in enumerate(uses) for x in _shares(row, use)])


def _wire_name(use: WireUse) -> str:
    return vega.plain(row_name(use.row))


def _shares(row: int, use: WireUse) -> Iterator[vega.Row]:
    """The kinds of data on a channel in each bin, stacked."""
    shares = use.shares[list(map(int, SENT_KINDS))].T.tolist()
    for (start, end), parts in zip(pairwise(use.edges.tolist()), shares, strict=True):
        yield from _stacked(row, start, end, parts)


def _stacked(row: int, start: int, end: int, parts: Sequence[float]) -> Iterator[vega.Row]:
    low = 0.0
    for part, value in enumerate(parts):
        if value > 0:
            drawn = cell(row, start, end, low, low + value)
            yield drawn | {"part": part, "value": round(value, 5)}
            low += value
