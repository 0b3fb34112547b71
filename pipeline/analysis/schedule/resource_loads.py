"""Computes the load of cores and channels, and the memory that a schedule needs on chip."""

from typing import NamedTuple

import numpy as np

from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.interconnect import Channel, Interconnect
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.link_occupancy import busy_cycles, wire_occupancy
from nestmap.pipeline.analysis.schedule.stalls import stalls
from nestmap.pipeline.analysis.schedule.tables import BarKind, Ints, StallReason
from nestmap.pipeline.analysis.schedule.traffic import occupied_bits


class CoreLoad(NamedTuple):
    """The load of a core: its nodes, its busy cycles, its first start and last end.

    ``energy`` is in pJ and includes the off-chip energy of streamed operands.
    """

    core: ComputeCore
    nodes: int
    busy: int
    begins: int
    ends: int
    energy: float


class WireLoad(NamedTuple):
    """The load of a link or bus: transfers, bits, busy cycles.

    A tensor sent to several cores at the same time counts as one transfer for each core, but its
    bits count once.
    """

    wire: Channel
    transfers: int
    bits: int
    busy: int


def core_loads(schedule: Schedule) -> tuple[CoreLoad, ...]:
    """A row for each core that computes."""
    return tuple(_core_load(schedule, x) for x in schedule.problem.accelerator.compute_cores)


def _core_load(schedule: Schedule, core: ComputeCore) -> CoreLoad:
    here = schedule.core == core.id
    costs = schedule.problem.costs
    kinds, column = costs.kind[here], costs.column(core.id)
    spent = costs.onchip[kinds, column].sum() + costs.offchip[kinds, column].sum()
    start, end = schedule.start[here], schedule.end[here]
    return CoreLoad(
        core=core,
        nodes=int(here.sum()),
        busy=int((end - start).sum()),
        begins=int(start.min(initial=schedule.latency)) if here.any() else 0,
        ends=int(end.max(initial=0)),
        energy=float(spent),
    )


def idle_cycles(schedule: Schedule) -> Ints:
    """The idle cycles of each core that computes (rows), by :class:`StallReason` (columns).

    Together with the busy cycles of the core they add up to the latency.
    """
    idle = stalls(schedule)
    cores = len(schedule.problem.accelerator.compute_cores)
    cycles: Ints = np.zeros((cores, len(StallReason)), dtype=np.int64)
    np.add.at(cycles, (idle.row, idle.reason), idle.end - idle.start)
    return cycles


def wire_loads(schedule: Schedule) -> tuple[WireLoad, ...]:
    """A row for each channel in use, the busiest first."""
    wires = Interconnect(accelerator=schedule.problem.accelerator).channels
    found = wire_occupancy(schedule)
    busy, bits = busy_cycles(found), occupied_bits(schedule, found)
    loads: list[WireLoad] = []
    for wire, cycles in busy.items():
        here = found.wire == wire
        sent = here & (found.kind != BarKind.STREAM)
        transfers = int(found.count[sent].sum())
        loads.append(WireLoad(wires[wire], transfers, int(bits[here].sum()), cycles))
    return tuple(sorted(loads, key=lambda load: -load.busy))
