"""What cores do with their time, and how much memory a schedule needs on the chip."""

from __future__ import annotations

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.model.multicore.top_memories import Homes
from nestmap.pipeline.analysis.schedule.stalls import stalls
from nestmap.pipeline.analysis.schedule.tables import CoreLoad, StallReason, Stalls


def core_loads(schedule: Schedule, idle: Stalls | None = None) -> tuple[CoreLoad, ...]:
    """The load of each core that computes: busy and idle cycles add up to the latency."""
    idle = stalls(schedule) if idle is None else idle
    waited = np.zeros((len(schedule.problem.accelerator.compute_cores), len(StallReason)), np.int64)
    np.add.at(waited, (idle.row, idle.reason), idle.end - idle.start)
    loads: list[CoreLoad] = []
    for row, core in enumerate(schedule.problem.accelerator.compute_cores):
        here = schedule.core == core.id
        busy = int((schedule.end - schedule.start)[here].sum())
        loads.append(
            CoreLoad(core.id, core.name, int(here.sum()), busy, tuple(waited[row].tolist()))
        )
    return tuple(loads)


def onchip_peak(schedule: Schedule) -> int:
    """The most bits that the memories on the chip hold, each at its own worst time."""
    offchip = Homes(accelerator=schedule.problem.accelerator).offchip
    return sum(peak for place, peak in enumerate(schedule.peaks) if place not in offchip)
