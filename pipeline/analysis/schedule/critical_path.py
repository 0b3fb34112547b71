"""Finds the critical path of a schedule: the chain of events that determines the latency."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.events import Events
from nestmap.pipeline.analysis.schedule.tables import BarKind, Cause, CriticalPath


def critical_path(schedule: Schedule) -> CriticalPath:
    """The steps up to the last end; each started when the one before it ended.

    Of several candidates for the previous step, the one that made or transferred a required tensor
    comes first, then the previous node on the core, then one on the same channel, then one that
    freed capacity. If there is none (capacity became free at another time), the previous step is
    the dependency that ended last.
    """
    events = Events(schedule)
    steps = list(_backwards(events, schedule.latency))[::-1]
    found = [(events.kind(event), events.row(event), cause) for event, cause in steps]
    kind, row, cause = np.array(found, dtype=np.int64).reshape(-1, 3).T
    places = [event for event, _ in steps]
    return CriticalPath(kind, row, events.start[places], events.end[places], cause)


def _backwards(events: Events, latency: int) -> Iterator[tuple[int, Cause]]:
    """The steps, last one first, and the cause that links each to the previous step."""
    last = events.ending.get(latency, [])
    step = min(last, key=lambda x: (int(events.start[x]), x), default=None)
    seen: set[int] = set()
    while step is not None:
        seen.add(step)
        before, cause = _before(events, step, seen)
        yield step, cause
        step = before


def _before(events: Events, step: int, seen: set[int]) -> tuple[int | None, Cause]:
    """The event that a step waited for; none if it did not wait."""
    start = int(events.start[step])
    if start == 0:
        return None, Cause.START
    ended = (x for x in events.ending.get(start, ()) if x not in seen)
    causes = ((_cause(events, other, step), other) for other in ended)
    known = [(cause, -int(events.start[x]), x) for cause, x in causes if cause is not None]
    if known:
        cause, _, other = min(known)
        return other, cause
    needed = [x for x in events.needs(step) if x not in seen and events.end[x] <= start]
    if not needed:
        return None, Cause.START
    return max(needed, key=lambda x: (int(events.end[x]), -x)), Cause.MEMORY


def _cause(events: Events, other: int, step: int) -> Cause | None:
    """The role of an event that ended when a step started; ``None`` if it has none."""
    if other in events.needs(step):
        return Cause.DATA
    if events.kind(step) is BarKind.NODE and events.core(other) == events.core(step):
        return Cause.CORE
    if events.wires(other) & events.wires(step):
        return Cause.WIRE
    return Cause.MEMORY if events.frees(other) & events.fills(step) else None
