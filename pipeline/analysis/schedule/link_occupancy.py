"""Lists when channels are occupied: by transfers, each tensor once, and by streams."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import OperandStreams, Schedule, Transfers
from nestmap.pipeline.analysis.schedule.tables import BarKind, Ints, Row, RowKind

FIRST_TRANSFER: Final = int(BarKind.CONSTANT)
"""The difference between the kind of a transfer and that of its bar."""


@final
@dataclass(frozen=True, eq=False)
class WireOccupancy:
    """The occupancy of channels as columns, sorted by channel, tensor and time.

    A tensor sent to several cores over the same channel at the same time has one row: ``event`` is
    the first of these transfers, ``count`` their number. The ``tensor`` of a stream is a negative
    number of its own; several streams may share a channel.
    """

    wire: Ints
    start: Ints
    end: Ints
    kind: Ints
    event: Ints
    tensor: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.wire)

    def rows(self, chosen: Ints) -> WireOccupancy:
        """The selected rows, in that order."""
        return WireOccupancy(
            self.wire[chosen],
            self.start[chosen],
            self.end[chosen],
            self.kind[chosen],
            self.event[chosen],
            self.tensor[chosen],
            self.count[chosen],
        )


def wire_occupancy(schedule: Schedule) -> WireOccupancy:
    """The occupancy of all channels, including those of unlimited bandwidth."""
    ways = Interconnect(accelerator=schedule.problem.accelerator)
    sent, streams = schedule.transfers, schedule.streams
    over, wires = _expand_paths(ways, sent)
    by, more = _expand_paths(ways, streams)
    found = WireOccupancy(
        wire=np.concatenate((wires, more)),
        start=np.concatenate((sent.start[over], streams.start[by])),
        end=np.concatenate((sent.end[over], streams.end[by])),
        kind=np.concatenate(
            (sent.kind[over] + FIRST_TRANSFER, np.full(len(by), int(BarKind.STREAM)))
        ),
        event=np.concatenate((over, by)),
        tensor=np.concatenate((sent.tensor[over], -1 - by)),
        count=np.ones(len(over) + len(by), dtype=np.int64),
    )
    return _merge_broadcasts(found)


def join_streams(found: WireOccupancy) -> WireOccupancy:
    """Merges streams that share a channel at the same time, and counts them."""
    return _merge_broadcasts(replace(found, tensor=np.maximum(found.tensor, -1)))


def busy_cycles(found: WireOccupancy) -> dict[int, int]:
    """The cycles in which each occupied channel is busy, in the order of the channels."""
    wires = np.unique(found.wire).tolist()
    return {wire: _covered(found.rows(np.flatnonzero(found.wire == wire))) for wire in wires}


def _covered(found: WireOccupancy) -> int:
    """The cycles covered by at least one of the rows."""
    order = np.argsort(found.start, kind="stable")
    start, reached = found.start[order], np.maximum.accumulate(found.end[order])
    before = np.concatenate((start[:1], reached[:-1]))
    return int((reached - np.maximum(start, before)).clip(0).sum())


def wire_rows(accelerator: MultiCoreAccelerator) -> tuple[Row, ...]:
    """A row for each channel, as the accelerator lists them."""
    off = accelerator.offchip
    ends = [{link.sender, link.receiver} for link in accelerator.links]
    ends += [set(bus.cores) for bus in accelerator.buses]
    wires = Interconnect(accelerator=accelerator).channels
    return tuple(
        Row(RowKind.OFFCHIP if off in ends[i] else RowKind.WIRE, i, wire.name)
        for i, wire in enumerate(wires)
    )


def _expand_paths(ways: Interconnect, sent: Transfers | OperandStreams) -> tuple[Ints, Ints]:
    """The occupants and the channels that they take, a row for each pair."""
    ends = np.stack((sent.sending, sent.receiving), axis=1).reshape(-1, 2)
    pairs, of = np.unique(ends, axis=0, return_inverse=True)
    paths = [np.array(ways.path(a, b), dtype=np.int64) for a, b in pairs.tolist()]
    lengths = np.array([len(path) for path in paths], dtype=np.int64)[of.reshape(-1)]
    events = np.repeat(np.arange(len(ends), dtype=np.int64), lengths)
    wires = [paths[pair] for pair in of.reshape(-1).tolist()]
    return events, np.concatenate((*wires, np.zeros(0, dtype=np.int64)))


def _merge_broadcasts(found: WireOccupancy) -> WireOccupancy:
    """Merges the simultaneous rows of one tensor on one channel."""
    if not len(found):
        return found
    found = found.rows(np.lexsort((found.start, found.tensor, found.wire)))
    new = np.ones(len(found), dtype=np.bool_)
    new[1:] = (np.diff(found.wire) != 0) | (np.diff(found.tensor) != 0)
    group = np.cumsum(new)
    apart = int(found.end.max()) + 1
    reached = np.maximum.accumulate(found.end + group * apart) - group * apart
    later = found.start[1:] >= reached[:-1]
    new[1:] |= later & (found.start[1:] != found.start[:-1])
    firsts = np.flatnonzero(new)
    return replace(
        found.rows(firsts),
        end=np.maximum.reduceat(found.end, firsts),
        count=np.add.reduceat(found.count, firsts),
    )
