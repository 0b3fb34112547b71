"""Computes the data sent over each channel, and from each core to each other core."""

from collections.abc import Sequence

import numpy as np

from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.analysis.schedule.link_occupancy import (
    FIRST_TRANSFER,
    WireOccupancy,
    wire_occupancy,
    wire_rows,
)
from nestmap.pipeline.analysis.schedule.tables import BarKind, Ints, Traffic


def wire_traffic(schedule: Schedule) -> tuple[Traffic, ...]:
    """Bits sent over each channel in use; a tensor sent to several cores at once counts once."""
    found = wire_occupancy(schedule)
    rows = wire_rows(schedule.problem.accelerator)
    bits = occupied_bits(schedule, found)
    return _summed([row.name for row in rows], found.wire, found.kind, bits)


def occupied_bits(schedule: Schedule, found: WireOccupancy) -> Ints:
    """The bits of each occupancy of a channel."""
    streams = found.kind == BarKind.STREAM
    bits = np.zeros(len(found), dtype=np.int64)
    bits[streams] = streamed_bits(schedule)[found.event[streams]]
    bits[~streams] = schedule.tensors.bits[found.tensor[~streams]]
    return bits


def core_traffic(schedule: Schedule) -> tuple[Traffic, ...]:
    """Bits that each core receives from each other core, over any route."""
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
    """The bits of each stream: its rate times its duration."""
    streams = schedule.streams
    bits: Ints = streams.rate * (streams.end - streams.start)
    return bits


def _summed(names: Sequence[str], group: Ints, kind: Ints, bits: Ints) -> tuple[Traffic, ...]:
    table = np.zeros((len(names), len(BarKind)), dtype=np.int64)
    np.add.at(table, (group, kind), bits)
    rows = zip(names, table.tolist(), strict=True)
    return tuple(Traffic(name, tuple(row)) for name, row in rows if any(row))
