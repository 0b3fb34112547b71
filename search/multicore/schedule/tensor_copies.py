"""Copies of tensors in memories: their residencies and remaining readers.

Times are in cycles, sizes in bits.
"""

from nestmap.costmodel.kernel.jit import inlined
from nestmap.search.multicore.schedule import table_layout as t
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

FIRST: int = 0
LAST: int = 1


@inlined
def copy_in(job: Job, tensor: int, memory: int) -> int:
    """The copy of a tensor in a memory, or ``NONE``."""
    copy = get(job, t.READS, tensor, t.FIRST_COPY)
    while copy != t.NONE and copy_word(job, copy, t.MEMORY) != memory:
        copy = copy_word(job, copy, t.NEXT_COPY)
    return copy


@inlined
def oldest_copy(job: Job, tensor: int) -> int:
    """The copy that has been available longest; among equals, the one in the first memory."""
    best = get(job, t.READS, tensor, t.FIRST_COPY)
    copy = best
    while copy != t.NONE:
        older = copy_word(job, copy, t.AVAILABLE) - copy_word(job, best, t.AVAILABLE)
        first = copy_word(job, copy, t.MEMORY) < copy_word(job, best, t.MEMORY)
        if older < 0 or (older == 0 and first):
            best = copy
        copy = copy_word(job, copy, t.NEXT_COPY)
    return best


@inlined
def is_elsewhere(job: Job, tensor: int, memory: int) -> bool:
    """Whether another memory also holds the tensor."""
    copy = get(job, t.READS, tensor, t.FIRST_COPY)
    while copy != t.NONE:
        if copy_word(job, copy, t.MEMORY) != memory:
            return True
        copy = copy_word(job, copy, t.NEXT_COPY)
    return False


@inlined
def change_room(job: Job, memory: int, time: int, bits: int) -> None:
    """Adds to the use of a memory from a time on; off-chip use is only summed up at the end."""
    if get(job, t.MEMORIES, memory, t.IS_OFFCHIP):
        return
    change_use(job, t.ROOMS, memory, time, bits)


@inlined
def add_copy(job: Job, tensor: int, memory: int, since: int, available: int) -> None:
    """Adds a copy of a tensor to a memory."""
    copy = count(job, t.N_COPIES)
    if copy == rows(job, t.COPIES):
        set_count(job, t.FAILURE, t.FULL)
        return
    set_count(job, t.N_COPIES, copy + 1)
    put(job, t.COPIES, copy, t.TENSOR, tensor)
    put(job, t.COPIES, copy, t.MEMORY, memory)
    put(job, t.COPIES, copy, t.SINCE, since)
    put(job, t.COPIES, copy, t.AVAILABLE, available)
    put(job, t.COPIES, copy, t.UNTIL, t.NONE)
    put(job, t.COPIES, copy, t.READ_UNTIL, t.NONE)
    put(job, t.COPIES, copy, t.SENT_UNTIL, t.NONE)
    put(job, t.COPIES, copy, t.WANTED, t.NONE)
    put(job, t.COPIES, copy, t.NEXT_COPY, get(job, t.READS, tensor, t.FIRST_COPY))
    put(job, t.READS, tensor, t.FIRST_COPY, copy)
    _enter(job, copy, memory)
    change_room(job, memory, since, get(job, t.TENSORS, tensor, t.BITS))


@inlined
def remove_copy(job: Job, copy: int, time: int) -> None:
    """Frees the capacity of a copy from a time on, and unlinks it."""
    tensor, memory = copy_word(job, copy, t.TENSOR), copy_word(job, copy, t.MEMORY)
    put(job, t.COPIES, copy, t.UNTIL, time)
    put(job, t.GONE, tensor, memory, time)
    before = get(job, t.READS, tensor, t.FIRST_COPY)
    if before == copy:
        put(job, t.READS, tensor, t.FIRST_COPY, copy_word(job, copy, t.NEXT_COPY))
    else:
        while copy_word(job, before, t.NEXT_COPY) != copy:
            before = copy_word(job, before, t.NEXT_COPY)
        put(job, t.COPIES, before, t.NEXT_COPY, copy_word(job, copy, t.NEXT_COPY))
    _leave(job, copy, memory)
    change_room(job, memory, time, -get(job, t.TENSORS, tensor, t.BITS))


@inlined
def unused_from(job: Job, copy: int) -> int:
    """The time from which a copy is unused.

    It has arrived, its last read and last sending have ended.
    """
    read = max(copy_word(job, copy, t.READ_UNTIL), copy_word(job, copy, t.SENT_UNTIL))
    return max(copy_word(job, copy, t.AVAILABLE), read)


@inlined
def _enter(job: Job, copy: int, memory: int) -> None:
    last = get(job, t.THERE, memory, LAST)
    put(job, t.COPIES, copy, t.LAST_THERE, last)
    put(job, t.COPIES, copy, t.NEXT_THERE, t.NONE)
    if last == t.NONE:
        put(job, t.THERE, memory, FIRST, copy)
    else:
        put(job, t.COPIES, last, t.NEXT_THERE, copy)
    put(job, t.THERE, memory, LAST, copy)


@inlined
def _leave(job: Job, copy: int, memory: int) -> None:
    before, after = copy_word(job, copy, t.LAST_THERE), copy_word(job, copy, t.NEXT_THERE)
    if before == t.NONE:
        put(job, t.THERE, memory, FIRST, after)
    else:
        put(job, t.COPIES, before, t.NEXT_THERE, after)
    if after == t.NONE:
        put(job, t.THERE, memory, LAST, before)
    else:
        put(job, t.COPIES, after, t.LAST_THERE, before)
