"""Sends a tensor from one memory to another.

Times are in cycles, sizes in bits, energies in pJ.
"""

from __future__ import annotations

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.search.multicore.schedule.interconnect import (
    cycles_on,
    is_read_anyway,
    reserve_path,
    sending_time,
    transfer_path,
)
from nestmap.search.multicore.schedule.packed_tables import (
    Job,
    addf,
    bits_sent,
    copy_word,
    count,
    get,
    getf,
    put,
    putf,
    rows,
    set_count,
    transfer_word,
)
from nestmap.search.multicore.schedule.table_layout import (
    CAUSE,
    COPIES,
    EARLIER,
    END,
    FAILURE,
    FIRST_CORE,
    FULL,
    IN_MEMORIES,
    IS_AT,
    LAST_TRANSFER,
    MEMORIES,
    MEMORY,
    MEMORY_ENERGIES,
    N_TRANSFERS,
    ON_WIRES,
    READ,
    READ_WIDTH,
    READS,
    REASON,
    RECEIVER,
    RECEIVING,
    SENDER,
    SENDING,
    SENDING_ENERGIES,
    SENT,
    SENT_UNTIL,
    SPENT,
    START,
    TENSOR,
    TRANSFERS,
    WRITE,
    WRITE_WIDTH,
)
from nestmap.search.multicore.schedule.tensor_copies import add_copy, copy_in


@inlined
def plan_transfer(job: Job, copy: int, memory: int, core: int) -> int:
    """Adds a row for sending a copy to a core's memory; its times are set later.

    Notes ``FULL`` if no row is left.
    """
    planned = count(job, N_TRANSFERS)
    if planned == rows(job, TRANSFERS):
        set_count(job, FAILURE, FULL)
        planned = 0
    sender = copy_word(job, copy, MEMORY)
    near = get(job, IS_AT, core, sender) == 1
    put(job, TRANSFERS, planned, TENSOR, copy_word(job, copy, TENSOR))
    put(job, TRANSFERS, planned, SENDER, sender)
    put(job, TRANSFERS, planned, RECEIVER, memory)
    put(job, TRANSFERS, planned, SENDING, core if near else get(job, MEMORIES, sender, FIRST_CORE))
    put(job, TRANSFERS, planned, RECEIVING, core)
    return planned


@inlined
def transfer_duration(job: Job, planned: int) -> int:
    """The cycles of a planned transfer: by its narrowest channel, or by the ports within a core.

    Within a core a transfer takes no time in Stream.
    """
    bits = bits_sent(job, planned)
    first, end = transfer_path(job, planned)
    if first < end:
        return cycles_on(
            job,
            transfer_word(job, planned, SENDING),
            transfer_word(job, planned, RECEIVING),
            bits,
        )
    if job.reference:
        return 0
    read = get(job, MEMORIES, transfer_word(job, planned, SENDER), READ_WIDTH)
    write = get(job, MEMORIES, transfer_word(job, planned, RECEIVER), WRITE_WIDTH)
    return max(-(-bits // read), -(-bits // write))


@kernel
def send_tensor(job: Job, planned: int, time: int, reason: int, node: int) -> int:
    """Carries out a planned transfer, no earlier than a time; returns its end."""
    lasts = transfer_duration(job, planned)
    put(job, TRANSFERS, planned, START, time)
    put(job, TRANSFERS, planned, END, time + lasts)
    start = sending_time(job, planned)
    put(job, TRANSFERS, planned, START, start)
    put(job, TRANSFERS, planned, END, start + lasts)
    put(job, TRANSFERS, planned, REASON, reason)
    put(job, TRANSFERS, planned, CAUSE, node)
    _spend_energy(job, planned)
    _append_transfer(job, planned)
    copy = copy_in(job, transfer_word(job, planned, TENSOR), transfer_word(job, planned, SENDER))
    put(job, COPIES, copy, SENT_UNTIL, max(copy_word(job, copy, SENT_UNTIL), start + lasts))
    add_copy(
        job,
        transfer_word(job, planned, TENSOR),
        transfer_word(job, planned, RECEIVER),
        start,
        start + lasts,
    )
    return start + lasts


@kernel
def _spend_energy(job: Job, planned: int) -> None:
    """Adds the energy of a transfer and reserves its channels."""
    bits = bits_sent(job, planned)
    sender, receiver = transfer_word(job, planned, SENDER), transfer_word(job, planned, RECEIVER)
    words = -(-bits // get(job, MEMORIES, receiver, WRITE_WIDTH))
    memories = words * getf(job, MEMORY_ENERGIES, receiver, WRITE)
    if job.reference or not is_read_anyway(job, planned):
        memories += -(-bits // get(job, MEMORIES, sender, READ_WIDTH)) * getf(
            job, MEMORY_ENERGIES, sender, READ
        )
    wires = reserve_path(job, planned)
    part = SENT + 2 * transfer_word(job, planned, REASON)
    addf(job, SPENT, part + ON_WIRES, 0, wires)
    addf(job, SPENT, part + IN_MEMORIES, 0, memories)
    putf(job, SENDING_ENERGIES, planned, ON_WIRES, wires)
    putf(job, SENDING_ENERGIES, planned, IN_MEMORIES, memories)


@inlined
def _append_transfer(job: Job, planned: int) -> None:
    """Links a planned transfer into the list of its tensor."""
    tensor = transfer_word(job, planned, TENSOR)
    put(job, TRANSFERS, planned, EARLIER, get(job, READS, tensor, LAST_TRANSFER))
    put(job, READS, tensor, LAST_TRANSFER, planned)
    if count(job, FAILURE) != FULL:
        set_count(job, N_TRANSFERS, planned + 1)
