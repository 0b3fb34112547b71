"""Reads mapping files in ZigZag's YAML schema."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from nestmap.model import (
    LayerConstraints,
    Loop,
    MappingConstraints,
    OperandLink,
    OrderedLoop,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.pipeline.parsers.node import Node, is_name
from nestmap.pipeline.parsers.source import read_yaml

_LARGEST_FACTOR: Final = 2**31 - 1
_FACTOR: Final = re.compile(r"[1-9][0-9]{0,9}")
_UNROLLED: Final = "a loop dimension and how often it is unrolled, such as 'K, 32'"
_ORDERED: Final = 'a loop dimension and its size, such as [K, 2] or [K, "*"]'
_ARRAY: Final = "lists of loops by array dimension, such as D1: [...]"


def parse_mapping(path: Path) -> MappingConstraints:
    """The mapping constraints that a YAML file in ZigZag's schema describes.

    It lists entries by layer name or operator type; ``default`` is for all other layers.

    Raises:
        InputError: where the file is not such a description; it names the line and the field.
    """
    root = read_yaml(path)
    entries: dict[str, LayerConstraints] = {}
    for node in root.sequence("a list of mappings, each with a name"):
        entry = _entry(node)
        if entry.target in entries:
            raise node.error("one mapping for each name", f"a second mapping for {entry.target!r}")
        entries[entry.target] = entry
    return MappingConstraints(entries=tuple(entries.values()))


def _entry(node: Node) -> LayerConstraints:
    fields = node.fields(
        ("name",),
        (
            "spatial_mapping",
            "spatial_mapping_hint",
            "memory_operand_links",
            "temporal_ordering",
            "core_allocation",  # which core of a multi-core machine: not for the one core here
        ),
    )
    spatial, hints = fields.get("spatial_mapping"), fields.get("spatial_mapping_hint")
    links, ordering = fields.get("memory_operand_links"), fields.get("temporal_ordering")
    with node.checking():
        return LayerConstraints(
            target=fields["name"].text("the name of a layer, an operator type, or default"),
            spatial_mapping=_spatial_mapping(spatial) if spatial else None,
            spatial_hints=_hints(hints) if hints else (),
            links=_links(links) if links else (),
            temporal_ordering=_ordering(ordering) if ordering else (),
        )


def _spatial_mapping(node: Node) -> SpatialMapping:
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
    if not is_name(dimension) or not _FACTOR.fullmatch(factor) or int(factor) > _LARGEST_FACTOR:
        raise node.error(f"{_UNROLLED} (1 to {_LARGEST_FACTOR} times)")
    return Loop(dimension=dimension.upper(), size=int(factor))


def _hints(node: Node) -> tuple[UnrollingHint, ...]:
    return tuple(
        UnrollingHint(
            array_dimension=name,
            dimensions=tuple(d.upper() for d in loops.names("a loop dimension such as OX")),
        )
        for name, loops in node.named(_ARRAY).items()
    )


def _links(node: Node) -> tuple[OperandLink, ...]:
    links: dict[str, OperandLink] = {}
    for operand, item in node.named("memory operands by layer operand, such as W: I2").items():
        memory_operand = item.name("a memory operand such as I2")
        if memory_operand in links:
            other = links[memory_operand].operand
            raise item.error(
                "a memory operand for each layer operand",
                f"{memory_operand}, which already carries {other}",
            )
        links[memory_operand] = OperandLink(operand=operand, memory_operand=memory_operand)
    return tuple(links.values())


def _ordering(node: Node) -> tuple[OrderedLoop, ...]:
    items = node.sequence("a list of loops, innermost first")
    loops = [_ordered_loop(item) for item in items]
    for i, (item, loop) in enumerate(zip(items, loops, strict=True)):
        if loop.size is None and loop in loops[:i]:
            raise item.error("each loop dimension once", f"a second {loop}")
    return tuple(loops)


def _ordered_loop(node: Node) -> OrderedLoop:
    parts = node.sequence(_ORDERED)
    if len(parts) != 2:
        raise node.error(_ORDERED, f"a list of {len(parts)} items")
    dimension = parts[0].name("a loop dimension such as K").upper()
    if parts[1].is_text("*"):
        return OrderedLoop(dimension=dimension)
    size = parts[1].integer('a positive loop size or "*"', minimum=1, maximum=_LARGEST_FACTOR)
    return OrderedLoop(dimension=dimension, size=size)
