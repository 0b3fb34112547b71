"""How much data is sent: over each wire, and from each core to each other one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.link_occupancy import FIRST_TRANSFER, taken, wire_rows
from nestmap.pipeline.analysis.schedule.tables import BarKind, Ints, Sent


def sent_over_wires(schedule: Schedule) -> tuple[Sent, ...]:
    """Bits that pass each wire that is used; a tensor for several cores at the same time once."""
    found = taken(schedule)
    bits = np.where(
        found.kind == BarKind.STREAM,
        _of(streamed_bits(schedule), found.event, found.kind == BarKind.STREAM),
        schedule.tensors.bits[np.maximum(found.tensor, 0)] if len(found) else found.tensor,
    )
    rows = wire_rows(schedule.problem.accelerator)
    return _summed([row.name for row in rows], found.wire, found.kind, bits)


def sent_between_cores(schedule: Schedule) -> tuple[Sent, ...]:
    """Bits that each core gets from each other one, whichever way they take."""
    transfers, streams = schedule.transfers, schedule.streams
    ends = np.stack(
        (
            np.concatenate((transfers.sending, streams.sending)),
            np.concatenate((transfers.receiving, streams.receiving)),
        ),
        axis=1,
    )
    pairs, of = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    kinds = np.concatenate(
        (transfers.kind + FIRST_TRANSFER, np.full(len(streams), int(BarKind.STREAM)))
    )
    bits = np.concatenate((schedule.tensors.bits[transfers.tensor], streamed_bits(schedule)))
    return _summed([f"{a} -> {b}" for a, b in pairs.tolist()], of.reshape(-1), kinds, bits)


def streamed_bits(schedule: Schedule) -> Ints:
    """The bits of each stream: its rate all the time."""
    streams = schedule.streams
    bits: Ints = streams.rate * (streams.end - streams.start)
    return bits


def _of(values: Ints, places: Ints, where: Ints) -> Ints:
    """The values at some places; 0 elsewhere."""
    found = np.zeros(len(places), dtype=np.int64)
    found[where] = values[places[where]]
    return found


def _summed(names: Sequence[str], group: Ints, kind: Ints, bits: Ints) -> tuple[Sent, ...]:
    table = np.zeros((len(names), len(BarKind)), dtype=np.int64)
    np.add.at(table, (group, kind), bits)
    rows = zip(names, table.tolist(), strict=True)
    return tuple(Sent(name, tuple(row)) for name, row in rows if any(row))
