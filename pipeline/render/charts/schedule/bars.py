"""The bars of the Gantt chart as tables: few for the whole time, more for zooming in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.downsample import downsample_bars
from nestmap.pipeline.analysis.schedule.tables import BarKind, GanttBars, Ints
from nestmap.pipeline.analysis.schedule.traffic import streamed_bits
from nestmap.pipeline.render.charts.vega_spec import Row

MOST_BARS: Final = 4000
"""The approximate number of bars drawn at the same time."""

MOST_KEPT: Final = 14000
"""The maximum number of bars in a page; beyond it, the narrowest are merged."""


class Levels(NamedTuple):
    """The bars for the whole time, and those for zooming in; ``None``: the same ones.

    The finer ones are drawn if less than ``fine_below`` cycles are shown.
    """

    coarse: GanttBars
    fine: GanttBars | None = None
    fine_below: float = 0.0


def levels(bars: GanttBars, latency: int) -> Levels:
    """Bars at two levels of detail, few enough to draw and to store in the page."""
    if len(bars) <= MOST_BARS:
        return Levels(bars)
    fine = _fewer(bars, latency, MOST_KEPT)
    return Levels(_fewer(bars, latency, MOST_BARS), fine, latency * MOST_BARS / len(fine))


def _fewer(bars: GanttBars, latency: int, most: int) -> GanttBars:
    """At most ``most`` bars, or the fewest that a single cell allows."""
    found, cells = bars, most
    while len(found) > most and cells:
        found, cells = downsample_bars(bars, max(latency, 1), cells), cells * 2 // 3
    return found


def bar_rows(schedule: Schedule, bars: GanttBars, *, fine: bool) -> Iterator[Row]:
    """The bars as a table; ``fine`` marks those for zooming in."""
    bits, node, ends = _details(schedule, bars)
    columns = (bars.row, bars.start, bars.end, bars.kind, bars.layer, bars.count, node, bits)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    for each, (sending, receiving) in zip(numbers, ends.tolist(), strict=True):
        row, start, end, kind, layer, count, number, size = each
        datum: dict[str, int] = {"row": row, "start": start, "end": end, "layer": layer}
        datum |= {"node": number, "kind": kind, "bits": size}
        if count > 1:
            datum["count"] = count
        if kind != BarKind.NODE:
            datum |= {"from": sending, "to": receiving}
        if fine:
            datum["fine"] = 1
        yield datum


def _details(schedule: Schedule, bars: GanttBars) -> tuple[Ints, Ints, Ints]:
    """Bits (of a node: its output), number of the node in its layer, source and target core."""
    sent, streams, tensors = schedule.transfers, schedule.streams, schedule.tensors
    bits, node = np.zeros(len(bars), dtype=np.int64), bars.event.copy()
    ends = np.zeros((len(bars), 2), dtype=np.int64)
    runs, flows = bars.kind == BarKind.NODE, bars.kind == BarKind.STREAM
    moves = ~runs & ~flows
    of = sent.tensor[bars.event[moves]]
    bits[runs], bits[moves] = tensors.bits[bars.event[runs]], tensors.bits[of]
    bits[flows] = streamed_bits(schedule)[bars.event[flows]]
    node[moves], node[flows] = tensors.node[of], streams.node[bars.event[flows]]
    for some, which in ((sent, moves), (streams, flows)):
        chosen = bars.event[which]
        ends[which] = np.stack((some.sending[chosen], some.receiving[chosen]), axis=1)
    first = schedule.problem.nodes.first_nodes
    return bits, node - first[np.searchsorted(first, node, side="right") - 1], ends
