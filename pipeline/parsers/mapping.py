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
    PinnedLevels,
    PinnedMemory,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.pipeline.parsers.node import Node, is_name
from nestmap.pipeline.parsers.source import read_yaml

_LARGEST_FACTOR: Final = 2**31 - 1
_FACTOR: Final = re.compile(r"[1-9][0-9]{0,9}")
_UNROLLED: Final = "a loop dimension and how often it is unrolled, such as 'K, 32'"
_ORDERED: Final = 'a loop dimension and its size, such as [K, 2] or [K, "*"], or "*" alone'
_ARRAY: Final = "lists of loops by array dimension, such as D1: [...]"
_LEVELS: Final = "memories by layer operand, such as W: {sram: 3, dram: 5}"
_HELD: Final = "how many loops lie at or below each memory, such as {sram: 3, dram: 5}"


def parse_mapping(path: Path) -> MappingConstraints:
    """The mapping constraints that a YAML file in ZigZag's schema describes.

    It lists entries by layer name or operator type; ``default`` is for all other layers.

    ``temporal_ordering`` lists loops, the innermost one first::

        temporal_ordering: [[FX, 7], [K, "*"], "*", [C, 2], [OY, 56]]

    ``[FX, 7]`` is a loop of that size, ``[K, "*"]`` one loop factor of that dimension, whichever.
    Without a wildcard ``"*"`` (also ``["*"]``) the list pins the innermost loops; behind one it
    pins the outermost, the last item outside all others. Items that run through all iterations of
    a layer are its order. An item over a dimension that has size 1 in a layer, or is unrolled as a
    whole, is met there by itself; any other one that cannot hold is an error.

    ``memory_levels`` (not in ZigZag's schema) goes with an ordering of all loops. It says for each
    operand and each of its memories how many of the items, counted from the inside, lie at or
    below that memory; the mapping is then complete and nothing is searched::

        memory_levels:
          W: {rf: 1, sram: 3, dram: 5}

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
            "memory_levels",
            "core_allocation",  # which core of a multi-core machine: not for the one core here
        ),
    )
    spatial, hints = fields.get("spatial_mapping"), fields.get("spatial_mapping_hint")
    links, ordering = fields.get("memory_operand_links"), fields.get("temporal_ordering")
    inner, outer = _ordering(ordering) if ordering else ((), ())
    levels = fields.get("memory_levels")
    with node.checking():
        return LayerConstraints(
            target=fields["name"].text("the name of a layer, an operator type, or default"),
            spatial_mapping=_spatial_mapping(spatial) if spatial else None,
            spatial_hints=_hints(hints) if hints else (),
            links=_links(links) if links else (),
            temporal_ordering=inner,
            outer_ordering=outer,
            memory_levels=_levels(levels, len(inner) + len(outer)) if levels else (),
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
    return tuple(_hint(name, loops) for name, loops in node.named(_ARRAY).items())


def _hint(array_dimension: str, loops: Node) -> UnrollingHint:
    dimensions = tuple(d.upper() for d in loops.names("a loop dimension such as OX"))
    if not dimensions:
        raise loops.error("at least one loop dimension, or no hint", "an empty list")
    return UnrollingHint(array_dimension=array_dimension, dimensions=dimensions)


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


def _ordering(node: Node) -> tuple[tuple[OrderedLoop, ...], tuple[OrderedLoop, ...]]:
    """The items before the wildcard, or all, and those after it."""
    items = node.sequence("a list of loops, innermost first")
    wild = [i for i, item in enumerate(items) if _is_wildcard(item)]
    if len(wild) > 1:
        raise items[wild[1]].error(
            "one wildcard: what stands before it is innermost, what stands behind it outermost",
            'a second "*"',
        )
    middle = wild[0] if wild else len(items)
    inner, outer = items[:middle], items[middle + 1 :]
    return tuple(map(_ordered_loop, inner)), tuple(map(_ordered_loop, outer))


def _is_wildcard(item: Node) -> bool:
    if item.is_sequence:
        parts = item.sequence()
        return len(parts) == 1 and parts[0].is_text("*")
    return item.is_text("*")


def _ordered_loop(node: Node) -> OrderedLoop:
    parts = node.sequence(_ORDERED)
    if len(parts) != 2:
        raise node.error(_ORDERED, f"a list of {len(parts)} items")
    dimension = parts[0].name("a loop dimension such as K").upper()
    if parts[1].is_text("*"):
        return OrderedLoop(dimension=dimension)
    size = parts[1].integer('a positive loop size or "*"', minimum=1, maximum=_LARGEST_FACTOR)
    return OrderedLoop(dimension=dimension, size=size)


def _levels(node: Node, loops: int) -> tuple[PinnedLevels, ...]:
    return tuple(
        PinnedLevels(operand=operand, memories=_held(memories, loops))
        for operand, memories in node.named(_LEVELS).items()
    )


def _held(node: Node, loops: int) -> tuple[PinnedMemory, ...]:
    expected = f"how many of the {loops} items of temporal_ordering lie at or below the memory"
    memories = node.entries(_HELD).items()
    for name, item in memories:
        if not name:
            raise item.error("the name of a memory", "an empty key")
    return tuple(
        PinnedMemory(memory=name, loops=item.integer(expected, minimum=0, maximum=loops))
        for name, item in memories
    )
