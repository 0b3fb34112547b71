"""Copies of tensors in memories: their residencies and remaining readers.

Times are in cycles, sizes in bits.
"""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined
from nestmap.search.multicore.schedule.occupancy import change_use
from nestmap.search.multicore.schedule.packed_tables import (
    Job,
    copy_word,
    count,
    get,
    put,
    rows,
    set_count,
)
from nestmap.search.multicore.schedule.table_layout import (
    AVAILABLE,
    BITS,
    COPIES,
    FAILURE,
    FIRST_COPY,
    FULL,
    GONE,
    IS_OFFCHIP,
    LAST_THERE,
    MEMORIES,
    MEMORY,
    N_COPIES,
    NEXT_COPY,
    NEXT_THERE,
    NONE,
    READ_UNTIL,
    READS,
    ROOMS,
    SENT_UNTIL,
    SINCE,
    TENSOR,
    TENSORS,
    THERE,
    UNTIL,
    WANTED,
)

FIRST: int = 0
LAST: int = 1


@inlined
def copy_in(job: Job, tensor: int, memory: int) -> int:
    """The copy of a tensor in a memory, or ``NONE``."""
    copy = get(job, READS, tensor, FIRST_COPY)
    while copy != NONE and copy_word(job, copy, MEMORY) != memory:
        copy = copy_word(job, copy, NEXT_COPY)
    return copy


@inlined
def oldest_copy(job: Job, tensor: int) -> int:
    """The copy that has been available longest; among equals, the one in the first memory."""
    best = get(job, READS, tensor, FIRST_COPY)
    copy = best
    while copy != NONE:
        older = copy_word(job, copy, AVAILABLE) - copy_word(job, best, AVAILABLE)
        first = copy_word(job, copy, MEMORY) < copy_word(job, best, MEMORY)
        if older < 0 or (older == 0 and first):
            best = copy
        copy = copy_word(job, copy, NEXT_COPY)
    return best


@inlined
def is_elsewhere(job: Job, tensor: int, memory: int) -> bool:
    """Whether another memory also holds the tensor."""
    copy = get(job, READS, tensor, FIRST_COPY)
    while copy != NONE:
        if copy_word(job, copy, MEMORY) != memory:
            return True
        copy = copy_word(job, copy, NEXT_COPY)
    return False


@inlined
def change_room(job: Job, memory: int, time: int, bits: int) -> None:
    """Adds to the use of a memory from a time on; off-chip use is only summed up at the end."""
    if get(job, MEMORIES, memory, IS_OFFCHIP):
        return
    change_use(job, ROOMS, memory, time, bits)


@inlined
def add_copy(job: Job, tensor: int, memory: int, since: int, available: int) -> None:
    """Adds a copy of a tensor to a memory."""
    copy = count(job, N_COPIES)
    if copy == rows(job, COPIES):
        set_count(job, FAILURE, FULL)
        return
    set_count(job, N_COPIES, copy + 1)
    put(job, COPIES, copy, TENSOR, tensor)
    put(job, COPIES, copy, MEMORY, memory)
    put(job, COPIES, copy, SINCE, since)
    put(job, COPIES, copy, AVAILABLE, available)
    put(job, COPIES, copy, UNTIL, NONE)
    put(job, COPIES, copy, READ_UNTIL, NONE)
    put(job, COPIES, copy, SENT_UNTIL, NONE)
    put(job, COPIES, copy, WANTED, NONE)
    put(job, COPIES, copy, NEXT_COPY, get(job, READS, tensor, FIRST_COPY))
    put(job, READS, tensor, FIRST_COPY, copy)
    _enter(job, copy, memory)
    change_room(job, memory, since, get(job, TENSORS, tensor, BITS))


@inlined
def remove_copy(job: Job, copy: int, time: int) -> None:
    """Frees the capacity of a copy from a time on, and unlinks it."""
    tensor, memory = copy_word(job, copy, TENSOR), copy_word(job, copy, MEMORY)
    put(job, COPIES, copy, UNTIL, time)
    put(job, GONE, tensor, memory, time)
    before = get(job, READS, tensor, FIRST_COPY)
    if before == copy:
        put(job, READS, tensor, FIRST_COPY, copy_word(job, copy, NEXT_COPY))
    else:
        while copy_word(job, before, NEXT_COPY) != copy:
            before = copy_word(job, before, NEXT_COPY)
        put(job, COPIES, before, NEXT_COPY, copy_word(job, copy, NEXT_COPY))
    _leave(job, copy, memory)
    change_room(job, memory, time, -get(job, TENSORS, tensor, BITS))


@inlined
def unused_from(job: Job, copy: int) -> int:
    """The time from which a copy is unused.

    It has arrived, its last read and last sending have ended.
    """
    read = max(copy_word(job, copy, READ_UNTIL), copy_word(job, copy, SENT_UNTIL))
    return max(copy_word(job, copy, AVAILABLE), read)


@inlined
def _enter(job: Job, copy: int, memory: int) -> None:
    last = get(job, THERE, memory, LAST)
    put(job, COPIES, copy, LAST_THERE, last)
    put(job, COPIES, copy, NEXT_THERE, NONE)
    if last == NONE:
        put(job, THERE, memory, FIRST, copy)
    else:
        put(job, COPIES, last, NEXT_THERE, copy)
    put(job, THERE, memory, LAST, copy)


@inlined
def _leave(job: Job, copy: int, memory: int) -> None:
    before, after = copy_word(job, copy, LAST_THERE), copy_word(job, copy, NEXT_THERE)
    if before == NONE:
        put(job, THERE, memory, FIRST, after)
    else:
        put(job, COPIES, before, NEXT_THERE, after)
    if after == NONE:
        put(job, THERE, memory, LAST, before)
    else:
        put(job, COPIES, after, LAST_THERE, before)
