"""The list scheduler: starts each node as early as its core, inputs and memory capacities allow.

Times are in cycles, sizes in bits. Slot 0 is a node's output, slot ``1 + i`` its input ``i``.
"""

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.model.multicore.schedule import TransferKind
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.eviction import (
    evict,
    evict_as_reference,
    make_room,
    make_room_as_reference,
    send_offchip,
)
from nestmap.search.multicore.schedule.occupancy import below_from
from nestmap.search.multicore.schedule.operand_streaming import (
    cost,
    is_streamed,
    reserve_offchip_streams,
    streaming_time,
)
from nestmap.search.multicore.schedule.packed_tables import (
    Job,
    add,
    addf,
    copy_word,
    count,
    count_up,
    get,
    get3,
    get3f,
    put,
    rows,
    set_count,
    transfer_word,
)
from nestmap.search.multicore.schedule.tensor_copies import (
    add_copy,
    copy_in,
    is_elsewhere,
    oldest_copy,
    remove_copy,
    unused_from,
)
from nestmap.search.multicore.schedule.transfers import plan_transfer, send_tensor

# --- sends the inputs of a node to the memories that it reads ---
# Times are in cycles, sizes in bits. Slot 0 is a node's output, slot ``1 + i`` its input ``i``.

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


# --- the list scheduler ---

RESULT = int(TransferKind.RESULT)
"""The cause recorded for a transfer of a network output to off-chip memory."""


@kernel
def schedule_nodes(job: Job) -> None:
    """Schedules all nodes; the state must be empty except for the core of each node."""
    _begin(job)
    for row in range(rows(job, t.PREFETCHED)):
        if count(job, t.FAILURE) == t.FINE:
            _prefetch(job, row)
    while count(job, t.N_READY) > 0 and count(job, t.FAILURE) == t.FINE:
        node = _take_next(job)
        _run_node(job, node)
        _release_followers(job, node)


@kernel
def _begin(job: Job) -> None:
    """Counts all reads, places constants in off-chip memory and collects the first nodes."""
    for tensor in range(rows(job, t.TENSORS)):
        if get(job, t.TENSORS, tensor, t.WRITER) == t.NONE:
            add_copy(job, tensor, get(job, t.TENSORS, tensor, t.OFFCHIP_HOME), 0, 0)
    for node in range(rows(job, t.NODES)):
        if cost(job, node, t.RUNTIME) < 0:
            set_count(job, t.FAILURE, t.CANNOT_RUN)
            set_count(job, t.FAILED_NODE, node)
            return
        for need in range(
            get(job, t.NODES, node, t.FIRST_NEED), get(job, t.NODES, node, t.END_NEED)
        ):
            _count(job, node, need)
        put(job, t.PROGRESS, node, t.WAITING, get(job, t.NODES, node, t.WAITS_FOR))
        if get(job, t.PROGRESS, node, t.WAITING) == 0:
            _make_ready(job, node)


@inlined
def _count(job: Job, node: int, need: int) -> None:
    """Counts a future read of a tensor, in the memory the node reads (in Stream its core's)."""
    tensor, slot = get(job, t.NEEDS, need, t.NEEDED), get(job, t.NEEDS, need, t.SLOT)
    memory = operand_memory(job, node, slot)
    if not job.reference and is_streamed(job, node, slot):
        memory = get(job, t.TENSORS, tensor, t.OFFCHIP_HOME)
    put(job, t.LEFT, tensor, memory, max(get(job, t.LEFT, tensor, memory), 0) + 1)
    add(job, t.READS, tensor, t.READS_LEFT, 1)


@inlined
def _make_ready(job: Job, node: int) -> None:
    put(job, t.QUEUE, count(job, t.N_READY), 0, node)
    count_up(job, t.N_READY, 1)


@kernel
def _prefetch(job: Job, row: int) -> None:
    """Sends a constant to the core of a node before the first node runs.

    Skips a constant that is streamed or does not fit with those sent before (Stream then evicts).
    """
    node, need = get(job, t.PREFETCHED, row, 0), get(job, t.PREFETCHED, row, 1)
    tensor, slot = get(job, t.NEEDS, need, t.NEEDED), get(job, t.NEEDS, need, t.SLOT)
    if is_streamed(job, node, slot):
        return
    memory = operand_memory(job, node, slot)
    most = get(job, t.MEMORIES, memory, t.CAPACITY) - get(job, t.TENSORS, tensor, t.BITS)
    if job.reference or below_from(job, t.ROOMS, memory, 0, most) != t.NONE:
        fetch(job, tensor, memory, node)


@kernel
def _take_next(job: Job) -> int:
    """Takes the first of the ready nodes by the candidate rule."""
    best = 0
    for i in range(1, count(job, t.N_READY)):
        if _is_before(job, get(job, t.QUEUE, i, 0), get(job, t.QUEUE, best, 0)):
            best = i
    node = get(job, t.QUEUE, best, 0)
    count_up(job, t.N_READY, -1)
    put(job, t.QUEUE, best, 0, get(job, t.QUEUE, count(job, t.N_READY), 0))
    return node


@inlined
def _is_before(job: Job, node: int, other: int) -> bool:
    if job.rule == t.BY_LATENCY:
        mine, others = (
            get(job, t.PROGRESS, node, t.READY_FROM),
            get(job, t.PROGRESS, other, t.READY_FROM),
        )
        return mine < others or (mine == others and node < other)
    if job.rule == t.BY_START:
        mine, others = _could_start(job, node), _could_start(job, other)
        if mine != others:
            return mine < others
    return get(job, t.NODES, node, t.RANK) < get(job, t.NODES, other, t.RANK)


@inlined
def _could_start(job: Job, node: int) -> int:
    return max(
        get(job, t.IDLE, get(job, t.PROGRESS, node, t.CORE), 0),
        get(job, t.PROGRESS, node, t.READY_FROM),
    )


@kernel
def _run_node(job: Job, node: int) -> None:
    """Schedules a node and the transfers that it requires."""
    core = get(job, t.PROGRESS, node, t.CORE)
    time = max(get(job, t.IDLE, core, 0), get(job, t.PROGRESS, node, t.READY_FROM))
    pin_inputs(job, node)
    streamed = cost(job, node, t.STREAMED)
    slot = 0
    while streamed >> slot:
        if is_streamed(job, node, slot):
            time = clear_memory(job, node, slot, time)
        slot += 1
    time = fetch_all(job, node, time)
    memory = operand_memory(job, node, 0)
    if is_streamed(job, node, 0):
        memory = get(job, t.TENSORS, node, t.OFFCHIP_HOME)
    start = _start_of(job, node, memory, time)
    if count(job, t.FAILURE) != t.FINE:
        return
    end = start + cost(job, node, t.RUNTIME)
    add_copy(job, node, memory, start, end)
    put(job, t.PROGRESS, node, t.NODE_START, start)
    put(job, t.PROGRESS, node, t.NODE_END, end)
    put(job, t.IDLE, core, 0, end)
    addf(
        job,
        t.SPENT,
        t.COMPUTATION,
        0,
        get3f(job, t.ENERGIES, get(job, t.NODES, node, t.KIND), core, t.ONCHIP),
    )
    addf(
        job,
        t.SPENT,
        t.STREAMING,
        0,
        get3f(job, t.ENERGIES, get(job, t.NODES, node, t.KIND), core, t.OFFCHIP),
    )
    count_reads(job, node, end)
    if get(job, t.NODES, node, t.IS_RESULT) and not get(job, t.MEMORIES, memory, t.IS_OFFCHIP):
        _send_result(job, node, memory, end)


@kernel
def _start_of(job: Job, node: int, memory: int, time: int) -> int:
    """The start of a node: its output fits, and the channels have bandwidth for its streams."""
    if job.reference:
        if cost(job, node, t.STREAMED):
            time = streaming_time(job, node, time)
            reserve_offchip_streams(job, node, time)
        return evict_as_reference(job, node, memory, time, node)
    time = make_room(job, node, memory, time, node)
    if cost(job, node, t.STREAMED) and count(job, t.FAILURE) == t.FINE:
        time = streaming_time(job, node, time)
        reserve_offchip_streams(job, node, time)
    return time


@kernel
def _send_result(job: Job, node: int, memory: int, end: int) -> None:
    """Sends a network output to off-chip memory and frees its capacity on the core."""
    copy = copy_in(job, node, memory)
    sent = send_offchip(job, copy, RESULT, node)
    remove_copy(job, copy, max(end, sent) if job.reference else unused_from(job, copy))


@kernel
def _release_followers(job: Job, node: int) -> None:
    """Makes the successors ready whose only remaining predecessor was this node."""
    for i in range(get(job, t.NODES, node, t.FIRST_NEXT), get(job, t.NODES, node, t.END_NEXT)):
        after = get(job, t.FOLLOWING, i, 0)
        end = get(job, t.PROGRESS, node, t.NODE_END)
        put(
            job,
            t.PROGRESS,
            after,
            t.READY_FROM,
            max(get(job, t.PROGRESS, after, t.READY_FROM), end),
        )
        add(job, t.PROGRESS, after, t.WAITING, -1)
        if get(job, t.PROGRESS, after, t.WAITING) == 0:
            _make_ready(job, after)
