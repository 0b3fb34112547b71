"""Reads descriptions of accelerators with several cores, in the schema of Stream's files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Final

import networkx as nx
from pydantic import ValidationError

from nestmap.model.base import replaced
from nestmap.model.multicore.accelerator import (
    Bus,
    Coordinates,
    CoreId,
    Link,
    MultiCoreAccelerator,
    StorageCore,
    check_shared,
)
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form, Need, Origin, Section
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.connections import (
    BANDWIDTH,
    CONNECTIONS,
    ENERGY_PER_CYCLE,
    PAIRS,
    parse_connections,
    parse_numbers,
    parse_pairs,
)
from nestmap.pipeline.frontend.yaml.hardware.core import Core
from nestmap.pipeline.frontend.yaml.hardware.core_files import CoreFiles
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import Cacti
from nestmap.pipeline.frontend.yaml.load import read_yaml
from nestmap.pipeline.frontend.yaml.located_node import Node, explained
from nestmap.pipeline.frontend.yaml.quantities import energy

_NUMBER: Final = "the number of a core"
_COLUMN_AND_ROW: Final = "column and row of a core, such as [0, 1]"

_NAME: Final = Field(
    "name",
    "how reports call the accelerator",
    "the name of the accelerator",
    "quad",
    origin=Origin.STREAM,
)
_CORES: Final = Field(
    "cores",
    "the [cores](#cores) by number",
    "two cores or more by number",
    "",
    origin=Origin.STREAM,
)
_OFFCHIP: Final = Field(
    "offchip_core_id",
    "which core is off the chip; it only stores. Constants come from there, results go there",
    _NUMBER,
    "2",
    origin=Origin.STREAM,
)
_SHARING: Final = Field(
    "core_memory_sharing",
    "which cores [have memory in common](#shared-memories)",
    "a list of cores that share memory",
    '["0, 1"]',
    Need.OPTIONAL,
    default="[]",
    origin=Origin.STREAM,
)
_COORDINATES: Final = Field(
    "core_coordinates",
    "where [cores lie](#coordinates) on the chip; for pictures only",
    "column and row by number of the core",
    "{0: [0, 0], 1: [1, 0]}",
    Need.OPTIONAL,
    default="{}",
    origin=Origin.STREAM,
)


def _not_looked_at(name: str, meaning: str, example: str) -> Field:
    return Field(name, meaning, "anything", example, Need.IGNORED, origin=Origin.STREAM)


MULTICORE: Final = Section(
    "Root of several cores",
    (),
    "Cores, and the ways between them. From every core there is a way to the one off the chip, and "
    "back.",
    (
        *(_NAME, _CORES, CONNECTIONS, _OFFCHIP, ENERGY_PER_CYCLE, _SHARING, _COORDINATES),
        _not_looked_at(
            "bandwidth",
            "measured rates of ports",
            "{2.dram.rw_port_1: {ceiling: 64, contiguous: 64, burst: 32}}",
        ),
        _not_looked_at("technology_node", "costs stand in the cores", "n3"),
    ),
)

_OFFCHIP_FILE: Final = Field(
    "offchip_core",
    "the core off the chip; its number is the next one after those of `cores`",
    "the file of a core, or the core itself",
    "offchip.yaml",
    origin=Origin.STREAM,
)
_BANDWIDTH: Final = Field(
    "bandwidth",
    "of each link",
    BANDWIDTH,
    "64",
    origin=Origin.STREAM,
)

MULTICORE_2024: Final = Section(
    "Root of several cores, 2024",
    (),
    "As Stream's files were in 2024: with `offchip_core`, connections are pairs of cores, all with "
    "one `bandwidth`. The core off the chip stands in pairs under its number.",
    (
        *(_NAME, _CORES, _OFFCHIP_FILE, PAIRS, _BANDWIDTH),
        *(ENERGY_PER_CYCLE, _SHARING, _COORDINATES),
    ),
)

CORES: Final = Entries(
    "Cores",
    (_CORES.name,),
    "By number, from 0 on, each once: the file of a [core](#core-that-computes), or in its place "
    "what would stand in the file. A file is looked for beside the one that names it, then in the "
    "folder `cores` there, then among the bundled cores, whose names are those of files.",
    _CORES.kind,
    (Form("3: meta_prototype.yaml", "core 3 is as that file says"),),
)
SHARED: Final = Entries(
    "Shared memories",
    (_SHARING.name,),
    "Cores that have memory in common, not the one off the chip. What is shared are the outermost "
    "memories that all of them have by one name; their size, ports and costs are the same in each "
    "core. Items with a core in common are one item.",
    _SHARING.kind,
    (
        Form('"0, 1"', "cores 0 and 1"),
        Form("[0, 1]", "the same as a list"),
    ),
)
COORDINATES: Final = Entries(
    "Coordinates",
    (_COORDINATES.name,),
    "By number of the core: column and row.",
    _COORDINATES.kind,
    (Form("0: [1, 0]", "core 0 is in the second column of the first row"),),
)


def parse_multicore(path: Path, cacti: Cacti = cacti_cost) -> MultiCoreAccelerator:
    """The accelerator with several cores that a YAML file in Stream's schema describes.

    What may stand in it is declared here and in the modules that are imported; the page
    ``docs/input-formats.md`` shows it. Who asks CACTI is ``cacti``.

    Raises:
        InputError: where a file is not such a description; it names the line and the field.
    """
    root = read_yaml(path)
    files = CoreFiles(path.parent, cacti)
    old = _OFFCHIP_FILE.name in root.entries(f"a mapping with the fields {_names()}")
    return _of_2024(root, files) if old else _current(root, files)


def _names() -> str:
    return ", ".join(field.name for field in MULTICORE.fields)


def _current(root: Node, files: CoreFiles) -> MultiCoreAccelerator:
    fields = root.fields(MULTICORE)
    cores = _cores(fields, files)
    offchip = _known(fields[_OFFCHIP], cores)
    if not isinstance(cores[offchip], StorageCore):
        expected = f"a core that only stores, of type offchip: {_storing(cores)}"
        raise fields[_OFFCHIP].error(expected, f"core {offchip}, which computes")
    links, buses = parse_connections(fields[CONNECTIONS], cores, _energy(fields))
    return _built(root, fields, (cores, offchip, links, buses))


def _of_2024(root: Node, files: CoreFiles) -> MultiCoreAccelerator:
    fields = root.fields(MULTICORE_2024)
    cores = _cores(fields, files)
    offchip, node = max(cores) + 1, fields[_OFFCHIP_FILE]
    cores[offchip] = files.offchip(node, offchip)
    if not isinstance(cores[offchip], StorageCore):
        raise node.error("a core that only stores, of type offchip", "one that computes")
    cores = _with_coordinates(fields, cores)
    links = parse_pairs(fields[PAIRS], cores, (fields[_BANDWIDTH], _energy(fields)))
    return _built(root, fields, (cores, offchip, links, ()))


_Parts = tuple[dict[CoreId, Core], CoreId, tuple[Link, ...], tuple[Bus, ...]]
"""Cores, which of them is off the chip, links, buses."""


def _built(root: Node, fields: Mapping[Field, Node], parts: _Parts) -> MultiCoreAccelerator:
    cores, offchip, links, buses = parts
    placed = _with_coordinates(fields, cores)
    try:
        return MultiCoreAccelerator(
            name=fields[_NAME].text(_NAME.kind),
            cores=tuple(placed.values()),
            offchip=offchip,
            links=links,
            buses=buses,
            shared=_shared(fields[_SHARING], placed, offchip) if _SHARING in fields else (),
        )
    except ValidationError as error:
        found, expected = explained(error)
        ways = fields.get(CONNECTIONS) or fields.get(PAIRS)
        accused = ways if ways and found.startswith("no way from core") else root
        raise accused.error(expected, found) from None


def _cores(fields: Mapping[Field, Node], files: CoreFiles) -> dict[CoreId, Core]:
    nodes = fields[_CORES].numbered(_CORES.kind)
    if not nodes:
        raise fields[_CORES].error(_CORES.kind)
    return {number: files.core(node, number) for number, node in nodes.items()}


def _energy(fields: Mapping[Field, Node]) -> float:
    return energy(fields[ENERGY_PER_CYCLE]) if ENERGY_PER_CYCLE in fields else 0.0


def _known(node: Node, cores: Iterable[CoreId]) -> CoreId:
    """The number of one of the cores."""
    number = node.integer(_NUMBER, minimum=0)
    if number not in cores:
        raise node.error(f"{_NUMBER}: one of {', '.join(map(str, cores))}")
    return number


def _storing(cores: Mapping[CoreId, Core]) -> str:
    numbers = [str(x) for x, core in cores.items() if isinstance(core, StorageCore)]
    return f"one of {', '.join(numbers)}" if numbers else "there is none"


def _with_coordinates(
    fields: Mapping[Field, Node], cores: Mapping[CoreId, Core]
) -> dict[CoreId, Core]:
    placed = dict(cores)
    if _COORDINATES in fields:
        for number, node in fields[_COORDINATES].numbered(_COORDINATES.kind).items():
            if number not in cores:
                raise node.error(f"a core: one of {', '.join(map(str, cores))}", f"core {number}")
            placed[number] = replaced(cores[number], {"coordinates": _place(node)})
    return placed


def _place(node: Node) -> Coordinates:
    items = [item.integer(_COLUMN_AND_ROW) for item in node.sequence(_COLUMN_AND_ROW)]
    if len(items) != 2:
        raise node.error(_COLUMN_AND_ROW, f"a list of {len(items)} items")
    return items[0], items[1]


def _shared(
    node: Node, cores: Mapping[CoreId, Core], offchip: CoreId
) -> tuple[tuple[CoreId, ...], ...]:
    """The groups of cores that share memory; items that have a core in common are one group."""
    graph: nx.Graph[CoreId] = nx.Graph()
    for item in node.sequence(_SHARING.kind):
        numbers = parse_numbers(item, cores)
        if offchip in numbers:
            raise item.error("cores on the chip only", f"core {offchip}, which is off the chip")
        _check_item(item, [cores[number] for number in numbers])
        graph.add_edges_from(combinations(numbers, 2))
    return tuple(tuple(sorted(group)) for group in nx.connected_components(graph))


def _check_item(item: Node, cores: list[Core]) -> None:
    try:
        check_shared(cores)
    except ValueError as error:
        found, _, expected = str(error).partition("; expected ")
        raise item.error(expected, found) from None
