"""Wires: when a transfer finds those of its way free, and what it costs on them."""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined, kernel
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
from nestmap.search.multicore.schedule.table_layout import (
    BANDWIDTHS,
    EARLIER,
    END,
    IS_AT,
    LAST_TRANSFER,
    NONE,
    PATH_WIRES,
    PATHS,
    PER_BIT,
    PER_CYCLE,
    READS,
    RECEIVER,
    RECEIVING,
    SENDING,
    START,
    TENSOR,
    TRAFFIC,
    WIRE_ENERGIES,
)


@inlined
def path(job: Job, sending: int, receiving: int) -> tuple[int, int]:
    """Where the wires from one core to another begin and end."""
    pair = sending * rows(job, IS_AT) + receiving
    return get(job, PATHS, pair, 0), get(job, PATHS, pair + 1, 0)


@inlined
def transfer_path(job: Job, transfer: int) -> tuple[int, int]:
    """Where the wires of a transfer begin and end."""
    return path(job, transfer_word(job, transfer, SENDING), transfer_word(job, transfer, RECEIVING))


@inlined
def uses_wire(job: Job, transfer: int, wire: int) -> bool:
    """Whether a wire is one of those of a transfer."""
    return is_on(
        job, transfer_word(job, transfer, SENDING), transfer_word(job, transfer, RECEIVING), wire
    )


@inlined
def cycles_on(job: Job, sending: int, receiving: int, bits: int) -> int:
    """Cycles that bits need on the narrowest wire between two cores."""
    longest = 0
    first, end = path(job, sending, receiving)
    for i in range(first, end):
        width = get(job, BANDWIDTHS, get(job, PATH_WIRES, i, 0), 0)
        if width:
            longest = max(longest, -(-bits // width))
    return longest


@inlined
def is_on(job: Job, sending: int, receiving: int, wire: int) -> bool:
    """Whether a wire is on the way from one core to another."""
    first, end = path(job, sending, receiving)
    while first < end and get(job, PATH_WIRES, first, 0) != wire:
        first += 1
    return first < end


@inlined
def free_from(job: Job, wire: int, time: int, most: int, duration: int) -> int:
    """When first no more than ``most`` bit/cycle of a wire are used for so long."""
    return below_for(job, TRAFFIC, wire, time, most, duration)


@inlined
def reserve_wire(job: Job, wire: int, start: int, end: int, rate: int) -> None:
    """Uses so many bit/cycle of a wire from one time to another."""
    change_use(job, TRAFFIC, wire, start, rate)
    change_use(job, TRAFFIC, wire, end, -rate)


@inlined
def wire_energy(job: Job, wire: int, bits: int, duration: int) -> float:
    """Energy in pJ of bits that pass a wire in so many cycles."""
    return float(
        bits * getf(job, WIRE_ENERGIES, wire, PER_BIT)
        + duration * getf(job, WIRE_ENERGIES, wire, PER_CYCLE)
    )


@kernel
def sending_time(job: Job, planned: int) -> int:
    """When a planned transfer starts: its wires are idle, or carry the tensor to another core.

    As early as possible; Stream joins another transfer also where an idle time comes before.
    """
    if transfer_word(job, planned, END) == transfer_word(job, planned, START):
        return transfer_word(job, planned, START)
    idle = _idle_from(job, planned)
    joined = NONE
    transfer = get(job, READS, transfer_word(job, planned, TENSOR), LAST_TRANSFER)
    while transfer != NONE:
        start = transfer_word(job, transfer, START)
        better = joined == NONE or start < joined or job.reference
        if better and _joins(job, planned, transfer):
            joined = start
        transfer = transfer_word(job, transfer, EARLIER)
    if joined != NONE and (job.reference or joined < idle):
        return joined
    return idle


@kernel
def _idle_from(job: Job, planned: int) -> int:
    """When first all wires of a planned transfer are idle for as long as it takes."""
    time, duration = (
        transfer_word(job, planned, START),
        transfer_cycles(job, planned),
    )
    first, end = transfer_path(job, planned)
    again = True
    while again:
        again = False
        for i in range(first, end):
            wire = get(job, PATH_WIRES, i, 0)
            if get(job, BANDWIDTHS, wire, 0):
                start = free_from(job, wire, time, 0, duration)
                again = again or start != time
                time = start
    return time


@kernel
def _joins(job: Job, planned: int, transfer: int) -> bool:
    """Whether a planned transfer can go along with another one of the same tensor."""
    start, duration = transfer_word(job, transfer, START), transfer_cycles(job, planned)
    again = transfer_word(job, transfer, RECEIVER) == transfer_word(job, planned, RECEIVER)
    if (again and not job.reference) or start < transfer_word(job, planned, START):
        return False
    if transfer_word(job, transfer, END) - start != duration:
        return False
    shared = False
    first, end = transfer_path(job, planned)
    for i in range(first, end):
        wire = get(job, PATH_WIRES, i, 0)
        if get(job, BANDWIDTHS, wire, 0):
            if is_on(
                job,
                transfer_word(job, transfer, SENDING),
                transfer_word(job, transfer, RECEIVING),
                wire,
            ):
                shared = True
            elif free_from(job, wire, start, 0, duration) != start:
                return False
    return shared


@kernel
def is_carried(job: Job, planned: int, wire: int) -> bool:
    """Whether a wire carries the tensor of a planned transfer at that time anyway."""
    if transfer_word(job, planned, END) == transfer_word(job, planned, START):
        return False
    transfer = get(job, READS, transfer_word(job, planned, TENSOR), LAST_TRANSFER)
    while transfer != NONE:
        along = transfer_word(job, transfer, START) == transfer_word(job, planned, START)
        along = along and (
            job.reference or transfer_word(job, transfer, END) == transfer_word(job, planned, END)
        )
        if along and is_on(
            job,
            transfer_word(job, transfer, SENDING),
            transfer_word(job, transfer, RECEIVING),
            wire,
        ):
            return True
        transfer = transfer_word(job, transfer, EARLIER)
    return False


@kernel
def reserve_path(job: Job, planned: int) -> float:
    """Takes the wires of a planned transfer whose times are set; returns pJ on them.

    What is on a wire anyway costs nothing more there; in Stream it costs again.
    """
    start, stop = transfer_word(job, planned, START), transfer_word(job, planned, END)
    bits = bits_sent(job, planned)
    energy = 0.0
    first, end = transfer_path(job, planned)
    for i in range(first, end):
        wire = get(job, PATH_WIRES, i, 0)
        carried = is_carried(job, planned, wire)
        if job.reference or not carried:
            energy += wire_energy(job, wire, bits, stop - start)
        if not carried and stop > start and get(job, BANDWIDTHS, wire, 0):
            reserve_wire(job, wire, start, stop, get(job, BANDWIDTHS, wire, 0))
    return energy


@kernel
def is_read_anyway(job: Job, planned: int) -> bool:
    """Whether the first wire of a planned transfer carries the tensor anyway: it is read once."""
    first, end = transfer_path(job, planned)
    return first < end and is_carried(job, planned, get(job, PATH_WIRES, first, 0))
