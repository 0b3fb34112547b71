"""Merges bars and steps if there are more than a picture can show."""

import numpy as np

from nestmap.pipeline.analysis.schedule.tables import GanttBars, Ints


def downsample_bars(bars: GanttBars, latency: int, cells: int) -> GanttBars:
    """The bars, with those narrower than a cell merged with their neighbours.

    The time up to ``latency`` is divided into ``cells``. Consecutive bars of a row that are
    narrower than a cell and begin in the same cell become one bar, from the start of the first to
    the end of the last, including gaps. It takes the kind and layer with the largest share of its
    time. So at most two bars of a row begin in a cell.
    """
    width = latency / cells
    if not len(bars) or bool(np.all(bars.end - bars.start >= width)):
        return bars
    group = _groups(bars, width)
    firsts = np.flatnonzero(np.diff(group, prepend=-1))
    chosen = _prevailing(bars, group)
    return GanttBars(
        row=bars.row[firsts],
        start=bars.start[firsts],
        end=np.maximum.reduceat(bars.end, firsts),
        kind=bars.kind[chosen],
        event=bars.event[chosen],
        layer=bars.layer[chosen],
        count=np.add.reduceat(bars.count, firsts),
    )


def _groups(bars: GanttBars, width: float) -> Ints:
    """The number of the merged bar that each bar belongs to."""
    narrow = bars.end - bars.start < width
    cell = np.floor(bars.start / width).astype(np.int64)
    joined = narrow[1:] & narrow[:-1] & (np.diff(bars.row) == 0) & (np.diff(cell) == 0)
    group: Ints = np.cumsum(np.concatenate(([True], ~joined))) - 1
    return group


def _prevailing(bars: GanttBars, group: Ints) -> Ints:
    """A bar for each group, with the kind and layer that take most of its time."""
    order = np.lexsort((bars.layer, bars.kind, group))
    ordered = np.stack((group, bars.kind, bars.layer), axis=1)[order]
    firsts = np.flatnonzero(np.any(np.diff(ordered, axis=0, prepend=-2), axis=1))
    lengths = np.add.reduceat((bars.end - bars.start)[order], firsts)
    groups = ordered[firsts, 0]
    best = np.lexsort((-lengths, groups))
    chosen = best[np.flatnonzero(np.diff(groups[best], prepend=-1))]
    found: Ints = order[firsts[chosen]]
    return found


def downsample_steps(times: Ints, values: Ints, end: int, cells: int) -> tuple[Ints, Ints]:
    """Steps of a curve: the first, the lowest, the highest and the last in each cell."""
    if len(times) <= 4 * cells:
        return times, values
    cell = np.minimum(times * cells // max(end, 1), cells)
    firsts = np.flatnonzero(np.diff(cell, prepend=-1))
    lasts = np.append(firsts[1:], len(times)) - 1
    by_value = np.lexsort((values, cell))
    kept = np.unique(np.concatenate((firsts, lasts, by_value[firsts], by_value[lasts])))
    return times[kept], values[kept]
