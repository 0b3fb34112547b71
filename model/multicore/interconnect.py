"""The interconnect: channels that carry one transfer at a time, and paths over them."""

from collections.abc import Collection
from functools import cached_property
from itertools import permutations
from math import inf
from typing import NamedTuple

from nestmap.model.base import Frozen
from nestmap.model.multicore.accelerator import Bus, ComputeCore, CoreId, Link, MultiCoreAccelerator
from nestmap.model.units import PicoJoules, Width

ChannelPath = tuple[int, ...]
"""The indices of the channels that a transfer occupies, all at the same time."""


class Channel(Frozen, frozen=True):
    """A link or a bus: bit/cycle (``None``: no time), pJ per bit and per busy cycle."""

    name: str
    bandwidth: Width | None
    energy_per_bit: PicoJoules
    energy_per_cycle: PicoJoules


class _Route(NamedTuple):
    """The cores on a path and its cost; the smallest tuple wins."""

    through_special: int
    slowness: float
    strides: tuple[int, ...]
    cores: tuple[CoreId, ...]


class Interconnect(Frozen, frozen=True):
    """The channels of an accelerator, and the path between each pair of cores.

    A path has as few steps as possible, and leads through the off-chip core only if there is no
    other. Ties are broken by: the fewest cores dedicated to certain operators; the widest channels;
    the smallest first difference between consecutive core ids, then the second, and so on (in a
    mesh numbered row by row, this routes along the rows first). A step takes a link if there is
    one, otherwise the widest bus.
    """

    accelerator: MultiCoreAccelerator

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """All channels: the links, then the buses, in the given order."""
        ways: tuple[Link | Bus, ...] = (*self.accelerator.links, *self.accelerator.buses)
        return tuple(
            Channel(
                name=str(way),
                bandwidth=way.bandwidth,
                energy_per_bit=way.energy_per_bit,
                energy_per_cycle=way.energy_per_cycle,
            )
            for way in ways
        )

    def path(self, sender: CoreId, receiver: CoreId) -> ChannelPath:
        """The channels from one core to another, in order; none if they share a memory.

        Raises:
            KeyError: if there is no path, or no such core.
        """
        return self._paths[sender, receiver]

    @cached_property
    def _paths(self) -> dict[tuple[CoreId, CoreId], ChannelPath]:
        paths: dict[tuple[CoreId, CoreId], ChannelPath] = {}
        for core in self.accelerator.cores:
            for end, way in self._routes_from(core.id).items():
                steps = zip(way.cores, way.cores[1:], strict=False)
                wires = (self._channel_of[step] for step in steps)
                paths[core.id, end] = tuple(wire for wire in wires if wire is not None)
        return paths

    def _routes_from(self, start: CoreId) -> dict[CoreId, _Route]:
        """The best path to each core."""
        on_chip = self._search_breadth_first(
            start, {start} | self._successors.keys() - {self.accelerator.offchip}
        )
        return self._search_breadth_first(start, self._successors.keys()) | on_chip

    def _search_breadth_first(
        self, start: CoreId, passable: Collection[CoreId]
    ) -> dict[CoreId, _Route]:
        """The best path to each core through ``passable`` cores, by breadth-first search."""
        done: dict[CoreId, _Route] = {}
        front = {start: _Route(0, 0.0, (), (start,))}
        while front:
            done |= front
            further: dict[CoreId, _Route] = {}
            for core, way in front.items():
                for after in self._successors[core] if core in passable else ():
                    if after not in done:
                        made = self._extend(way, after)
                        further[after] = min(made, further.get(after, made))
            front = further
        return done

    def _extend(self, way: _Route, after: CoreId) -> _Route:
        last = way.cores[-1]
        core, wire = self.accelerator.core(last), self._channel_of[last, after]
        special = len(way.cores) > 1 and isinstance(core, ComputeCore) and bool(core.operators)
        width = None if wire is None else self.channels[wire].bandwidth
        slowness = 0.0 if width is None else 1 / width
        return _Route(
            way.through_special + special,
            way.slowness + slowness,
            (*way.strides, abs(after - last)),
            (*way.cores, after),
        )

    @cached_property
    def _successors(self) -> dict[CoreId, list[CoreId]]:
        after: dict[CoreId, list[CoreId]] = {}
        for sender, receiver in self._channel_of:
            after.setdefault(sender, []).append(receiver)
        return after

    @cached_property
    def _channel_of(self) -> dict[tuple[CoreId, CoreId], int | None]:
        """The channel of each step; ``None`` for a shared memory."""
        wires: dict[tuple[CoreId, CoreId], int | None] = {}
        for group in self.accelerator.shared:
            wires |= dict.fromkeys(permutations(group, 2))
        for wire, link in enumerate(self.accelerator.links):
            wires.setdefault((link.sender, link.receiver), wire)
        buses = enumerate(self.accelerator.buses, len(self.accelerator.links))
        for wire, bus in sorted(buses, key=lambda x: -(x[1].bandwidth or inf)):
            for step in bus.steps:
                wires.setdefault(step, wire)
        return wires
