"""Reads the dataflow, the order of loops and the loops per memory that a mapping file fixes."""

from collections.abc import Mapping
from typing import Final

from nestmap.model import Dataflow, OrderedLoop, PinnedLevels, PinnedMemory
from nestmap.pipeline.frontend.yaml.field_schema import (
    ITEM,
    Entries,
    Field,
    Form,
    Need,
    Origin,
    one_of,
)
from nestmap.pipeline.frontend.yaml.located_node import Node

LARGEST_FACTOR: Final = 2**31 - 1
"""The largest number of iterations of a loop in a file."""

_ITEM: Final = 'a loop dimension and its size, such as [K, 2] or [K, "*"], or "*" alone'
_HELD: Final = "the number of loops at or below each memory, such as {sram: 3, dram: 5}"

DATAFLOW: Final = Field(
    "dataflow",
    "what stays in the [innermost memories](cost-model.md#dataflows): `weight_stationary`, "
    "`input_stationary`, `output_stationary` or `row_stationary`; of several cores, in each that "
    "runs the layers",
    one_of([str(x) for x in Dataflow]),
    "weight_stationary",
    Need.OPTIONAL,
    otherwise="the search decides",
    origin=Origin.NESTMAP,
)
TEMPORAL_ORDERING: Final = Field(
    "temporal_ordering",
    "the order of the [temporal loops](#order-of-loops), in full or in part",
    "a list of loops, innermost first",
    '[[FX, 7], [K, "*"], "*", [OY, 56]]',
    Need.OPTIONAL,
    default="[]",
)
MEMORY_LEVELS: Final = Field(
    "memory_levels",
    "the loops whose data [each memory](#memories-of-loops) holds; together with an order of all "
    "loops it makes the mapping complete, and nothing is searched",
    "memories by layer operand, such as W: {sram: 3, dram: 5}",
    "{W: {sram: 1, dram: 2}}",
    Need.OPTIONAL,
    default="{}",
    origin=Origin.NESTMAP,
)

ORDER: Final = Entries(
    "Order of loops",
    (ITEM, TEMPORAL_ORDERING.name),
    'Innermost first. Without a wildcard `"*"` the list pins the innermost loops; items after a '
    "wildcard pin the outermost loops, the last item being the outermost. Items that cover all "
    "iterations of a layer are its complete order. An item over a dimension that has size 1 in a "
    "layer or is fully unrolled has no effect there; any other unsatisfiable item is an error.",
    TEMPORAL_ORDERING.kind,
    (
        Form("[FX, 7]", "a loop over `FX` with 7 iterations"),
        Form(
            '[K, "*"]',
            "a loop over `K` of any size: one of the factors that its iterations are split into",
        ),
        Form('"*"', 'all other loops, in any order; also `["*"]`; at most once'),
    ),
)
LEVELS: Final = Entries(
    "Memories of loops",
    (ITEM, MEMORY_LEVELS.name),
    "For each layer operand and each of its memories: the number of items of "
    "`temporal_ordering`, counted from the innermost, at or below that memory.",
    MEMORY_LEVELS.kind,
    (
        Form(
            "W: {sram: 1, dram: 2}",
            "one loop iterates over the data of `W` in `sram`, the other over that in `dram`",
        ),
    ),
)


def parse_dataflow(fields: Mapping[Field, Node]) -> Dataflow | None:
    """The dataflow of a mapping entry, if it has one.

    Raises:
        InputError: if there is no such dataflow; the error names line and field.
    """
    return fields[DATAFLOW].choice(Dataflow) if DATAFLOW in fields else None


def parse_ordering(node: Node) -> tuple[tuple[OrderedLoop, ...], tuple[OrderedLoop, ...]]:
    """The items before the wildcard (all items without one), and those after it.

    Raises:
        InputError: if the value is not a temporal ordering; the error names line and field.
    """
    items = node.sequence(TEMPORAL_ORDERING.kind)
    wild = [i for i, item in enumerate(items) if _is_wildcard(item)]
    if len(wild) > 1:
        raise items[wild[1]].error(
            "one wildcard between the innermost and the outermost loops", 'a second "*"'
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
    """The number of loops at or below each memory, for an ordering of ``loops`` loops.

    Raises:
        InputError: if the value has another format; the error names line and field.
    """
    return tuple(
        PinnedLevels(operand=operand, memories=_held(memories, loops))
        for operand, memories in node.named(MEMORY_LEVELS.kind).items()
    )


def _held(node: Node, loops: int) -> tuple[PinnedMemory, ...]:
    expected = "a number of items of temporal_ordering, not negative"
    memories = node.entries(_HELD).items()
    for name, item in memories:
        if not name:
            raise item.error("the name of a memory", "an empty key")
    return tuple(
        PinnedMemory(memory=name, loops=item.integer(expected, minimum=0, maximum=loops))
        for name, item in memories
    )
