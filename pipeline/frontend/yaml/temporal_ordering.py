"""Reads what a mapping file fixes about the order of loops, and where they are cut."""

from __future__ import annotations

from typing import Final

from nestmap.model import OrderedLoop, PinnedLevels, PinnedMemory
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Entries, Field, Form, Need, Origin
from nestmap.pipeline.frontend.yaml.located_node import Node

LARGEST_FACTOR: Final = 2**31 - 1
"""How often a loop may be written to iterate."""

_ITEM: Final = 'a loop dimension and its size, such as [K, 2] or [K, "*"], or "*" alone'
_HELD: Final = "how many loops lie at or below each memory, such as {sram: 3, dram: 5}"

TEMPORAL_ORDERING: Final = Field(
    "temporal_ordering",
    "the order of the [temporal loops](#order-of-loops), or a part of it",
    "a list of loops, innermost first",
    '[[FX, 7], [K, "*"], "*", [OY, 56]]',
    Need.OPTIONAL,
    default="[]",
)
MEMORY_LEVELS: Final = Field(
    "memory_levels",
    "which loops [each memory](#memories-of-loops) holds the data of; with an order of all loops "
    "the mapping is complete and nothing is searched",
    "memories by layer operand, such as W: {sram: 3, dram: 5}",
    "{W: {sram: 1, dram: 2}}",
    Need.OPTIONAL,
    default="{}",
    origin=Origin.NESTMAP,
)

ORDER: Final = Entries(
    "Order of loops",
    (ITEM, TEMPORAL_ORDERING.name),
    'Innermost first. Without a wildcard `"*"` the list pins the innermost loops; what stands '
    "behind one is outermost, the last item outside all others. Items that run through all "
    "iterations of a layer are its order. An item over a dimension that has size 1 in a layer, or "
    "is unrolled as a whole, is met there by itself; any other one that cannot hold is an error.",
    TEMPORAL_ORDERING.kind,
    (
        Form("[FX, 7]", "a loop over `FX` with 7 iterations"),
        Form(
            '[K, "*"]',
            "a loop over `K`: one of the factors that its iterations are cut into, whichever",
        ),
        Form('"*"', 'all other loops, in any order; also `["*"]`; once at most'),
    ),
)
LEVELS: Final = Entries(
    "Memories of loops",
    (ITEM, MEMORY_LEVELS.name),
    "For each layer operand and each of its memories: how many items of "
    "`temporal_ordering`, counted from the inside, lie at or below that memory.",
    MEMORY_LEVELS.kind,
    (
        Form(
            "W: {sram: 1, dram: 2}", "one loop over what `sram` holds of `W`, the other outside it"
        ),
    ),
)


def parse_ordering(node: Node) -> tuple[tuple[OrderedLoop, ...], tuple[OrderedLoop, ...]]:
    """The items before the wildcard, or all, and those after it.

    Raises:
        InputError: where it is not a temporal ordering; it names the line and the field.
    """
    items = node.sequence(TEMPORAL_ORDERING.kind)
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
    parts = node.sequence(_ITEM)
    if len(parts) != 2:
        raise node.error(_ITEM, f"a list of {len(parts)} items")
    dimension = parts[0].name("a loop dimension such as K").upper()
    if parts[1].is_text("*"):
        return OrderedLoop(dimension=dimension)
    size = parts[1].integer('a positive loop size or "*"', minimum=1, maximum=LARGEST_FACTOR)
    return OrderedLoop(dimension=dimension, size=size)


def parse_levels(node: Node, loops: int) -> tuple[PinnedLevels, ...]:
    """Where the items of an ordering of so many loops lie.

    Raises:
        InputError: where it does not say that; it names the line and the field.
    """
    return tuple(
        PinnedLevels(operand=operand, memories=_held(memories, loops))
        for operand, memories in node.named(MEMORY_LEVELS.kind).items()
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
