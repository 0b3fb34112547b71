"""Streams: transfers between a core and off-chip memory while a node runs.

An operand streams if it is too large for its core's memory. Times are in cycles, rates in
bit/cycle, energies in pJ. Slot 0 is a node's output, slot ``1 + i`` its input ``i``.
"""

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.interconnect import (
    free_from,
    is_on,
    path,
    reserve_wire,
    wire_energy,
)
from nestmap.search.multicore.schedule.packed_tables import (
    Job,
    addf,
    count,
    get,
    get3,
    put,
    rows,
    set_count,
)


@inlined
def cost(job: Job, node: int, column: int) -> int:
    """A column of the cost table for a node on its core."""
    return get3(
        job, t.COSTS, get(job, t.NODES, node, t.KIND), get(job, t.PROGRESS, node, t.CORE), column
    )


@inlined
def is_streamed(job: Job, node: int, slot: int) -> bool:
    """Whether an operand of a node (slot 0: output) is too large for its core."""
    return (cost(job, node, t.STREAMED) >> slot) & 1 == 1


@inlined
def _rate_on(job: Job, node: int, wire: int) -> int:
    """Bit/cycle of a node's streams on a channel, both directions summed, up to its width."""
    core = get(job, t.PROGRESS, node, t.CORE)
    rate = 0
    if is_on(job, job.offchip, core, wire):
        rate += cost(job, node, t.READ_RATE)
    if is_on(job, core, job.offchip, wire):
        rate += cost(job, node, t.WRITE_RATE)
    return min(rate, get(job, t.BANDWIDTHS, wire, 0))


@kernel
def streaming_time(job: Job, node: int, time: int) -> int:
    """The first time at which the off-chip channels have bandwidth for a node's streams."""
    duration = cost(job, node, t.RUNTIME)
    again = True
    while again:
        again = False
        for wire in range(rows(job, t.BANDWIDTHS)):
            rate = _rate_on(job, node, wire)
            if rate > 0:
                most = get(job, t.BANDWIDTHS, wire, 0) - rate
                start = free_from(job, wire, time, most, duration)
                again = again or start != time
                time = start
    return time


@kernel
def reserve_offchip_streams(job: Job, node: int, start: int) -> None:
    """Reserves bandwidth of the off-chip channels while a node runs."""
    core, duration = get(job, t.PROGRESS, node, t.CORE), cost(job, node, t.RUNTIME)
    for wire in range(rows(job, t.BANDWIDTHS)):
        rate = _rate_on(job, node, wire)
        if rate > 0:
            reserve_wire(job, wire, start, start + duration, rate)
    read = cost(job, node, t.READ_RATE)
    write = cost(job, node, t.WRITE_RATE)
    _note(job, node, job.offchip, core, read)
    _note(job, node, core, job.offchip, write)
    if not job.reference:
        energy = stream_energy(job, job.offchip, core, read, duration)
        energy += stream_energy(job, core, job.offchip, write, duration)
        addf(job, t.SPENT, t.STREAMING_LINKS, 0, energy)


@kernel
def stream_energy(job: Job, sending: int, receiving: int, rate: int, duration: int) -> float:
    """The energy of a stream on the channels in pJ."""
    energy = 0.0
    first, end = path(job, sending, receiving)
    for i in range(first, end if rate else first):
        energy += wire_energy(job, get(job, t.PATH_WIRES, i, 0), rate * duration, duration)
    return energy


@kernel
def _note(job: Job, node: int, sending: int, receiving: int, rate: int) -> None:
    """Records a stream; its times are those of the node."""
    row = count(job, t.N_STREAMS)
    if rate == 0:
        return
    if row == rows(job, t.STREAMS):
        set_count(job, t.FAILURE, t.FULL)
        return
    set_count(job, t.N_STREAMS, row + 1)
    put(job, t.STREAMS, row, t.STREAM_NODE, node)
    put(job, t.STREAMS, row, t.STREAM_RATE, rate)
    put(job, t.STREAMS, row, t.SENDING, sending)
    put(job, t.STREAMS, row, t.RECEIVING, receiving)
