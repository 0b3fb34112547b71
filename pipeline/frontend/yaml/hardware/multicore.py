"""Reads descriptions of multi-core accelerators in Stream's YAML schema."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from nestmap.model.base import copy_with
from nestmap.model.errors import violation
from nestmap.model.multicore.accelerator import (
    Bus,
    Coordinates,
    CoreId,
    Link,
    MultiCoreAccelerator,
    StorageCore,
)
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form, Need, Origin, Section
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.connections import (
    BANDWIDTH,
    CONNECTIONS,
    ENERGY_PER_CYCLE,
    PAIRS,
    parse_connections,
    parse_pairs,
)
from nestmap.pipeline.frontend.yaml.hardware.copies import (
    COPIES_FIELD,
    NO_COPIES,
    Copies,
    parse_copies,
    with_copies,
)
from nestmap.pipeline.frontend.yaml.hardware.core import Core
from nestmap.pipeline.frontend.yaml.hardware.core_files import CoreFiles
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient
from nestmap.pipeline.frontend.yaml.hardware.shared_memories import SHARING, parse_shared
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import energy

_SINGLE_CORE: Final = "operational_array"
"""A field at the root of single-core accelerators only."""

_NUMBER: Final = "the number of a core"
_COLUMN_AND_ROW: Final = "column and row of a core, such as [0, 1]"

_NAME: Final = Field(
    "name",
    "the name of the accelerator in reports",
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
OFFCHIP_NUMBER: Final = "offchip_core_id"
"""The field that says which core is off the chip."""

_OFFCHIP: Final = Field(
    OFFCHIP_NUMBER,
    "the off-chip core, which only stores; constants come from it and results go to it",
    _NUMBER,
    "2",
    origin=Origin.STREAM,
)
_COORDINATES: Final = Field(
    "core_coordinates",
    "the [coordinates](#coordinates) of cores on the chip, for figures only",
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
    "Cores and the connections between them. Every core must have a path to the off-chip core and "
    "back.",
    (
        *(_NAME, _CORES, CONNECTIONS, _OFFCHIP, ENERGY_PER_CYCLE, SHARING, _COORDINATES),
        COPIES_FIELD,
        _not_looked_at(
            "bandwidth",
            "measured rates of ports",
            "{2.dram.rw_port_1: {ceiling: 64, contiguous: 64, burst: 32}}",
        ),
        _not_looked_at("technology_node", "the cores state their costs", "n3"),
        _not_looked_at(
            "memory_aliases",
            "memories that are views of one; areas here have each core's own",
            "[[0.vmem, 1.vmem]]",
        ),
        _not_looked_at("kernel_library", "for Stream's compiler", "./kernels.yaml"),
        _not_looked_at("reconfiguration", "for Stream's compiler", "{cycles: 100}"),
    ),
)

OFFCHIP_CORE: Final = "offchip_core"
"""The field of the off-chip core in descriptions of 2024."""

_OFFCHIP_FILE: Final = Field(
    OFFCHIP_CORE,
    "the off-chip core; its number follows those of `cores`",
    "the file of a core, or the core itself",
    "offchip.yaml",
    origin=Origin.STREAM,
)
_BANDWIDTH: Final = Field(
    "bandwidth", "bandwidth of each link", BANDWIDTH, "64", origin=Origin.STREAM
)

MULTICORE_2024: Final = Section(
    "Root of several cores, 2024",
    (),
    "The format of Stream's files in 2024: with `offchip_core`, connections are pairs of cores, "
    "all with one `bandwidth`. Pairs refer to the off-chip core by its number.",
    (
        *(_NAME, _CORES, _OFFCHIP_FILE, PAIRS, _BANDWIDTH),
        *(ENERGY_PER_CYCLE, SHARING, _COORDINATES),
    ),
)

CORES: Final = Entries(
    "Cores",
    (_CORES.name,),
    "By number, starting at 0, each once: the file of a [core](#core-that-computes), or the "
    "contents of such a file. A file is looked up in the folder of the accelerator's file, then in "
    "its subfolder `cores`, then among the bundled cores.",
    _CORES.kind,
    (Form("3: meta_prototype.yaml", "core 3 is described in that file"),),
)
COORDINATES: Final = Entries(
    "Coordinates",
    (_COORDINATES.name,),
    "The column and row of each core, by the number of the core.",
    _COORDINATES.kind,
    (Form("0: [1, 0]", "core 0 is in the second column of the first row"),),
)

BY_NUMBER: Final = (_CORES.name, _COORDINATES.name, COPIES_FIELD.name)
"""The fields at the root whose keys are numbers of cores."""


def parse_multicore(
    source: Path | FieldValues, cacti: CactiClient = cacti_cost
) -> MultiCoreAccelerator:
    """The accelerator with several cores that a YAML file in Stream's schema describes.

    Or its fields; files of cores are then looked for in the current folder.

    Its fields are declared here and in the imported modules; ``docs/input-formats.md`` lists them.
    ``cacti`` computes memory costs with CACTI.

    Raises:
        InputError: if a file is not such a description; the error names line and field.
    """
    root = read_source(source, FileKind.CORES)
    files = CoreFiles(source.parent if isinstance(source, Path) else Path(), cacti)
    found = root.entries(f"the fields {_names()}")
    if _SINGLE_CORE in found and _CORES.name not in found:
        expected = "several cores; for a single-core accelerator use nestmap explore"
        raise found[_SINGLE_CORE].error(expected, "a single core")
    return _of_2024(root, files) if _OFFCHIP_FILE.name in found else _current(root, files)


def _names() -> str:
    return ", ".join(field.name for field in MULTICORE.fields)


def _current(root: Node, files: CoreFiles) -> MultiCoreAccelerator:
    fields = root.fields(MULTICORE)
    cores = _cores(fields, files)
    offchip = _known(fields[_OFFCHIP], cores)
    if not isinstance(cores[offchip], StorageCore):
        expected = f"a storage core, of type offchip: {_storing(cores)}"
        raise fields[_OFFCHIP].error(expected, f"core {offchip}, which computes")
    copies = NO_COPIES
    if COPIES_FIELD in fields:
        copies = parse_copies(fields[COPIES_FIELD], cores, offchip)
        cores = with_copies(cores, copies)
    given = (cores, copies)
    links, buses = parse_connections(fields[CONNECTIONS], given, _energy(fields))
    return _built(root, fields, (cores, copies, offchip, links, buses))


def _of_2024(root: Node, files: CoreFiles) -> MultiCoreAccelerator:
    fields = root.fields(MULTICORE_2024)
    cores = _cores(fields, files)
    offchip, node = max(cores) + 1, fields[_OFFCHIP_FILE]
    cores[offchip] = files.offchip(node, offchip)
    if not isinstance(cores[offchip], StorageCore):
        raise node.error("a storage core, of type offchip", "a core that computes")
    cores = _with_coordinates(fields, cores)
    links = parse_pairs(fields[PAIRS], cores, (fields[_BANDWIDTH], _energy(fields)))
    return _built(root, fields, (cores, NO_COPIES, offchip, links, ()))


_Parts = tuple[dict[CoreId, Core], Copies, CoreId, tuple[Link, ...], tuple[Bus, ...]]
"""Cores, which of them are copies, the number of the off-chip core, links, buses."""


def _built(root: Node, fields: Mapping[Field, Node], parts: _Parts) -> MultiCoreAccelerator:
    cores, copies, offchip, links, buses = parts
    placed = _with_coordinates(fields, cores)
    try:
        return MultiCoreAccelerator(
            name=fields[_NAME].text(_NAME.kind),
            cores=tuple(placed.values()),
            offchip=offchip,
            links=links,
            buses=buses,
            shared=parse_shared(fields[SHARING], (placed, copies), offchip)
            if SHARING in fields
            else (),
        )
    except ValidationError as error:
        found, expected = violation(error)
        ways = fields.get(CONNECTIONS) or fields.get(PAIRS)
        accused = ways if ways and found.startswith("no path from core") else root
        raise accused.error(expected, found) from None


def _cores(fields: Mapping[Field, Node], files: CoreFiles) -> dict[CoreId, Core]:
    nodes = fields[_CORES].numbered(_CORES.kind)
    if not nodes:
        raise fields[_CORES].error(_CORES.kind)
    return {number: files.core(node, number) for number, node in nodes.items()}


def _energy(fields: Mapping[Field, Node]) -> float:
    return energy(fields[ENERGY_PER_CYCLE]) if ENERGY_PER_CYCLE in fields else 0.0


def _known(node: Node, cores: Iterable[CoreId]) -> CoreId:
    """The number of a core, checked to exist."""
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
                known = ", ".join(map(str, cores))
                raise node.error(f"an existing core: one of {known}", f"core {number}")
            placed[number] = copy_with(cores[number], {"coordinates": _place(node)})
    return placed


def _place(node: Node) -> Coordinates:
    items = [item.integer(_COLUMN_AND_ROW) for item in node.sequence(_COLUMN_AND_ROW)]
    if len(items) != 2:
        raise node.error(_COLUMN_AND_ROW, f"a list of {len(items)} items")
    return items[0], items[1]
