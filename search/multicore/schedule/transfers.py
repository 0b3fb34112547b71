"""Sends a tensor from one memory to another.

Times are in cycles, sizes in bits, energies in pJ.
"""

from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.search.multicore.schedule import table_layout as t
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
from nestmap.search.multicore.schedule.tensor_copies import add_copy, copy_in


@inlined
def plan_transfer(job: Job, copy: int, memory: int, core: int) -> int:
    """Adds a row for sending a copy to a core's memory; its times are set later.

    Notes ``FULL`` if no row is left.
    """
    planned = count(job, t.N_TRANSFERS)
    if planned == rows(job, t.TRANSFERS):
        set_count(job, t.FAILURE, t.FULL)
        planned = 0
    sender = copy_word(job, copy, t.MEMORY)
    near = get(job, t.IS_AT, core, sender) == 1
    put(job, t.TRANSFERS, planned, t.TENSOR, copy_word(job, copy, t.TENSOR))
    put(job, t.TRANSFERS, planned, t.SENDER, sender)
    put(job, t.TRANSFERS, planned, t.RECEIVER, memory)
    put(
        job,
        t.TRANSFERS,
        planned,
        t.SENDING,
        core if near else get(job, t.MEMORIES, sender, t.FIRST_CORE),
    )
    put(job, t.TRANSFERS, planned, t.RECEIVING, core)
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
            transfer_word(job, planned, t.SENDING),
            transfer_word(job, planned, t.RECEIVING),
            bits,
        )
    if job.reference:
        return 0
    read = get(job, t.MEMORIES, transfer_word(job, planned, t.SENDER), t.READ_WIDTH)
    write = get(job, t.MEMORIES, transfer_word(job, planned, t.RECEIVER), t.WRITE_WIDTH)
    return max(-(-bits // read), -(-bits // write))


@kernel
def send_tensor(job: Job, planned: int, time: int, reason: int, node: int) -> int:
    """Carries out a planned transfer, no earlier than a time; returns its end."""
    lasts = transfer_duration(job, planned)
    put(job, t.TRANSFERS, planned, t.START, time)
    put(job, t.TRANSFERS, planned, t.END, time + lasts)
    start = sending_time(job, planned)
    put(job, t.TRANSFERS, planned, t.START, start)
    put(job, t.TRANSFERS, planned, t.END, start + lasts)
    put(job, t.TRANSFERS, planned, t.REASON, reason)
    put(job, t.TRANSFERS, planned, t.CAUSE, node)
    _spend_energy(job, planned)
    _append_transfer(job, planned)
    copy = copy_in(
        job, transfer_word(job, planned, t.TENSOR), transfer_word(job, planned, t.SENDER)
    )
    put(job, t.COPIES, copy, t.SENT_UNTIL, max(copy_word(job, copy, t.SENT_UNTIL), start + lasts))
    add_copy(
        job,
        transfer_word(job, planned, t.TENSOR),
        transfer_word(job, planned, t.RECEIVER),
        start,
        start + lasts,
    )
    return start + lasts


@kernel
def _spend_energy(job: Job, planned: int) -> None:
    """Adds the energy of a transfer and reserves its channels."""
    bits = bits_sent(job, planned)
    sender, receiver = (
        transfer_word(job, planned, t.SENDER),
        transfer_word(job, planned, t.RECEIVER),
    )
    words = -(-bits // get(job, t.MEMORIES, receiver, t.WRITE_WIDTH))
    memories = words * getf(job, t.MEMORY_ENERGIES, receiver, t.WRITE)
    if job.reference or not is_read_anyway(job, planned):
        memories += -(-bits // get(job, t.MEMORIES, sender, t.READ_WIDTH)) * getf(
            job, t.MEMORY_ENERGIES, sender, t.READ
        )
    wires = reserve_path(job, planned)
    part = t.SENT + 2 * transfer_word(job, planned, t.REASON)
    addf(job, t.SPENT, part + t.ON_WIRES, 0, wires)
    addf(job, t.SPENT, part + t.IN_MEMORIES, 0, memories)
    putf(job, t.SENDING_ENERGIES, planned, t.ON_WIRES, wires)
    putf(job, t.SENDING_ENERGIES, planned, t.IN_MEMORIES, memories)


@inlined
def _append_transfer(job: Job, planned: int) -> None:
    """Links a planned transfer into the list of its tensor."""
    tensor = transfer_word(job, planned, t.TENSOR)
    put(job, t.TRANSFERS, planned, t.EARLIER, get(job, t.READS, tensor, t.LAST_TRANSFER))
    put(job, t.READS, tensor, t.LAST_TRANSFER, planned)
    if count(job, t.FAILURE) != t.FULL:
        set_count(job, t.N_TRANSFERS, planned + 1)
