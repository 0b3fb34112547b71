"""Reads the formats in which a memory stores its operands."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from nestmap.model import Compression
from nestmap.model.errors import suggestion
from nestmap.model.hardware.memory import BITMASK, MOST_RUN_BITS, RUN_LENGTH
from nestmap.pipeline.frontend.yaml.field_schema import KEY, Entries, Field, Form, Need, Origin
from nestmap.pipeline.frontend.yaml.located_node import Node

_FORMAT: Final = (
    f"{BITMASK}, or {RUN_LENGTH} and the bits of a run (1 to {MOST_RUN_BITS}) such as "
    f"'{RUN_LENGTH} 5'"
)

COMPRESSION_FIELD: Final = Field(
    "compression",
    "the [formats](#compression) in which the memory stores operands; they save what "
    "`operand_density` of a layer says",
    "formats by memory operand",
    "{I1: run_length 5, O: bitmask}",
    Need.OPTIONAL,
    default="{}",
    origin=Origin.NESTMAP,
)

COMPRESSION: Final = Entries(
    "Compression",
    ("memories", KEY, COMPRESSION_FIELD.name),
    "By operand. A tensor that its format would make larger is stored as it is, and so are partial "
    "sums: see [Compressed tensors](cost-model.md#compressed-tensors).",
    COMPRESSION_FIELD.kind,
    (
        Form("I1: bitmask", "a bit for each element, and the elements that are not zero"),
        Form("I1: run_length 5", "before each element the number of zeros before it, in 5 bit"),
    ),
)


def parse_compression(node: Node, operands: Collection[str]) -> tuple[Compression, ...]:
    """The formats of the operands that are listed.

    Raises:
        InputError: if an operand is not in the memory, or a format is not known.
    """
    entries = node.named(COMPRESSION_FIELD.kind)
    return tuple(_compression(name, entry, operands) for name, entry in entries.items())


def _compression(operand: str, node: Node, operands: Collection[str]) -> Compression:
    if operand not in operands:
        expected = f"an operand of the memory: {suggestion(operand, operands)}"
        raise node.error(expected, f"the operand {operand!r}")
    form, _, bits = node.text(_FORMAT).partition(" ")
    if form == BITMASK and not bits:
        return Compression(operand=operand)
    run_bits = int(bits) if bits.isascii() and bits.isdecimal() and len(bits) <= 2 else 0
    if form != RUN_LENGTH or not 1 <= run_bits <= MOST_RUN_BITS:
        raise node.error(_FORMAT)
    return Compression(operand=operand, run_bits=run_bits)
