"""Frees memory capacity for new tensors by evicting others.

Times are in cycles, sizes in bits.
"""

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.model.multicore.schedule import TransferKind
from nestmap.search.multicore.schedule import table_layout as t
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
    if get(job, t.MEMORIES, memory, t.IS_OFFCHIP):
        return time
    bits = get(job, t.TENSORS, tensor, t.BITS)
    most = get(job, t.MEMORIES, memory, t.CAPACITY) - bits
    found = below_from(job, t.ROOMS, memory, time, most)
    while found == t.NONE and count(job, t.FAILURE) == t.FINE:
        leaving = _least_read(job, memory, node)
        if leaving == t.NONE:
            _note_no_room(job, tensor, memory, node)
        else:
            evict(job, leaving, time, node)
            found = below_from(job, t.ROOMS, memory, time, most)
    return found


@kernel
def _note_no_room(job: Job, tensor: int, memory: int, node: int) -> None:
    set_count(job, t.FAILURE, t.NO_ROOM)
    set_count(job, t.FAILED_TENSOR, tensor)
    set_count(job, t.FAILED_MEMORY, memory)
    set_count(job, t.FAILED_NODE, node)


@kernel
def make_room_as_reference(job: Job, tensor: int, memory: int, time: int, node: int) -> int:
    """Frees capacity as Stream does: at the memory's last change if it is full until then.

    All tensors to evict are chosen at once, among those present at that time.
    """
    bits, capacity = get(job, t.TENSORS, tensor, t.BITS), get(job, t.MEMORIES, memory, t.CAPACITY)
    if get(job, t.MEMORIES, memory, t.IS_OFFCHIP):
        return time
    found = below_from(job, t.ROOMS, memory, time, capacity - bits)
    if found != t.NONE:
        return found
    found = max(time, last_change(job, t.ROOMS, memory))
    return evict_as_reference(job, tensor, memory, found, node)


@kernel
def evict_as_reference(job: Job, tensor: int, memory: int, time: int, node: int) -> int:
    """Evicts tensors present at a time until a tensor fits, or none is left.

    Returns the last departure.
    """
    if get(job, t.MEMORIES, memory, t.IS_OFFCHIP):
        return time
    bits, at = get(job, t.TENSORS, tensor, t.BITS), time
    free = get(job, t.MEMORIES, memory, t.CAPACITY)
    free -= use_at(job, t.ROOMS, memory, time)
    while free < bits and count(job, t.FAILURE) == t.FINE:
        leaving = _least_read_at(job, memory, node, at)
        if leaving == t.NONE:
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
    best, least, smallest = t.NONE, 0, 0
    copy = get(job, t.THERE, memory, 0)
    while copy != t.NONE:
        if copy_word(job, copy, t.WANTED) != node and copy_word(job, copy, t.SINCE) <= time:
            bits = bits_held(job, copy)
            worth = _reads_left(job, copy) * bits
            if best == t.NONE or worth < least or (worth == least and bits < smallest):
                best, least, smallest = copy, worth, bits
        copy = copy_word(job, copy, t.NEXT_THERE)
    return best


@inlined
def _reads_left(job: Job, copy: int) -> int:
    """The remaining reads of a copy; in its producer's memory, those of all copies.

    In Stream, in its producer's memory, only those of the other copies.
    """
    tensor, memory = copy_word(job, copy, t.TENSOR), copy_word(job, copy, t.MEMORY)
    here = max(get(job, t.LEFT, tensor, memory), 0)
    writer = get(job, t.TENSORS, tensor, t.WRITER)
    if writer == t.NONE:
        return here
    home = get3(
        job,
        t.HOMES,
        get(job, t.NODES, writer, t.LAYER),
        get(job, t.PROGRESS, writer, t.CORE),
        OUTPUT_SLOT,
    )
    if home != memory:
        return here
    everywhere = get(job, t.READS, tensor, t.READS_LEFT)
    return everywhere - here if job.reference else everywhere


@kernel
def evict(job: Job, copy: int, time: int, node: int) -> int:
    """Evicts a copy from its memory; returns the time (cycles) at which its capacity is free.

    A tensor with remaining reads and no other copy is first sent to off-chip memory. Stream sends
    every tensor that is not off-chip yet, and does not wait for the readers of the copy.
    """
    tensor = copy_word(job, copy, t.TENSOR)
    home = get(job, t.TENSORS, tensor, t.OFFCHIP_HOME)
    if job.reference:
        if copy_in(job, tensor, home) == t.NONE:
            time = max(time, send_offchip(job, copy, EVICTION, node))
    else:
        left = get(job, t.READS, tensor, t.READS_LEFT)
        if left > 0 and not is_elsewhere(job, tensor, copy_word(job, copy, t.MEMORY)):
            send_offchip(job, copy, EVICTION, node)
        time = max(time, unused_from(job, copy))
    remove_copy(job, copy, time)
    return time


@kernel
def send_offchip(job: Job, copy: int, reason: int, node: int) -> int:
    """Sends a copy to off-chip memory as soon as it is available; returns its arrival time."""
    home = get(job, t.TENSORS, copy_word(job, copy, t.TENSOR), t.OFFCHIP_HOME)
    planned = plan_transfer(job, copy, home, job.offchip)
    time = copy_word(job, copy, t.AVAILABLE)
    if not job.reference:
        time = max(time, get(job, t.GONE, copy_word(job, copy, t.TENSOR), home))
    return send_tensor(job, planned, time, reason, node)
