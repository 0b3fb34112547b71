"""Reads the links and buses between the cores of an accelerator description, and their copies."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, final

from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import Bus, CoreId, Link
from nestmap.model.multicore.builders import ChannelSpec, neighbour_pairs
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    CONNECTIONS,
    NUMBERS,
    ConnectionFields,
    ConnectionType,
    Multicore2024Fields,
)
from nestmap.pipeline.frontend.yaml.located_node import Node


@final
@dataclass(frozen=True, slots=True)
class Copies:
    """The numbers of the cores that each repeated core stands for, its own first."""

    numbers: Mapping[CoreId, tuple[CoreId, ...]]

    def of(self, core: CoreId) -> tuple[CoreId, ...]:
        """The core and its copies."""
        return self.numbers.get(core, (core,))

    def among(self, cores: Iterable[CoreId]) -> tuple[CoreId, ...]:
        """The cores, each followed by its copies."""
        return tuple(number for core in cores for number in self.of(core))

    def pairs(self, pairs: Iterable[tuple[CoreId, CoreId]]) -> Iterator[tuple[CoreId, CoreId]]:
        """The pairs, for each core and its copies."""
        return ((a, b) for one, other in pairs for a in self.of(one) for b in self.of(other))


NO_COPIES: Final = Copies({})

Links = tuple[Link, ...]


def connections_of(
    root: Node,
    given: Sequence[ConnectionFields],
    cores: tuple[Collection[CoreId], Copies],
    energy_per_cycle: float,
) -> tuple[Links, tuple[Bus, ...]]:
    """The links and buses between cores, some of which have copies.

    Raises:
        InputError: if they contradict the cores or each other; the error names line and field.
    """
    known, copies = cores
    links: dict[tuple[CoreId, CoreId], Link] = {}
    buses: list[Bus] = []
    for node, one in zip(root.at(CONNECTIONS).sequence(), given, strict=True):
        check_numbers(node.at("cores"), one.cores, known, copies)
        cost = one.unit_energy_cost
        wires = ChannelSpec(
            bandwidth=one.bandwidth,
            energy_per_bit=one.energy_per_bit,
            energy_per_cycle=energy_per_cycle if cost is None else cost,
        )
        _check_kind(node, one)
        every = copies.among(one.cores)
        if one.type is ConnectionType.BUS and len(every) > 1:
            with node.at("cores").locate_errors():
                buses.append(_directed(node, wires.bus(every), one.hub))
        elif one.type is ConnectionType.MESH and one.columns is not None:
            _add(links, wires.links(neighbour_pairs(every, one.columns)), node.at("cores"))
        elif one.type is ConnectionType.LINK:
            _add(links, wires.links(copies.pairs(combinations(one.cores, 2))), node.at("cores"))
    return tuple(links.values()), tuple(buses)


def _directed(node: Node, bus: Bus, hub: CoreId | None) -> Bus:
    """The bus with its hub, if it has one."""
    if hub is None:
        return bus
    if hub not in bus.cores:
        raise node.at("hub").error(f"one of {', '.join(map(str, bus.cores))}", str(hub))
    return copy_with(bus, {"hub": hub})


def _check_kind(node: Node, given: ConnectionFields) -> None:
    is_mesh = given.type is ConnectionType.MESH
    if is_mesh and given.columns is None:
        raise node.error("the field columns, in a mesh", "no columns")
    if not is_mesh and given.columns is not None:
        raise node.at("columns").error("no columns: only a mesh has them", "columns")
    if given.type is not ConnectionType.BUS and given.hub is not None:
        raise node.at("hub").error("no hub: only a bus may have one", "a hub")


def paired_links(root: Node, given: Multicore2024Fields, cores: Collection[CoreId]) -> Links:
    """The links of pairs of cores, as in 2024.

    Raises:
        InputError: if they contradict the cores or each other; the error names line and field.
    """
    wire = ChannelSpec(bandwidth=given.bandwidth, energy_per_cycle=given.unit_energy_cost)
    links: dict[tuple[CoreId, CoreId], Link] = {}
    places = root.at(CONNECTIONS).sequence()
    for place, numbers in zip(places, given.core_connectivity, strict=True):
        check_numbers(place, numbers, cores)
        if len(numbers) != 2:
            raise place.error('two cores, such as "0, 1"', f"{len(numbers)} cores")
        _add(links, wire.links([(numbers[0], numbers[1])]), place)
    return tuple(links.values())


def _add(links: dict[tuple[CoreId, CoreId], Link], new: Iterable[Link], node: Node) -> None:
    for link in new:
        ends = link.sender, link.receiver
        if ends in links:
            raise node.error("at most one link between two cores", f"a second link {link}")
        links[ends] = link


def check_numbers(
    place: Node, numbers: Sequence[CoreId], cores: Collection[CoreId], copies: Copies = NO_COPIES
) -> None:
    """Checks that these are different cores, two or more, or one whose copies are stated.

    Raises:
        InputError: if they are not; the error names line and field.
    """
    for i, number in enumerate(numbers):
        if number not in cores:
            item = place.at(i) if place.is_sequence else place
            known = ", ".join(map(str, cores))
            raise item.error(f"an existing core: one of {known}", f"core {number}")
    is_repeated = len(numbers) == 1 and numbers[0] in copies.numbers
    if (len(numbers) < 2 and not is_repeated) or len(set(numbers)) != len(numbers):
        found = f"cores {', '.join(map(str, numbers))}" if numbers else None
        raise place.error(NUMBERS, found)
