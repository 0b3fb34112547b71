"""Frees memory capacity for new tensors by evicting others.

Times are in cycles, sizes in bits.
"""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.model.multicore.schedule import TransferKind
from nestmap.search.multicore.schedule.occupancy import below_from, last_change, use_at
from nestmap.search.multicore.schedule.packed_tables import (
    Job,
    bits_held,
    copy_word,
    count,
    get,
    get3,
    set_count,
)
from nestmap.search.multicore.schedule.table_layout import (
    AVAILABLE,
    BITS,
    CAPACITY,
    CORE,
    FAILED_MEMORY,
    FAILED_NODE,
    FAILED_TENSOR,
    FAILURE,
    FINE,
    GONE,
    HOMES,
    IS_OFFCHIP,
    LAYER,
    LEFT,
    MEMORIES,
    MEMORY,
    NEXT_THERE,
    NO_ROOM,
    NODES,
    NONE,
    OFFCHIP_HOME,
    PROGRESS,
    READS,
    READS_LEFT,
    ROOMS,
    SINCE,
    TENSOR,
    TENSORS,
    THERE,
    WANTED,
    WRITER,
)
from nestmap.search.multicore.schedule.tensor_copies import (
    copy_in,
    is_elsewhere,
    remove_copy,
    unused_from,
)
from nestmap.search.multicore.schedule.transfers import plan_transfer, send_tensor

EVICTION = int(TransferKind.EVICTION)
"""The cause recorded for a transfer to off-chip memory that frees capacity."""

OUTPUT_SLOT = 0

_FOREVER = 2**62


@kernel
def make_room(job: Job, tensor: int, memory: int, time: int, node: int) -> int:
    """The earliest time, at ``time`` or later, from which a tensor fits into a memory for good.

    If there is none, evicts tensors in ascending order of remaining reads times bits, except those
    that the node itself needs. Notes ``NO_ROOM`` if the capacity is still insufficient.
    """
    if get(job, MEMORIES, memory, IS_OFFCHIP):
        return time
    bits = get(job, TENSORS, tensor, BITS)
    most = get(job, MEMORIES, memory, CAPACITY) - bits
    found = below_from(job, ROOMS, memory, time, most)
    while found == NONE and count(job, FAILURE) == FINE:
        leaving = _least_read(job, memory, node)
        if leaving == NONE:
            _note_no_room(job, tensor, memory, node)
        else:
            evict(job, leaving, time, node)
            found = below_from(job, ROOMS, memory, time, most)
    return found


@kernel
def _note_no_room(job: Job, tensor: int, memory: int, node: int) -> None:
    set_count(job, FAILURE, NO_ROOM)
    set_count(job, FAILED_TENSOR, tensor)
    set_count(job, FAILED_MEMORY, memory)
    set_count(job, FAILED_NODE, node)


@kernel
def make_room_as_reference(job: Job, tensor: int, memory: int, time: int, node: int) -> int:
    """Frees capacity as Stream does: at the memory's last change if it is full until then.

    All tensors to evict are chosen at once, among those present at that time.
    """
    bits, capacity = get(job, TENSORS, tensor, BITS), get(job, MEMORIES, memory, CAPACITY)
    if get(job, MEMORIES, memory, IS_OFFCHIP):
        return time
    found = below_from(job, ROOMS, memory, time, capacity - bits)
    if found != NONE:
        return found
    found = max(time, last_change(job, ROOMS, memory))
    return evict_as_reference(job, tensor, memory, found, node)


@kernel
def evict_as_reference(job: Job, tensor: int, memory: int, time: int, node: int) -> int:
    """Evicts tensors present at a time until a tensor fits, or none is left.

    Returns the last departure.
    """
    if get(job, MEMORIES, memory, IS_OFFCHIP):
        return time
    bits, at = get(job, TENSORS, tensor, BITS), time
    free = get(job, MEMORIES, memory, CAPACITY)
    free -= use_at(job, ROOMS, memory, time)
    while free < bits and count(job, FAILURE) == FINE:
        leaving = _least_read_at(job, memory, node, at)
        if leaving == NONE:
            _note_no_room(job, tensor, memory, node)
        else:
            free += bits_held(job, leaving)
            time = evict(job, leaving, time, node)
    return time


@kernel
def _least_read(job: Job, memory: int, node: int) -> int:
    """The copy in a memory with the fewest remaining reads, except those that a node needs."""
    return _least_read_at(job, memory, node, _FOREVER)


@kernel
def _least_read_at(job: Job, memory: int, node: int, time: int) -> int:
    """The copy with the fewest remaining reads among those that occupy a memory at a time."""
    best, least, smallest = NONE, 0, 0
    copy = get(job, THERE, memory, 0)
    while copy != NONE:
        if copy_word(job, copy, WANTED) != node and copy_word(job, copy, SINCE) <= time:
            bits = bits_held(job, copy)
            worth = _reads_left(job, copy) * bits
            if best == NONE or worth < least or (worth == least and bits < smallest):
                best, least, smallest = copy, worth, bits
        copy = copy_word(job, copy, NEXT_THERE)
    return best


@inlined
def _reads_left(job: Job, copy: int) -> int:
    """The remaining reads of a copy; in its producer's memory, those of all copies.

    In Stream, in its producer's memory, only those of the other copies.
    """
    tensor, memory = copy_word(job, copy, TENSOR), copy_word(job, copy, MEMORY)
    here = max(get(job, LEFT, tensor, memory), 0)
    writer = get(job, TENSORS, tensor, WRITER)
    if writer == NONE:
        return here
    home = get3(
        job, HOMES, get(job, NODES, writer, LAYER), get(job, PROGRESS, writer, CORE), OUTPUT_SLOT
    )
    if home != memory:
        return here
    everywhere = get(job, READS, tensor, READS_LEFT)
    return everywhere - here if job.reference else everywhere


@kernel
def evict(job: Job, copy: int, time: int, node: int) -> int:
    """Evicts a copy from its memory; returns the time (cycles) at which its capacity is free.

    A tensor with remaining reads and no other copy is first sent to off-chip memory. Stream sends
    every tensor that is not off-chip yet, and does not wait for the readers of the copy.
    """
    tensor = copy_word(job, copy, TENSOR)
    home = get(job, TENSORS, tensor, OFFCHIP_HOME)
    if job.reference:
        if copy_in(job, tensor, home) == NONE:
            time = max(time, send_offchip(job, copy, EVICTION, node))
    else:
        left = get(job, READS, tensor, READS_LEFT)
        if left > 0 and not is_elsewhere(job, tensor, copy_word(job, copy, MEMORY)):
            send_offchip(job, copy, EVICTION, node)
        time = max(time, unused_from(job, copy))
    remove_copy(job, copy, time)
    return time


@kernel
def send_offchip(job: Job, copy: int, reason: int, node: int) -> int:
    """Sends a copy to off-chip memory as soon as it is available; returns its arrival time."""
    home = get(job, TENSORS, copy_word(job, copy, TENSOR), OFFCHIP_HOME)
    planned = plan_transfer(job, copy, home, job.offchip)
    time = copy_word(job, copy, AVAILABLE)
    if not job.reference:
        time = max(time, get(job, GONE, copy_word(job, copy, TENSOR), home))
    return send_tensor(job, planned, time, reason, node)
