"""Distances between cores: how tensors can be routed, directly or through other memories."""

from collections.abc import Iterable
from enum import IntEnum
from functools import cache, cached_property
from itertools import product
from typing import final

import numpy as np

from nestmap.model.arrays import Flags, Ints
from nestmap.model.multicore.accelerator import CoreId, MultiCoreAccelerator
from nestmap.model.multicore.interconnect import ChannelPath, Interconnect


class Relays(IntEnum):
    """The memories through which a tensor may be routed between two cores."""

    NONE = 0
    """None: transfers take the direct route between the two cores."""
    CHIP = 1
    """The memories of other on-chip cores."""
    ALL = 2
    """The memories of all cores, including off-chip memory."""


@final
class CoreDistances:
    """The least time between cores, and the channels that no route between them avoids.

    Rows of matrices are the sending cores, columns the receiving cores.
    """

    def __init__(self, accelerator: MultiCoreAccelerator) -> None:
        self.offchip = accelerator.offchip
        self._ways = Interconnect(accelerator=accelerator)
        self._cores = tuple(core.id for core in accelerator.cores)
        self._times = cache(self._least_times)
        self._needed = cache(self._unavoided)

    def place(self, core: CoreId) -> int:
        """The row and the column of a core."""
        return self._cores.index(core)

    @cached_property
    def bandwidths(self) -> dict[int, int]:
        """The bandwidth in bit/cycle of each channel on which transfers take time."""
        wires = enumerate(self._ways.channels)
        return {i: wire.bandwidth for i, wire in wires if wire.bandwidth is not None}

    def times(self, bits: int, stops: Relays) -> Ints:
        """The fewest cycles that so many bits take, for each pair of cores."""
        return self._times(bits, stops)

    def needed(self, wire: int, stops: Relays) -> Flags:
        """Whether every route between two cores uses a channel."""
        return self._needed(wire, stops)

    @cached_property
    def _paths(self) -> dict[tuple[int, int], ChannelPath]:
        pairs = product(enumerate(self._cores), repeat=2)
        return {(i, j): self._ways.path(sender, receiver) for (i, sender), (j, receiver) in pairs}

    def _between(self, stops: Relays) -> Iterable[int]:
        """The rows of the intermediate cores."""
        if stops is Relays.NONE:
            return ()
        cores = enumerate(self._cores)
        return (i for i, core in cores if stops is Relays.ALL or core != self.offchip)

    def _least_times(self, bits: int, stops: Relays) -> Ints:
        times = np.zeros((len(self._cores), len(self._cores)), dtype=np.int64)
        for ends, path in self._paths.items():
            widths = (self.bandwidths[wire] for wire in path if wire in self.bandwidths)
            times[ends] = max((cycles(bits, width) for width in widths), default=0)
        for by in self._between(stops):
            times = np.minimum(times, times[:, by, None] + times[by])
        return times

    def _unavoided(self, wire: int, stops: Relays) -> Flags:
        avoided = np.zeros((len(self._cores), len(self._cores)), dtype=np.bool_)
        for ends, path in self._paths.items():
            avoided[ends] = wire not in path
        for by in self._between(stops):
            avoided |= avoided[:, by, None] & avoided[by]
        return ~avoided


def cycles(bits: int, bandwidth: int) -> int:
    """The cycles that bits take on a channel."""
    return -(-bits // bandwidth)


def to_lists(column: Ints) -> list[int]:
    """The numbers of a column as Python numbers."""
    return [int(x) for x in column]
