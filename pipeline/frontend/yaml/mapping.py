"""Reads mapping files in ZigZag's YAML schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nestmap.model import (
    LayerConstraints,
    Loop,
    MappingConstraints,
    OperandLink,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.pipeline.frontend.yaml.core_allocation import ALLOCATION_FIELDS, parse_allocation
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Entries, Field, Form, Need, Section
from nestmap.pipeline.frontend.yaml.load import read_yaml
from nestmap.pipeline.frontend.yaml.located_node import Node, is_name
from nestmap.pipeline.frontend.yaml.temporal_ordering import (
    LARGEST_FACTOR,
    MEMORY_LEVELS,
    TEMPORAL_ORDERING,
    parse_levels,
    parse_ordering,
)

_FACTOR: Final = re.compile(r"[1-9][0-9]{0,9}")
_UNROLLED: Final = "a loop dimension and how often it is unrolled, such as 'K, 32'"
_ARRAY: Final = "lists of loops by array dimension, such as D1: [...]"

_NAME: Final = Field(
    "name",
    "which layers the entry is for: the one of that name, else those of that operator type, else, "
    "with `default`, all others",
    "the name of a layer, an operator type, or default",
    "Conv",
)
_SPATIAL_MAPPING: Final = Field(
    "spatial_mapping",
    "how loops are [unrolled](#unrolled-loops) over the array",
    _ARRAY,
    '{D1: ["K, 32"], D2: ["C, 8", "FX, 3"]}',
    Need.OPTIONAL,
    otherwise="the search decides",
)
_HINTS: Final = Field(
    "spatial_mapping_hint",
    "which loops [may be unrolled](#hints), where no `spatial_mapping` decides",
    _ARRAY,
    "{D1: [K], D2: [C, FX, FY]}",
    Need.OPTIONAL,
    otherwise="any loop may be",
)
_LINKS: Final = Field(
    "memory_operand_links",
    "which memory operand [carries](#links) which layer operand",
    "memory operands by layer operand, such as W: I2",
    "{O: O, W: I2, I: I1}",
    Need.OPTIONAL,
    otherwise="`{O: O, W: I2, I: I1}` where the accelerator has those; other inputs take those "
    "that are left, in order",
)
MAPPING: Final = Section(
    "Mapping entry",
    (ITEM,),
    "A mapping file is a list of entries; each `name` stands once. What an entry does not fix is "
    "searched.",
    (
        *(_NAME, _SPATIAL_MAPPING, _HINTS, _LINKS),
        *(TEMPORAL_ORDERING, MEMORY_LEVELS, *ALLOCATION_FIELDS),
    ),
)
UNROLLED: Final = Entries(
    "Unrolled loops",
    (*MAPPING.at, _SPATIAL_MAPPING.name),
    "By array dimension: the loops that run side by side along it, and how many iterations of "
    f"each: 1 to {LARGEST_FACTOR}. Their product is at most the units along that dimension.",
    _ARRAY,
    (
        Form('D1: ["K, 4"]', "4 iterations of `K` at a time along `D1`"),
        Form('D2: ["C, 2", "FX, 3"]', "along `D2` 2 iterations of `C` times 3 of `FX`"),
    ),
)
HINTS: Final = Entries(
    "Hints",
    (*MAPPING.at, _HINTS.name),
    "By array dimension: the loop dimensions that may be unrolled along it. Along dimensions "
    "without a hint any may be.",
    _ARRAY,
    (Form("D1: [K, OX]", "along `D1` only loops over `K` or `OX`"),),
)
LINKS: Final = Entries(
    "Links",
    (*MAPPING.at, _LINKS.name),
    "Layers name their operands `O`, `W` and `I` (or as their equation does), memories `O`, "
    "`I1` and `I2`. The output travels as `O`, each input as another one.",
    _LINKS.kind,
    (Form("W: I2", "the memories of `I2` hold `W`"),),
)


def parse_mapping(path: Path) -> MappingConstraints:
    """The mapping constraints that a YAML file in ZigZag's schema describes.

    What may stand in it is declared here and in
    :mod:`~nestmap.pipeline.frontend.yaml.temporal_ordering`; ``docs/input-formats.md`` shows it.

    Raises:
        InputError: where the file is not such a description; it names the line and the field.
    """
    return MappingConstraints(entries=tuple(_entry(node) for node in _entries(path)))


def parse_core_mapping(path: Path) -> CoreMapping:
    """The core allocations in the same file; entries that say nothing of cores have none.

    Raises:
        InputError: where the file is not such a description; it names the line and the field.
    """
    read = ((_target(fields), fields) for fields in (x.fields(MAPPING) for x in _entries(path)))
    allocations = (parse_allocation(target, fields) for target, fields in read)
    return CoreMapping(entries=tuple(x for x in allocations if x is not None))


def _entries(path: Path) -> tuple[Node, ...]:
    """The entries of a file, each for another target."""
    nodes = read_yaml(path).sequence("a list of mappings, each with a name")
    targets: set[str] = set()
    for node in nodes:
        target = _target(node.fields(MAPPING))
        if target in targets:
            raise node.error("one mapping for each name", f"a second mapping for {target!r}")
        targets.add(target)
    return nodes


def _target(fields: Mapping[Field, Node]) -> str:
    return fields[_NAME].text(_NAME.kind)


def _entry(node: Node) -> LayerConstraints:
    fields = node.fields(MAPPING)
    spatial, hints = fields.get(_SPATIAL_MAPPING), fields.get(_HINTS)
    links, ordering = fields.get(_LINKS), fields.get(TEMPORAL_ORDERING)
    inner, outer = parse_ordering(ordering) if ordering else ((), ())
    levels = fields.get(MEMORY_LEVELS)
    with node.checking():
        return LayerConstraints(
            target=_target(fields),
            spatial_mapping=parse_spatial_mapping(spatial) if spatial else None,
            spatial_hints=_hints(hints) if hints else (),
            links=_links(links) if links else (),
            temporal_ordering=inner,
            outer_ordering=outer,
            memory_levels=parse_levels(levels, len(inner) + len(outer)) if levels else (),
        )


def parse_spatial_mapping(node: Node) -> SpatialMapping:
    """The loops by array dimension, as :data:`UNROLLED` has them.

    Raises:
        InputError: where the value does not say that; it names the line and the field.
    """
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=name, loops=_unrolled(loops))
            for name, loops in node.named(_ARRAY).items()
        )
    )


def _unrolled(node: Node) -> tuple[Loop, ...]:
    loops: dict[str, Loop] = {}
    for item in node.sequence(f"a list, each item {_UNROLLED}"):
        loop = _unrolled_loop(item)
        if loop.dimension in loops:
            raise item.error("each loop dimension once", f"a second unrolling of {loop.dimension}")
        loops[loop.dimension] = loop
    return tuple(loops.values())


def _unrolled_loop(node: Node) -> Loop:
    dimension, _, factor = (part.strip() for part in node.text(_UNROLLED).partition(","))
    if not is_name(dimension) or not _FACTOR.fullmatch(factor) or int(factor) > LARGEST_FACTOR:
        raise node.error(f"{_UNROLLED} (1 to {LARGEST_FACTOR} times)")
    return Loop(dimension=dimension.upper(), size=int(factor))


def _hints(node: Node) -> tuple[UnrollingHint, ...]:
    return tuple(_hint(name, loops) for name, loops in node.named(_ARRAY).items())


def _hint(array_dimension: str, loops: Node) -> UnrollingHint:
    dimensions = tuple(d.upper() for d in loops.names("a loop dimension such as OX"))
    if not dimensions:
        raise loops.error("at least one loop dimension, or no hint", "an empty list")
    return UnrollingHint(array_dimension=array_dimension, dimensions=dimensions)


def _links(node: Node) -> tuple[OperandLink, ...]:
    links: dict[str, OperandLink] = {}
    for operand, item in node.named(_LINKS.kind).items():
        memory_operand = item.name("a memory operand such as I2")
        if memory_operand in links:
            other = links[memory_operand].operand
            raise item.error(
                "a memory operand for each layer operand",
                f"{memory_operand}, which already carries {other}",
            )
        links[memory_operand] = OperandLink(operand=operand, memory_operand=memory_operand)
    return tuple(links.values())
