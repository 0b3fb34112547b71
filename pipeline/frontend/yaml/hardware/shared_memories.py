"""Reads which cores of an accelerator description share memory."""

from collections.abc import Mapping
from typing import Final

from nestmap.model.multicore.accelerator import CoreId, check_shared_memories
from nestmap.pipeline.frontend.yaml.field_schema import Entries, Field, Form, Need, Origin
from nestmap.pipeline.frontend.yaml.hardware.connections import parse_numbers
from nestmap.pipeline.frontend.yaml.hardware.copies import Copies
from nestmap.pipeline.frontend.yaml.hardware.core import Core
from nestmap.pipeline.frontend.yaml.located_node import Node

SHARING: Final = Field(
    "core_memory_sharing",
    "the cores that [share memory](#shared-memories)",
    "a list of cores that share memory",
    '["0, 1"]',
    Need.OPTIONAL,
    default="[]",
    origin=Origin.STREAM,
)
SHARED: Final = Entries(
    "Shared memories",
    (SHARING.name,),
    "Cores that share memory, without the off-chip core. They share the outermost memories that "
    "all of them have under the same name; size, ports and costs must be equal in each core, and "
    "only the operands that a port serves may differ. Items with a core in common are merged.",
    SHARING.kind,
    (Form('"0, 1"', "cores 0 and 1"), Form("[0, 1]", "the same as a list")),
)


def parse_shared(
    node: Node, given: tuple[Mapping[CoreId, Core], Copies], offchip: CoreId
) -> tuple[tuple[CoreId, ...], ...]:
    """The groups of cores that share memory; items with a core in common form one group.

    Raises:
        InputError: if an item does not name such cores; the error names line and field.
    """
    cores, copies = given
    groups: list[set[CoreId]] = []
    for item in node.sequence(SHARING.kind):
        numbers = copies.among(parse_numbers(item, cores, copies))
        if len(numbers) == 1:
            continue
        if offchip in numbers:
            raise item.error("on-chip cores only", f"core {offchip}, which is off the chip")
        _check_item(item, [cores[number] for number in numbers])
        joined = [group for group in groups if not group.isdisjoint(numbers)]
        group = set(numbers).union(*joined)
        place = groups.index(joined[0]) if joined else len(groups)
        groups[place : place + 1] = [group]
        groups = [other for other in groups if other is group or other.isdisjoint(group)]
    return tuple(tuple(sorted(group)) for group in groups)


def _check_item(item: Node, cores: list[Core]) -> None:
    try:
        check_shared_memories(cores)
    except ValueError as error:
        found, _, expected = str(error).partition("; expected ")
        raise item.error(expected, found) from None
