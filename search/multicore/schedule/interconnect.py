"""Interconnect channels: when those of a route are free, and the energy of a transfer.

Times are in cycles, sizes in bits, bandwidths in bit/cycle, energies in pJ.
"""

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.occupancy import below_for, change_use
from nestmap.search.multicore.schedule.packed_tables import (
    Job,
    bits_sent,
    get,
    getf,
    rows,
    transfer_cycles,
    transfer_word,
)


@inlined
def path(job: Job, sending: int, receiving: int) -> tuple[int, int]:
    """The range of the route from one core to another in the table of routes."""
    pair = sending * rows(job, t.IS_AT) + receiving
    return get(job, t.PATHS, pair, 0), get(job, t.PATHS, pair + 1, 0)


@inlined
def transfer_path(job: Job, transfer: int) -> tuple[int, int]:
    """The range of a transfer's route in the table of routes."""
    return path(
        job, transfer_word(job, transfer, t.SENDING), transfer_word(job, transfer, t.RECEIVING)
    )


@inlined
def cycles_on(job: Job, sending: int, receiving: int, bits: int) -> int:
    """The cycles that bits take on the narrowest channel between two cores."""
    longest = 0
    first, end = path(job, sending, receiving)
    for i in range(first, end):
        width = get(job, t.BANDWIDTHS, get(job, t.PATH_WIRES, i, 0), 0)
        if width:
            longest = max(longest, -(-bits // width))
    return longest


@inlined
def is_on(job: Job, sending: int, receiving: int, wire: int) -> bool:
    """Whether a channel is on the route from one core to another."""
    first, end = path(job, sending, receiving)
    while first < end and get(job, t.PATH_WIRES, first, 0) != wire:
        first += 1
    return first < end


@inlined
def free_from(job: Job, wire: int, time: int, most: int, duration: int) -> int:
    """The first time at which a channel uses at most ``most`` bit/cycle for so many cycles."""
    return below_for(job, t.TRAFFIC, wire, time, most, duration)


@inlined
def reserve_wire(job: Job, wire: int, start: int, end: int, rate: int) -> None:
    """Reserves bit/cycle of a channel from one time to another."""
    change_use(job, t.TRAFFIC, wire, start, rate)
    change_use(job, t.TRAFFIC, wire, end, -rate)


@inlined
def wire_energy(job: Job, wire: int, bits: int, duration: int) -> float:
    """The energy in pJ of bits that pass a channel in so many cycles."""
    return float(
        bits * getf(job, t.WIRE_ENERGIES, wire, t.PER_BIT)
        + duration * getf(job, t.WIRE_ENERGIES, wire, t.PER_CYCLE)
    )


@kernel
def sending_time(job: Job, planned: int) -> int:
    """The start of a planned transfer: its channels are idle, or carry the same tensor elsewhere.

    The start is as early as possible; Stream joins another transfer even after an earlier idle
    time.
    """
    if transfer_word(job, planned, t.END) == transfer_word(job, planned, t.START):
        return transfer_word(job, planned, t.START)
    idle = _idle_from(job, planned)
    joined = t.NONE
    transfer = get(job, t.READS, transfer_word(job, planned, t.TENSOR), t.LAST_TRANSFER)
    while transfer != t.NONE:
        start = transfer_word(job, transfer, t.START)
        better = joined == t.NONE or start < joined or job.reference
        if better and _joins(job, planned, transfer):
            joined = start
        transfer = transfer_word(job, transfer, t.EARLIER)
    if joined != t.NONE and (job.reference or joined < idle):
        return joined
    return idle


@kernel
def _idle_from(job: Job, planned: int) -> int:
    """The first time at which all channels of a planned transfer are idle for its duration."""
    time, duration = (transfer_word(job, planned, t.START), transfer_cycles(job, planned))
    first, end = transfer_path(job, planned)
    again = True
    while again:
        again = False
        for i in range(first, end):
            wire = get(job, t.PATH_WIRES, i, 0)
            if get(job, t.BANDWIDTHS, wire, 0):
                start = free_from(job, wire, time, 0, duration)
                again = again or start != time
                time = start
    return time


@kernel
def _joins(job: Job, planned: int, transfer: int) -> bool:
    """Whether a planned transfer can share channels with another transfer of the same tensor."""
    start, duration = transfer_word(job, transfer, t.START), transfer_cycles(job, planned)
    again = transfer_word(job, transfer, t.RECEIVER) == transfer_word(job, planned, t.RECEIVER)
    if (again and not job.reference) or start < transfer_word(job, planned, t.START):
        return False
    if transfer_word(job, transfer, t.END) - start != duration:
        return False
    shared = False
    first, end = transfer_path(job, planned)
    for i in range(first, end):
        wire = get(job, t.PATH_WIRES, i, 0)
        if get(job, t.BANDWIDTHS, wire, 0):
            if is_on(
                job,
                transfer_word(job, transfer, t.SENDING),
                transfer_word(job, transfer, t.RECEIVING),
                wire,
            ):
                shared = True
            elif free_from(job, wire, start, 0, duration) != start:
                return False
    return shared


@kernel
def is_carried(job: Job, planned: int, wire: int) -> bool:
    """Whether a channel already carries the tensor of a planned transfer at its time."""
    if transfer_word(job, planned, t.END) == transfer_word(job, planned, t.START):
        return False
    transfer = get(job, t.READS, transfer_word(job, planned, t.TENSOR), t.LAST_TRANSFER)
    while transfer != t.NONE:
        along = transfer_word(job, transfer, t.START) == transfer_word(job, planned, t.START)
        along = along and (
            job.reference
            or transfer_word(job, transfer, t.END) == transfer_word(job, planned, t.END)
        )
        if along and is_on(
            job,
            transfer_word(job, transfer, t.SENDING),
            transfer_word(job, transfer, t.RECEIVING),
            wire,
        ):
            return True
        transfer = transfer_word(job, transfer, t.EARLIER)
    return False


@kernel
def reserve_path(job: Job, planned: int) -> float:
    """Reserves the channels of a planned transfer at its times; returns the energy on them in pJ.

    A channel that already carries the tensor adds no energy; in Stream it is counted again.
    """
    start, stop = transfer_word(job, planned, t.START), transfer_word(job, planned, t.END)
    bits = bits_sent(job, planned)
    energy = 0.0
    first, end = transfer_path(job, planned)
    for i in range(first, end):
        wire = get(job, t.PATH_WIRES, i, 0)
        carried = is_carried(job, planned, wire)
        if job.reference or not carried:
            energy += wire_energy(job, wire, bits, stop - start)
        if not carried and stop > start and get(job, t.BANDWIDTHS, wire, 0):
            reserve_wire(job, wire, start, stop, get(job, t.BANDWIDTHS, wire, 0))
    return energy


@kernel
def is_read_anyway(job: Job, planned: int) -> bool:
    """Whether the first channel already carries the tensor, so that no second read is needed."""
    first, end = transfer_path(job, planned)
    return first < end and is_carried(job, planned, get(job, t.PATH_WIRES, first, 0))
