"""Builds the flows of a trace: dependencies between nodes and transfers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, final

from nestmap.model.multicore.schedule import Schedule, TransferKind
from nestmap.pipeline.render.perfetto.slices import Process, Slice, Track


class Lane(NamedTuple):
    """A row of the trace: overlapping slices of a track go to several lanes."""

    track: Track
    number: int


Lanes = Mapping[Lane, Sequence[Slice]]


class Stop(NamedTuple):
    """A point that a flow passes, within a slice of a lane."""

    lane: Lane
    time: int


_MADE: Final = (TransferKind.ACTIVATION, TransferKind.RESULT)
"""Transfers that begin where a node produced the tensor."""

_AWAITED: Final = (TransferKind.ACTIVATION, TransferKind.CONSTANT)
"""Transfers that a node waits for."""


@final
class Flows:
    """The flows of a schedule, each with two or three stops, in order of time.

    Events without duration are no stops, because no slice is guaranteed to be found at their time.
    """

    def __init__(self, schedule: Schedule, lanes: Lanes) -> None:
        self._schedule = schedule
        self._nodes: dict[int, tuple[Lane, Slice]] = {}
        self._transfers: dict[int, tuple[Lane, Slice]] = {}
        for lane, slices in lanes.items():
            for each in slices:
                if each.end > each.start:
                    self._note(lane, each)

    def _note(self, lane: Lane, each: Slice) -> None:
        if each.node is not None:
            self._nodes[each.node] = lane, each
        if lane.track.process is Process.WIRES:
            for row in each.transfers:
                self._transfers.setdefault(row, (lane, each))

    def __iter__(self) -> Iterator[Sequence[Stop]]:
        for row in range(len(self._schedule.transfers)):
            stops = list(self._stops(row))
            if len(stops) > 1 and all(a.time <= b.time for a, b in pairwise(stops)):
                yield stops

    def _stops(self, row: int) -> Iterator[Stop]:
        transfers, tensors = self._schedule.transfers, self._schedule.tensors
        kind = TransferKind(int(transfers.kind[row]))
        maker = self._nodes.get(int(tensors.node[transfers.tensor[row]]))
        if kind in _MADE and maker is not None:
            yield Stop(maker[0], maker[1].end - 1)
        if row in self._transfers:
            lane, each = self._transfers[row]
            yield Stop(lane, each.start)
        reader = self._nodes.get(int(transfers.node[row]))
        if kind in _AWAITED and reader is not None:
            yield Stop(reader[0], reader[1].start)
