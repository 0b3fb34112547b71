"""Replays a schedule from its events alone and says all that cannot be: slowly, in plain Python.

Shares nothing with the scheduler but the models.
"""

from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from math import inf

from nestmap.model.multicore.schedule import Schedule, TransferKind
from tests.search.multicore.schedule.energies import energies
from tests.search.multicore.schedule.replay import Replay, Sent, Stay
from tests.search.multicore.schedule.wires import streams, wires


def violations(schedule: Schedule) -> list[str]:
    """What of a schedule cannot be, or is not what its problem demands.

    In the reference's counting nothing is said of memories: it forgets what it needs, frees too
    early and takes room in the past.
    """
    replay = Replay(schedule)
    wrong = [*tensors(replay), *places(replay)]
    if wrong:  # nothing else makes sense then
        return wrong
    checks: list[Callable[[Replay], Iterator[str]]] = [
        nodes,
        order,
        durations,
        wires,
        streams,
        energies,
        latency,
    ]
    if replay.exact:
        checks += [reads, stays, kept, memories, transfers]
    return list(chain.from_iterable(check(replay) for check in checks))


def tensors(replay: Replay) -> Iterator[str]:
    """The outputs in order, then each part of each constant once, all with the bits they have."""
    demands = replay.demands
    count, rows = len(demands.outputs), replay.tensors
    if rows[:count] != [(place, 0) for place in range(count)]:
        yield f"the first {count} tensors are not the outputs of the nodes"
        return
    if replay.bits[:count] != demands.outputs:
        yield f"outputs of {replay.bits[:count]} bits instead of {demands.outputs}"
    seen: set[object] = set()
    for tensor, (place, operand) in enumerate(rows[count:], count):
        if (place, operand - 1) not in demands.constants_of(place) and replay.bits[tensor]:
            yield f"tensor {tensor} is no constant of node {place}: operand {operand}"
            continue
        if replay.bits[tensor] != demands.bits((place, operand - 1)):
            yield f"tensor {tensor} has {replay.bits[tensor]} bits"
        part = demands.part(place, operand - 1)
        if part in seen:
            yield f"tensor {tensor} is there twice: {part}"
        seen.add(part)
    for place in range(count):
        for _, read in demands.constants_of(place):
            if demands.part(place, read) not in seen:
                yield f"constant input {read} of node {place} is missing"


def places(replay: Replay) -> Iterator[str]:
    """Memories and cores are there."""
    homes, machine = replay.demands.homes.memories, replay.schedule.problem.accelerator
    memories = {x.memory for x in replay.stays}
    memories |= {memory for x in replay.sent for memory in (x.sender, x.receiver)}
    yield from (f"no memory {x}" for x in memories - set(range(len(homes))))
    cores = {core for x in replay.sent for core in (x.sending, x.receiving)}
    cores |= {core for x in replay.streams for core in (x.sending, x.receiving)}
    yield from (f"no core {x}" for x in cores - {core.id for core in machine.cores})
    if set(replay.core) - {core.id for core in machine.compute_cores}:
        yield f"nodes on cores {sorted(set(replay.core))}"


def nodes(replay: Replay) -> Iterator[str]:
    """Each node on the core that the allocation says, for as long as it takes; one at a time."""
    problem, allocation = replay.schedule.problem, replay.schedule.allocation
    for place, (core, start, end) in enumerate(
        zip(replay.core, replay.start, replay.end, strict=True)
    ):
        number = int(problem.space.group_of[place])
        if core != allocation[number] or core not in problem.space.groups[number].cores:
            yield f"node {place} runs on core {core}"
        if start < 0 or end - start != replay.runs[place].runtime:
            yield f"node {place} runs from {start} to {end}; it takes {replay.runs[place].runtime}"
    for core in set(replay.core):
        here = sorted(
            (replay.start[place], replay.end[place], place)
            for place in range(len(replay.core))
            if replay.core[place] == core
        )
        for (_, end, before), (start, _, after) in pairwise(here):
            if start < end:
                yield f"core {core} runs nodes {before} and {after} at {start}"


def order(replay: Replay) -> Iterator[str]:
    """Each node starts when all before it have ended."""
    for before, after, _ in replay.demands.edges:
        if replay.start[after] < replay.end[before]:
            yield f"node {after} starts before node {before} has ended"


def reads(replay: Replay) -> Iterator[str]:
    """What a node reads and writes is where it should be while it runs."""
    for place, run in enumerate(replay.runs):
        start, end = replay.start[place], replay.end[place]
        for tensor, memory in run.reads:
            if memory is None:
                if not replay.is_offchip(tensor, start, end):
                    yield f"tensor {tensor}, streamed by node {place}, is not off the chip"
            elif not replay.is_there(tensor, memory, start, end):
                yield f"tensor {tensor} is not in memory {memory} while node {place} runs"
        allowed = replay.demands.homes.offchip if run.output is None else (run.output,)
        written = [
            stay
            for memory in allowed
            for stay in replay.where.get((place, memory), ())
            if (stay.since, stay.available) == (start, end)
        ]
        if len(written) != 1:
            yield f"{len(written)} times room for what node {place} writes, in memory {allowed}"


def _from_elsewhere(replay: Replay) -> Iterator[tuple[Stay, str]]:
    """Each stay, and where the tensor came from: one of nothing, nodes, transfers, the start."""
    received = {(x.tensor, x.receiver, x.start, x.end) for x in replay.sent}
    offchip, count = replay.demands.homes.offchip, len(replay.start)
    for stay in replay.stays:
        tensor, memory, since, available, _ = stay
        times = (since, available)
        if tensor < count and times == (replay.start[tensor], replay.end[tensor]):
            home = replay.runs[tensor].output
            if memory == home or (home is None and memory in offchip):
                yield stay, "node"
                continue
        if tensor >= count and memory in offchip and times == (0, 0):
            yield stay, "start"
        elif (tensor, memory, since, available) in received:
            yield stay, "transfer"
        else:
            yield stay, ""


def stays(replay: Replay) -> Iterator[str]:
    """Each stay begins with a node, a transfer or the start, and ends when nobody needs it."""
    offchip, count = replay.demands.homes.offchip, len(replay.start)
    for stay, origin in _from_elsewhere(replay):
        if not origin:
            yield f"{stay} comes from nowhere"
        if stay.until < stay.available:
            yield f"{stay} ends before it is available"
        if stay.memory not in offchip and stay.until > replay.schedule.latency:
            yield f"{stay} is on the chip at the end"
        lasting = stay.tensor >= count or stay.tensor in replay.demands.results
        if stay.until == inf and not lasting:
            yield f"{stay} is off the chip at the end, and is no result"


def kept(replay: Replay) -> Iterator[str]:
    """Constants are off the chip from the start, results at the end; nothing is there twice."""
    for here in replay.where.values():
        for before, after in pairwise(here):
            if after.since < before.until:
                yield f"{after} while it is there already: {before}"
    for tensor in range(len(replay.start), len(replay.bits)):
        if not replay.is_offchip(tensor, 0, 0):
            yield f"constant {tensor} is not off the chip from the start"
    for tensor in replay.demands.results:
        if not replay.is_offchip(tensor, replay.schedule.latency, inf):
            yield f"result {tensor} is not off the chip at the end"


def memories(replay: Replay) -> Iterator[str]:
    """No memory ever holds more than it has room for."""
    changes: dict[int, list[tuple[float, int]]] = {}
    for stay in replay.stays:
        if stay.since == stay.until:
            continue
        bits = replay.bits[stay.tensor]
        here = changes.setdefault(stay.memory, [])
        here += [(stay.since, bits), (stay.until, -bits)]
    homes = replay.demands.homes.memories
    for memory, here in changes.items():
        used, size = 0, homes[memory].level.instance.size
        for time, bits in sorted(here):  # at the same time what goes leaves first
            used += bits
            if used > size and bits > 0:
                yield f"memory {memory} holds {used} of {size} bits at {time}"
            if used < 0:
                yield f"memory {memory} holds {used} bits at {time}"


def durations(replay: Replay) -> Iterator[str]:
    """Each transfer takes what the narrowest wire does; without wires, what the memories do."""
    ways, homes = replay.demands.ways, replay.demands.homes.memories
    for row, sent in enumerate(replay.sent):
        widths = [ways.channels[x].bandwidth for x in ways.path(sent.sending, sent.receiving)]
        if not widths and replay.exact:
            widths = [homes[sent.sender].read_width, homes[sent.receiver].write_width]
        bits = replay.bits[sent.tensor]
        takes = max((-(-bits // width) for width in widths if width is not None), default=0)
        if sent.start < 0 or sent.end - sent.start != takes:
            yield f"transfer {row} runs from {sent.start} to {sent.end}: it takes {takes} cycles"


def transfers(replay: Replay) -> Iterator[str]:
    """Tensors are sent from where they are to where they are not, for a reason, in due time."""
    for row, sent in enumerate(replay.sent):
        for wrong in chain(_ends(replay, sent), _reason(replay, sent)):
            yield f"transfer {row} of tensor {sent.tensor}: {wrong}"


def _ends(replay: Replay, sent: Sent) -> Iterator[str]:
    homes = replay.demands.homes.memories
    if sent.sending not in homes[sent.sender].cores:
        yield f"core {sent.sending} has no memory {sent.sender}"
    if sent.receiving not in homes[sent.receiver].cores:
        yield f"core {sent.receiving} has no memory {sent.receiver}"
    if not replay.is_there(sent.tensor, sent.sender, sent.start, sent.end):
        yield f"it is not in memory {sent.sender} from {sent.start} to {sent.end}"
    arrival = (sent.tensor, sent.receiver, sent.start, sent.end)
    rooms, rows = replay.arrived[arrival], replay.arriving[arrival]
    if rooms != rows:
        yield f"{rooms} times room in memory {sent.receiver} from {sent.start} for {rows}"


def _reason(replay: Replay, sent: Sent) -> Iterator[str]:
    offchip = replay.demands.homes.offchip
    out, back = sent.receiver in offchip, sent.sender in offchip
    is_result = sent.tensor in replay.demands.results
    match sent.kind:
        case TransferKind.CONSTANT:
            fits = back and not out
        case TransferKind.ACTIVATION:
            fits = not back
        case TransferKind.EVICTION:
            fits = out and not back
        case TransferKind.RESULT:
            fits = out and not back and is_result
    if not fits:
        yield f"{sent.kind.name} from memory {sent.sender} to {sent.receiver}"
    if not 0 <= sent.node < len(replay.start):
        yield f"for node {sent.node}"
    elif sent.kind in (TransferKind.CONSTANT, TransferKind.ACTIVATION):
        wanted = [x.memory for x in replay.runs[sent.node].reads if x.tensor == sent.tensor]
        wants = (None if out else sent.receiver) in wanted or not replay.bits[sent.tensor]
        if not wants or sent.end > replay.start[sent.node]:
            yield f"node {sent.node} does not need it in memory {sent.receiver} at {sent.end}"


def latency(replay: Replay) -> Iterator[str]:
    """The last end of all."""
    last = max(chain(replay.end, (sent.end for sent in replay.sent)), default=0)
    if replay.schedule.latency != last:
        yield f"latency {replay.schedule.latency}; the last end is at {last}"
