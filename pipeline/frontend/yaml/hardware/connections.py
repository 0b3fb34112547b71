"""Reads the links and buses between the cores of an accelerator description."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import combinations
from typing import Final

from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import Bus, CoreId, Link
from nestmap.model.multicore.builders import ChannelSpec, neighbour_pairs
from nestmap.pipeline.frontend.yaml.field_schema import (
    ITEM,
    Entries,
    Field,
    Form,
    Need,
    Origin,
    Section,
    one_of,
)
from nestmap.pipeline.frontend.yaml.hardware.copies import NO_COPIES, Copies
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import ENERGY, energy

BANDWIDTH: Final = "a positive number of bit/cycle, or unlimited"
_NUMBERS: Final = "two or more different cores by their numbers, such as [0, 1]"
_LARGEST: Final = 2**31 - 1


class ConnectionType(StrEnum):
    """The kind of a connection between cores."""

    LINK = "link"
    BUS = "bus"
    MESH = "mesh"


CONNECTIONS: Final = Field(
    "core_connectivity",
    "the connections between cores: [links and buses](#connection)",
    "a list of links and buses",
    "",
    origin=Origin.STREAM,
)
PAIRS: Final = Field(
    CONNECTIONS.name,
    "the [pairs of cores](#pairs-of-cores) that links join",
    "a list of pairs of cores",
    "",
    origin=Origin.STREAM,
)
ENERGY_PER_CYCLE: Final = Field(
    "unit_energy_cost",
    "energy of each cycle of a transfer, for connections that do not state it",
    ENERGY,
    "2.5",
    Need.OPTIONAL,
    default="0",
    origin=Origin.STREAM,
)

_TYPE: Final = Field(
    "type",
    "`link`: a channel in each direction between any two of its cores, each with the full "
    "bandwidth. `bus`: one channel shared by all of its cores, with one transfer at a time. `mesh` "
    "(*nestmap*): links between neighbors, with the cores in rows of `columns`",
    one_of(ConnectionType),
    "link",
    Need.OPTIONAL,
    default="link",
    origin=Origin.STREAM,
)
_CORES: Final = Field(
    "cores",
    "the cores it connects; of [copies](#copies) only the number of their core, which may be alone",
    _NUMBERS,
    "[0, 1]",
    origin=Origin.STREAM,
)
_BANDWIDTH: Final = Field(
    "bandwidth",
    "bits per cycle; an `unlimited` connection transfers everything at once",
    BANDWIDTH,
    "64",
    origin=Origin.STREAM,
)
_ENERGY: Final = Field(
    ENERGY_PER_CYCLE.name,
    "energy of each cycle of a transfer",
    ENERGY,
    "1.5",
    Need.OPTIONAL,
    otherwise="`unit_energy_cost` of the accelerator",
    origin=Origin.STREAM,
)
_ENERGY_PER_BIT: Final = Field(
    "energy_per_bit",
    "additional energy of each transferred bit",
    ENERGY,
    "0.7",
    Need.OPTIONAL,
    default="0",
    origin=Origin.NESTMAP,
)

_HUB: Final = Field(
    "hub",
    "for a bus: the core at which every transfer starts or ends, such as a single-ported memory",
    "one of its cores",
    "0",
    Need.OPTIONAL,
    otherwise="transfers run between any two of its cores",
    origin=Origin.NESTMAP,
)
_COLUMNS: Final = Field(
    "columns",
    "for a mesh, which must have it: the number of cores in a row; the last row may be shorter",
    "a whole number, at least 1",
    "2",
    Need.OPTIONAL,
    otherwise="the connection is no mesh",
    origin=Origin.NESTMAP,
)
CONNECTION: Final = Section(
    "Connection",
    (CONNECTIONS.name, ITEM),
    "There is at most one link from one core to another; the number of buses is not limited.",
    (_TYPE, _CORES, _BANDWIDTH, _ENERGY, _ENERGY_PER_BIT, _HUB, _COLUMNS),
)
CORE_PAIRS: Final = Entries(
    "Pairs of cores",
    (PAIRS.name,),
    "Each item connects two cores by a link in each direction.",
    PAIRS.kind,
    (Form('"0, 1"', "cores 0 and 1"),),
)


def parse_connections(
    node: Node, given: tuple[Collection[CoreId], Copies], energy_per_cycle: float
) -> tuple[tuple[Link, ...], tuple[Bus, ...]]:
    """The links and buses in a list of connections between cores, some of which have copies.

    Raises:
        InputError: if the list does not match the schema; the error names line and field.
    """
    cores, copies = given
    links: dict[tuple[CoreId, CoreId], Link] = {}
    buses: list[Bus] = []
    for item in node.sequence(CONNECTIONS.kind):
        fields = item.fields(CONNECTION)
        kind = fields[_TYPE].choice(ConnectionType) if _TYPE in fields else ConnectionType.LINK
        numbers = parse_numbers(fields[_CORES], cores, copies)
        wires = ChannelSpec(
            bandwidth=parse_bandwidth(fields[_BANDWIDTH]),
            energy_per_bit=energy(fields[_ENERGY_PER_BIT]) if _ENERGY_PER_BIT in fields else 0.0,
            energy_per_cycle=energy(fields[_ENERGY]) if _ENERGY in fields else energy_per_cycle,
        )
        _check_columns(kind, item, fields)
        every = copies.among(numbers)
        if kind is ConnectionType.BUS:
            if len(every) > 1:
                with fields[_CORES].locate_errors():
                    buses.append(_directed(wires.bus(every), fields))
            continue
        _check_link(fields)
        if kind is ConnectionType.MESH:
            columns = fields[_COLUMNS].integer(_COLUMNS.kind, minimum=1)
            pairs = neighbour_pairs(every, columns)
        else:
            pairs = copies.pairs(combinations(numbers, 2))
        _add(links, wires.links(pairs), fields[_CORES])
    return tuple(links.values()), tuple(buses)


def _directed(bus: Bus, fields: Mapping[Field, Node]) -> Bus:
    """The bus with its hub, if it has one."""
    if _HUB not in fields:
        return bus
    hub = fields[_HUB].integer(_HUB.kind, minimum=0, maximum=_LARGEST)
    if hub not in bus.cores:
        raise fields[_HUB].error(f"one of {', '.join(map(str, bus.cores))}", str(hub))
    return copy_with(bus, {"hub": hub})


def _check_columns(kind: ConnectionType, item: Node, fields: Mapping[Field, Node]) -> None:
    if kind is ConnectionType.MESH and _COLUMNS not in fields:
        raise item.error("the field columns, in a mesh", "no columns")
    if kind is not ConnectionType.MESH and _COLUMNS in fields:
        raise fields[_COLUMNS].error("no columns: only a mesh has them", "columns")


def _check_link(fields: Mapping[Field, Node]) -> None:
    if _HUB in fields:
        raise fields[_HUB].error("no hub: only a bus may have one", "a hub")


def parse_pairs(
    node: Node, cores: Collection[CoreId], wires: tuple[Node, float]
) -> tuple[Link, ...]:
    """The links in a list of pairs of cores; ``wires`` are their bandwidth and pJ per cycle.

    Raises:
        InputError: if the list does not match the schema; the error names line and field.
    """
    bandwidth, energy_per_cycle = wires
    wire = ChannelSpec(bandwidth=parse_bandwidth(bandwidth), energy_per_cycle=energy_per_cycle)
    links: dict[tuple[CoreId, CoreId], Link] = {}
    for item in node.sequence(PAIRS.kind):
        numbers = parse_numbers(item, cores)
        if len(numbers) != 2:
            raise item.error('two cores, such as "0, 1"', f"{len(numbers)} cores")
        _add(links, wire.links([(numbers[0], numbers[1])]), item)
    return tuple(links.values())


def _add(links: dict[tuple[CoreId, CoreId], Link], new: Iterable[Link], node: Node) -> None:
    for link in new:
        ends = link.sender, link.receiver
        if ends in links:
            raise node.error("at most one link between two cores", f"a second link {link}")
        links[ends] = link


def parse_bandwidth(node: Node) -> int | None:
    """A bandwidth in bit/cycle; ``None`` if unlimited.

    Raises:
        InputError: if the value is neither ``unlimited`` nor a positive number.
    """
    if node.is_text("unlimited"):
        return None
    return node.integer(BANDWIDTH, minimum=1, maximum=_LARGEST)


def parse_numbers(
    node: Node, cores: Collection[CoreId], copies: Copies = NO_COPIES
) -> tuple[CoreId, ...]:
    """Two or more different cores of ``cores``: ``[0, 1]`` or the text ``"0, 1"``.

    Or a single one whose number of copies is stated.

    Raises:
        InputError: if the value does not name such cores; the error names line and field.
    """
    found = tuple(_numbers(node, cores))
    is_repeated = len(found) == 1 and found[0] in copies.numbers
    if (len(found) < 2 and not is_repeated) or len(set(found)) != len(found):
        text = f"cores {', '.join(map(str, found))}" if found else None
        raise node.error(_NUMBERS, text)
    return found


def _numbers(node: Node, cores: Collection[CoreId]) -> Iterator[CoreId]:
    if node.is_sequence:
        places = [(item, item.integer(_NUMBERS, minimum=0)) for item in node.sequence()]
    else:
        parts = [part.strip() for part in node.text(_NUMBERS).split(",")]
        if not all(part.isdecimal() and part.isascii() and len(part) < 11 for part in parts):
            raise node.error(_NUMBERS)
        places = [(node, int(part)) for part in parts]
    for place, number in places:
        if number not in cores:
            known = ", ".join(map(str, cores))
            raise place.error(f"an existing core: one of {known}", f"core {number}")
        yield number
