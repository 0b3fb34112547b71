"""Finds why cores are idle: the dependency of the next node."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.pipeline.analysis.schedule.link_occupancy import FIRST_TRANSFER, wire_occupancy
from nestmap.pipeline.analysis.schedule.tables import NONE, Ints, StallReason, Stalls

Flags = NDArray[np.bool_]


class _Waits(NamedTuple):
    """For each node: the end of its predecessors, the start and the end of its transfers.

    ``blocked``: a transfer had to wait for a channel. Without transfers, start and end are 0.
    """

    ready: Ints
    sent_from: Ints
    sent_to: Ints
    blocked: Flags


def stalls(schedule: Schedule) -> Stalls:
    """All idle times of cores, from 0 to the latency, with the reason.

    The time before a node starts is divided: until its last predecessor ends, the node waits for
    predecessors; until its first transfer starts, for channels if one of them was busy until then,
    else for capacity; until its transfers end, for transfers. The rest is waiting for capacity,
    which includes evictions.
    """
    row, start, end, node = _gaps(schedule)
    waits = _waits(schedule)
    last = node == NONE
    ready = np.clip(waits.ready[node], start, end)
    begin = np.clip(waits.sent_from[node], ready, end)
    there = np.clip(waits.sent_to[node], begin, end)
    borders = np.stack([start, *(np.where(last, start, x) for x in (ready, begin, there)), end], 1)
    way = np.where(waits.blocked[node], int(StallReason.TRANSFER), int(StallReason.MEMORY))
    rest = np.where(last, int(StallReason.NOTHING), int(StallReason.MEMORY))
    reasons = np.stack(
        (
            np.full(len(row), int(StallReason.PREDECESSOR)),
            way,
            np.full(len(row), int(StallReason.TRANSFER)),
            rest,
        ),
        axis=1,
    )
    return _joined(
        Stalls(
            row=np.repeat(row, 4),
            start=borders[:, :-1].reshape(-1),
            end=borders[:, 1:].reshape(-1),
            reason=reasons.reshape(-1),
            node=np.repeat(node, 4),
        )
    )


def _gaps(schedule: Schedule) -> tuple[Ints, Ints, Ints, Ints]:
    """Row, start and end of each idle time of a core, and the node that follows it."""
    rows: list[Ints] = []
    found: list[tuple[Ints, Ints, Ints]] = []
    for row, core in enumerate(schedule.problem.accelerator.compute_cores):
        here = np.flatnonzero(schedule.core == core.id)
        here = here[np.lexsort((schedule.end[here], schedule.start[here]))]
        start = np.concatenate(([0], schedule.end[here]))
        end = np.concatenate((schedule.start[here], [schedule.latency]))
        some = end > start
        found.append((start[some], end[some], np.append(here, NONE)[some]))
        rows.append(np.full(int(some.sum()), row, dtype=np.int64))
    start, end, node = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return np.concatenate(rows), start, end, node


def _waits(schedule: Schedule) -> _Waits:
    """The values with one extra item, a placeholder for the time after the last node."""
    count = len(schedule.core) + 1
    edges, sent = schedule.problem.nodes.edges, schedule.transfers
    ready = np.zeros(count, dtype=np.int64)
    np.maximum.at(ready, edges.consumer, schedule.end[edges.producer])
    brought = np.flatnonzero(sent.kind <= TransferKind.ACTIVATION)
    brought = brought[sent.end[brought] <= schedule.start[sent.node[brought]]]
    late = brought[sent.end[brought] > ready[sent.node[brought]]]
    sent_to = np.zeros(count, dtype=np.int64)
    np.maximum.at(sent_to, sent.node[late], sent.end[late])
    order = late[np.lexsort((-sent.start[late], sent.node[late]))]
    first = np.full(count, NONE, dtype=np.int64)
    first[sent.node[order]] = order  # the last write wins: the first transfer
    sent_from = np.where(first >= 0, np.append(sent.start, 0)[first], 0)
    blocked = np.append(_waited_for_wires(schedule), False)[first] & (first >= 0)
    evicted = np.zeros(count, dtype=np.bool_)
    evicted[sent.node[sent.kind == TransferKind.EVICTION]] = True
    return _Waits(ready, sent_from, sent_to, blocked & ~evicted)


def _waited_for_wires(schedule: Schedule) -> Flags:
    """Whether each transfer starts when one of its channels becomes free."""
    found = wire_occupancy(schedule)
    size = schedule.latency + 1
    freed = np.unique(found.wire * size + np.minimum(found.end, schedule.latency))
    of_transfer = found.kind < FIRST_TRANSFER + len(TransferKind)
    wire, start = found.wire[of_transfer], found.start[of_transfer]
    blocked = np.zeros(len(schedule.transfers), dtype=np.bool_)
    at_end = np.isin(wire * size + start, freed) & (start > 0)
    blocked[found.event[of_transfer][at_end]] = True
    return blocked


def _joined(found: Stalls) -> Stalls:
    """Drops empty idle times and merges consecutive ones with the same reason and node."""
    some = np.flatnonzero(found.end > found.start)
    row, start, end = found.row[some], found.start[some], found.end[some]
    reason, node = found.reason[some], found.node[some]
    new = np.ones(len(some), dtype=np.bool_)
    new[1:] = (np.diff(row) != 0) | (np.diff(reason) != 0) | (start[1:] != end[:-1])
    firsts = np.flatnonzero(new)
    lasts = np.append(firsts[1:], len(some)) - 1
    if not len(some):
        lasts = firsts
    return Stalls(row[firsts], start[firsts], end[lasts], reason[firsts], node[firsts])
