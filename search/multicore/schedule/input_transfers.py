"""Sends the inputs of a node to the memories that it reads, and frees them after their last reader.

Times are in cycles, sizes in bits. Slot 0 is a node's output, slot ``1 + i`` its input ``i``.
"""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.model.multicore.schedule import TransferKind
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.eviction import evict, make_room, make_room_as_reference
from nestmap.search.multicore.schedule.operand_streaming import is_streamed
from nestmap.search.multicore.schedule.packed_tables import (
    Job,
    add,
    copy_word,
    count,
    get,
    get3,
    put,
    transfer_word,
)
from nestmap.search.multicore.schedule.tensor_copies import (
    copy_in,
    is_elsewhere,
    oldest_copy,
    remove_copy,
    unused_from,
)
from nestmap.search.multicore.schedule.transfers import plan_transfer, send_tensor

FROM_OFFCHIP = int(TransferKind.CONSTANT)
FROM_CORE = int(TransferKind.ACTIVATION)
"""The causes of transfers to a core."""


@inlined
def operand_memory(job: Job, node: int, slot: int) -> int:
    """The memory of an operand of a node (slot 0: output, ``1 + i``: input) on its core."""
    return get3(
        job, t.HOMES, get(job, t.NODES, node, t.LAYER), get(job, t.PROGRESS, node, t.CORE), slot
    )


@inlined
def read_memory(job: Job, node: int, need: int) -> int:
    """The memory that a node reads an input from.

    Off-chip if it is streamed (``NONE`` in Stream).
    """
    slot = get(job, t.NEEDS, need, t.SLOT)
    if is_streamed(job, node, slot):
        tensor = get(job, t.NEEDS, need, t.NEEDED)
        return t.NONE if job.reference else get(job, t.TENSORS, tensor, t.OFFCHIP_HOME)
    return operand_memory(job, node, slot)


@kernel
def pin_inputs(job: Job, node: int) -> None:
    """Pins the inputs of a node that are already where it reads them (in Stream: in any memory)."""
    for need in range(get(job, t.NODES, node, t.FIRST_NEED), get(job, t.NODES, node, t.END_NEED)):
        memory = read_memory(job, node, need)
        copy = get(job, t.READS, get(job, t.NEEDS, need, t.NEEDED), t.FIRST_COPY)
        while copy != t.NONE:
            if memory != t.NONE and (job.reference or copy_word(job, copy, t.MEMORY) == memory):
                put(job, t.COPIES, copy, t.WANTED, node)
            copy = copy_word(job, copy, t.NEXT_COPY)


@kernel
def clear_memory(job: Job, node: int, slot: int, time: int) -> int:
    """Evicts all but a node's own inputs from a streamed operand's memory.

    Returns when it is empty.
    """
    copy, at = get(job, t.THERE, operand_memory(job, node, slot), 0), time
    while copy != t.NONE and count(job, t.FAILURE) == t.FINE:
        after = copy_word(job, copy, t.NEXT_THERE)
        if copy_word(job, copy, t.WANTED) != node and copy_word(job, copy, t.SINCE) <= at:
            time = evict(job, copy, time, node)
        copy = after
    return time


@kernel
def fetch_all(job: Job, node: int, time: int) -> int:
    """Brings all inputs of a node; returns when all are available, at ``time`` or later.

    The tensors that have been available longest come first; in Stream the smallest.
    """
    first, end = get(job, t.NODES, node, t.FIRST_NEED), get(job, t.NODES, node, t.END_NEED)
    if job.reference:
        for need in range(first, end):
            time = max(time, _fetch(job, node, need))
        return time
    _sort(job, first, end)
    for place in range(first, end):
        time = max(time, _fetch(job, node, get(job, t.ORDER, place, 0)))
    return time


@kernel
def _sort(job: Job, first: int, end: int) -> None:
    """Sorts needs by the time at which their tensors became available.

    Uses insertion sort, since the producers of a node's inputs mostly end in order.
    """
    for need in range(first, end):
        time = copy_word(job, oldest_copy(job, get(job, t.NEEDS, need, t.NEEDED)), t.AVAILABLE)
        place = need
        while place > first and get(job, t.ORDER, place - 1, 1) > time:
            put(job, t.ORDER, place, 0, get(job, t.ORDER, place - 1, 0))
            put(job, t.ORDER, place, 1, get(job, t.ORDER, place - 1, 1))
            place -= 1
        put(job, t.ORDER, place, 0, need)
        put(job, t.ORDER, place, 1, time)


@kernel
def _fetch(job: Job, node: int, need: int) -> int:
    """Brings a tensor that a node needs; returns its arrival (0 in Stream if it was present)."""
    memory = read_memory(job, node, need)
    if memory == t.NONE or count(job, t.FAILURE) != t.FINE:
        return 0
    return fetch(job, get(job, t.NEEDS, need, t.NEEDED), memory, node)


@kernel
def fetch(job: Job, tensor: int, memory: int, node: int) -> int:
    """Brings a tensor into a memory of the node's core, or into off-chip memory."""
    copy = copy_in(job, tensor, memory)
    if copy != t.NONE:
        return 0 if job.reference else copy_word(job, copy, t.AVAILABLE)
    source = oldest_copy(job, tensor)
    time = copy_word(job, source, t.AVAILABLE)
    if job.reference:
        time = make_room_as_reference(job, tensor, memory, time, node)
    else:
        time = max(time, get(job, t.GONE, tensor, memory))
        time = make_room(job, tensor, memory, time, node)
    if count(job, t.FAILURE) != t.FINE:
        return time
    offchip = get(job, t.MEMORIES, memory, t.IS_OFFCHIP) == 1
    core = job.offchip if offchip else get(job, t.PROGRESS, node, t.CORE)
    from_offchip = get(job, t.MEMORIES, copy_word(job, source, t.MEMORY), t.IS_OFFCHIP) == 1
    planned = plan_transfer(job, source, memory, core)
    reason = FROM_OFFCHIP if from_offchip else FROM_CORE
    time = send_tensor(job, planned, time, reason, node)
    put(job, t.COPIES, copy_in(job, tensor, memory), t.WANTED, node)
    _free_source(job, source, planned, time)
    return time


@kernel
def _free_source(job: Job, source: int, planned: int, time: int) -> None:
    """Removes the source copy of a transfer if no node will read it there."""
    memory, tensor = copy_word(job, source, t.MEMORY), copy_word(job, source, t.TENSOR)
    if get(job, t.MEMORIES, memory, t.IS_OFFCHIP):
        return
    left = get(job, t.LEFT, tensor, memory)
    if not job.reference:
        if left <= 0:
            remove_copy(job, source, unused_from(job, source))
        return
    writer = get(job, t.TENSORS, tensor, t.WRITER)
    passed_on = writer != t.NONE and transfer_word(job, planned, t.SENDING) != get(
        job, t.PROGRESS, writer, t.CORE
    )
    if left == t.NONE or (passed_on and left <= 0):
        remove_copy(job, source, time)


@kernel
def count_reads(job: Job, node: int, end: int) -> None:
    """Counts the reads of a node, and removes copies without remaining reads."""
    for need in range(get(job, t.NODES, node, t.FIRST_NEED), get(job, t.NODES, node, t.END_NEED)):
        memory = read_memory(job, node, need)
        if memory != t.NONE:
            tensor = get(job, t.NEEDS, need, t.NEEDED)
            add(job, t.LEFT, tensor, memory, -1)
            add(job, t.READS, tensor, t.READS_LEFT, -1)
            put(job, t.READS, tensor, t.LAST_READ, max(get(job, t.READS, tensor, t.LAST_READ), end))
            copy = copy_in(job, tensor, memory)
            if copy != t.NONE:
                put(job, t.COPIES, copy, t.READ_UNTIL, max(copy_word(job, copy, t.READ_UNTIL), end))
    for need in range(get(job, t.NODES, node, t.FIRST_NEED), get(job, t.NODES, node, t.END_NEED)):
        memory = read_memory(job, node, need)
        if memory != t.NONE:
            _free_unread(job, get(job, t.NEEDS, need, t.NEEDED), memory, end)


@kernel
def _free_unread(job: Job, tensor: int, memory: int, end: int) -> None:
    """Removes all copies of a tensor without remaining reads, or this copy if it has none here.

    Off-chip copies stay as long as the tensor has remaining reads.
    """
    if get(job, t.READS, tensor, t.READS_LEFT) == 0:
        copy = get(job, t.READS, tensor, t.FIRST_COPY)
        while copy != t.NONE:
            after = copy_word(job, copy, t.NEXT_COPY)
            remove_copy(job, copy, _last_read(job, copy, end))
            copy = after
    elif not (
        job.reference
        or get(job, t.MEMORIES, memory, t.IS_OFFCHIP)
        or get(job, t.LEFT, tensor, memory)
    ):
        copy = copy_in(job, tensor, memory)
        if copy != t.NONE and is_elsewhere(job, tensor, memory):
            remove_copy(job, copy, unused_from(job, copy))


@kernel
def _last_read(job: Job, copy: int, end: int) -> int:
    """The time at which the last reader of a copy ends."""
    if not job.reference:
        return unused_from(job, copy)
    tensor, memory = copy_word(job, copy, t.TENSOR), copy_word(job, copy, t.MEMORY)
    if get(job, t.TENSORS, tensor, t.WRITER) == t.NONE:
        return end
    if get(job, t.MEMORIES, memory, t.IS_OFFCHIP):
        return get(job, t.READS, tensor, t.LAST_READ)
    read = copy_word(job, copy, t.READ_UNTIL)
    return end if read == t.NONE else read
