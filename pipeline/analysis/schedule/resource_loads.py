"""How busy the cores, wires and memories of a schedule are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.interconnect import Ways, Wire
from nestmap.model.multicore.schedule import Schedule
from nestmap.model.multicore.top_memories import Home, Homes

Ints = NDArray[np.int64]


class CoreLoad(NamedTuple):
    """A core in a schedule: its nodes, the cycles that it works, from when to when.

    ``energy`` is in pJ: that of the nodes, with what streams in the memory off the chip.
    """

    core: ComputeCore
    nodes: int
    busy: int
    begins: int
    ends: int
    energy: float


class WireLoad(NamedTuple):
    """A link or bus in a schedule: transfers, bits, the cycles in which something passes."""

    wire: Wire
    transfers: int
    bits: int
    busy: int


class MemoryLoad(NamedTuple):
    """An outermost memory in a schedule: the most bits that it holds at any time."""

    home: Home
    peak: int


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


def wire_loads(schedule: Schedule) -> tuple[WireLoad, ...]:
    """A row for each wire that something passes, the busiest one first."""
    ways = Ways(accelerator=schedule.problem.accelerator)
    found: dict[int, list[tuple[int, int, int, bool]]] = {}
    for sending, receiving, *passing in _passing(schedule):
        for wire in ways.path(sending, receiving):
            begins, ends, bits, sent = passing
            found.setdefault(wire, []).append((begins, ends, bits, bool(sent)))
    loads = [
        WireLoad(
            wire=ways.wires[wire],
            transfers=sum(sent for *_, sent in uses),
            bits=sum(bits for _, _, bits, _ in uses),
            busy=covered(np.array([use[:2] for use in uses], dtype=np.int64)),
        )
        for wire, uses in sorted(found.items())
    ]
    return tuple(sorted(loads, key=lambda load: -load.busy))


def _passing(schedule: Schedule) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Ends of the path, from when to when, bits, and whether it is a transfer."""
    sent, streams = schedule.transfers, schedule.streams
    bits = schedule.tensors.bits[sent.tensor]
    columns = (sent.sending, sent.receiving, sent.start, sent.end, bits, np.ones_like(bits))
    yield from zip(*(column.tolist() for column in columns), strict=True)
    bits = streams.rate * (streams.end - streams.start)
    columns = (
        *(streams.sending, streams.receiving, streams.start, streams.end),
        *(bits, np.zeros_like(bits)),
    )
    yield from zip(*(column.tolist() for column in columns), strict=True)


def covered(spans: Ints) -> int:
    """How many cycles lie in at least one of the spans (rows of begin and end)."""
    ordered = spans[np.argsort(spans[:, 0], kind="stable")]
    reached = np.maximum.accumulate(ordered[:, 1])
    before = np.concatenate((ordered[:1, 0], reached[:-1]))
    return int((reached - np.maximum(ordered[:, 0], before)).clip(0).sum())


def memory_loads(schedule: Schedule) -> tuple[MemoryLoad, ...]:
    """A row for each outermost memory."""
    homes = Homes(accelerator=schedule.problem.accelerator).memories
    peaks = (*schedule.peaks, *(0 for _ in homes))
    return tuple(MemoryLoad(home, peak) for home, peak in zip(homes, peaks, strict=False))
