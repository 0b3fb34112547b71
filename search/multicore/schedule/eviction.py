"""Room in memories: from when on there is enough, and what has to leave for it."""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined, kernel
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

EVICTION = 2
"""The reason of a transfer off the chip to make room."""

OUTPUT_SLOT = 0

_FOREVER = 2**62


@kernel
def make_room(job: Job, tensor: int, memory: int, time: int, node: int) -> int:
    """From when on, at a time or later, a memory has room for a tensor, for good.

    If there never is, what is read least (reads that are left times bits) leaves first; nothing
    that the node itself needs does. Without any room in the end, ``NO_ROOM`` is noted.
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
    """As Stream makes room: at the last change of a memory if there is none before.

    What has to leave is chosen among what is there at that time, all at once.
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
    """Makes room for a tensor at a time, as far as it takes; returns when what left has left."""
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
    """Of the copies in a memory that a node does not need the one that is read least."""
    return _least_read_at(job, memory, node, _FOREVER)


@kernel
def _least_read_at(job: Job, memory: int, node: int, time: int) -> int:
    """Of the copies that take room in a memory at a time the one that is read least."""
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
    """How often a copy will be read; of what its writer still has, how often it will be sent."""
    tensor, memory = copy_word(job, copy, TENSOR), copy_word(job, copy, MEMORY)
    here = max(get(job, LEFT, tensor, memory), 0)
    writer = get(job, TENSORS, tensor, WRITER)
    if writer == NONE:
        return here
    home = get3(
        job, HOMES, get(job, NODES, writer, LAYER), get(job, PROGRESS, writer, CORE), OUTPUT_SLOT
    )
    return get(job, READS, tensor, READS_LEFT) - here if home == memory else here


@kernel
def evict(job: Job, copy: int, time: int, node: int) -> int:
    """Makes a copy leave its memory; returns when its room is free.

    What is still read and is nowhere else is sent off the chip before. Stream sends all that is
    not there, and does not wait for the readers of the copy.
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
    """Sends a copy off the chip as soon as it is there; returns when it has arrived."""
    home = get(job, TENSORS, copy_word(job, copy, TENSOR), OFFCHIP_HOME)
    planned = plan_transfer(job, copy, home, job.offchip)
    time = copy_word(job, copy, AVAILABLE)
    if not job.reference:
        time = max(time, get(job, GONE, copy_word(job, copy, TENSOR), home))
    return send_tensor(job, planned, time, reason, node)
