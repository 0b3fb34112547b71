"""Reads descriptions of multi-core accelerators in Stream's YAML schema."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from nestmap.model.base import copy_with
from nestmap.model.errors import violation
from nestmap.model.multicore.accelerator import (
    Bus,
    CoreId,
    Link,
    MultiCoreAccelerator,
    StorageCore,
    check_shared_memories,
)
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.file_model import read_fields
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.connections import (
    NO_COPIES,
    Copies,
    check_numbers,
    connections_of,
    paired_links,
)
from nestmap.pipeline.frontend.yaml.hardware.core import Core
from nestmap.pipeline.frontend.yaml.hardware.core_files import CoreFiles
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient
from nestmap.pipeline.frontend.yaml.hardware.multicore_fields import (
    CONNECTIONS,
    COORDINATES,
    COPIES,
    CORE_NUMBER,
    CORES,
    OFFCHIP_CORE,
    OFFCHIP_NUMBER,
    SEVERAL,
    SHARING,
    Multicore2024Fields,
    MulticoreFields,
    SeveralCoresFields,
)
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node

_SINGLE_CORE: Final = "operational_array"
"""A field at the root of single-core accelerators only."""


def parse_multicore(
    source: Path | FieldValues, cacti: CactiClient = cacti_cost
) -> MultiCoreAccelerator:
    """The accelerator with several cores that a YAML file in Stream's schema describes.

    Or its fields; files of cores are then looked for in the current folder.
    ``docs/input-formats.md`` lists its fields. ``cacti`` computes memory costs with CACTI.

    Raises:
        InputError: if a file is not such a description; the error names line and field.
    """
    root = read_source(source, FileKind.CORES)
    files = CoreFiles(source.parent if isinstance(source, Path) else Path(), cacti)
    found = root.entries(f"the fields {', '.join(MulticoreFields.model_fields)}")
    if _SINGLE_CORE in found and CORES not in found:
        expected = "several cores; for a single-core accelerator use nestmap explore"
        raise found[_SINGLE_CORE].error(expected, "a single core")
    return _of_2024(root, files) if OFFCHIP_CORE in found else _current(root, files)


def _current(root: Node, files: CoreFiles) -> MultiCoreAccelerator:
    given = read_fields(root, MulticoreFields)
    cores, offchip = _cores(root, files), given.offchip_core_id
    if offchip not in cores:
        known = ", ".join(map(str, cores))
        raise root.at(OFFCHIP_NUMBER).error(f"{CORE_NUMBER}: one of {known}")
    if not isinstance(cores[offchip], StorageCore):
        expected = f"a storage core, of type offchip: {_storing(cores)}"
        raise root.at(OFFCHIP_NUMBER).error(expected, f"core {offchip}, which computes")
    copies = _copies(root, given, cores)
    cores |= {
        number: copy_with(cores[core], {"id": number})
        for core, numbers in copies.numbers.items()
        for number in numbers[1:]
    }
    connections, cost = given.core_connectivity, given.unit_energy_cost
    links, buses = connections_of(root, connections, (cores, copies), cost)
    return _built(root, given, (cores, copies, offchip, links, buses))


def _of_2024(root: Node, files: CoreFiles) -> MultiCoreAccelerator:
    given = read_fields(root, Multicore2024Fields)
    cores, node = _cores(root, files), root.at(OFFCHIP_CORE)
    offchip = max(cores) + 1
    cores[offchip] = files.offchip(node, offchip)
    if not isinstance(cores[offchip], StorageCore):
        raise node.error("a storage core, of type offchip", "a core that computes")
    links = paired_links(root, given, cores)
    return _built(root, given, (cores, NO_COPIES, offchip, links, ()))


_Parts = tuple[dict[CoreId, Core], Copies, CoreId, tuple[Link, ...], tuple[Bus, ...]]
"""Cores, which of them are copies, the number of the off-chip core, links, buses."""


def _built(root: Node, given: SeveralCoresFields, parts: _Parts) -> MultiCoreAccelerator:
    cores, copies, offchip, links, buses = parts
    for number, place in given.core_coordinates.items():
        if number not in cores:
            expected = f"an existing core: one of {', '.join(map(str, cores))}"
            raise root.at(COORDINATES, number).error(expected, f"core {number}")
        cores[number] = copy_with(cores[number], {"coordinates": place})
    try:
        return MultiCoreAccelerator(
            name=given.name,
            cores=tuple(cores.values()),
            offchip=offchip,
            links=links,
            buses=buses,
            shared=_shared(root, given.core_memory_sharing, (cores, copies), offchip),
        )
    except ValidationError as error:
        found, expected = violation(error)
        is_apart = found.startswith("no path from core")
        raise (root.at(CONNECTIONS) if is_apart else root).error(expected, found) from None


def _cores(root: Node, files: CoreFiles) -> dict[CoreId, Core]:
    nodes = root.at(CORES).numbered(SEVERAL)
    if not nodes:
        raise root.at(CORES).error(SEVERAL)
    return {number: files.core(node, number) for number, node in nodes.items()}


def _copies(root: Node, given: MulticoreFields, cores: Mapping[CoreId, Core]) -> Copies:
    """The numbers of repeated cores and their copies."""
    free = count(max(cores) + 1)
    found: dict[CoreId, tuple[CoreId, ...]] = {}
    for number, wanted in given.copies.items():
        if number not in cores or number == given.offchip_core_id:
            known = ", ".join(str(x) for x in cores if x != given.offchip_core_id)
            expected = f"a core on the chip: one of {known}"
            raise root.at(COPIES, number).error(expected, f"core {number}")
        found[number] = (number, *(next(free) for _ in range(wanted - 1)))
    return Copies(found)


def _storing(cores: Mapping[CoreId, Core]) -> str:
    numbers = [str(x) for x, core in cores.items() if isinstance(core, StorageCore)]
    return f"one of {', '.join(numbers)}" if numbers else "there is none"


def _shared(
    root: Node,
    given: Sequence[Sequence[CoreId]],
    among: tuple[Mapping[CoreId, Core], Copies],
    offchip: CoreId,
) -> tuple[tuple[CoreId, ...], ...]:
    """The groups of cores that share memory; items with a core in common form one group."""
    cores, copies = among
    groups: list[set[CoreId]] = []
    items = root.at(SHARING).sequence() if given else ()
    for item, stated in zip(items, given, strict=True):
        check_numbers(item, stated, cores, copies)
        numbers = copies.among(stated)
        if len(numbers) == 1:
            continue
        if offchip in numbers:
            raise item.error("on-chip cores only", f"core {offchip}, which is off the chip")
        _check_shared(item, [cores[number] for number in numbers])
        joined = [group for group in groups if not group.isdisjoint(numbers)]
        group = set(numbers).union(*joined)
        place = groups.index(joined[0]) if joined else len(groups)
        groups[place : place + 1] = [group]
        groups = [other for other in groups if other is group or other.isdisjoint(group)]
    return tuple(tuple(sorted(group)) for group in groups)


def _check_shared(item: Node, cores: list[Core]) -> None:
    try:
        check_shared_memories(cores)
    except ValueError as error:
        found, _, expected = str(error).partition("; expected ")
        raise item.error(expected, found) from None
