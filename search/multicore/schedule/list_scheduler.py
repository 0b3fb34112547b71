"""The list scheduler: starts each node as early as its core, inputs and memory capacities allow.

Times are in cycles, sizes in bits. Slot 0 is a node's output, slot ``1 + i`` its input ``i``.
"""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.model.multicore.schedule import TransferKind
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.eviction import evict_as_reference, make_room, send_offchip
from nestmap.search.multicore.schedule.input_transfers import (
    clear_memory,
    count_reads,
    fetch,
    fetch_all,
    operand_memory,
    pin_inputs,
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
    count,
    count_up,
    get,
    get3f,
    put,
    rows,
    set_count,
)
from nestmap.search.multicore.schedule.tensor_copies import (
    add_copy,
    copy_in,
    remove_copy,
    unused_from,
)

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
