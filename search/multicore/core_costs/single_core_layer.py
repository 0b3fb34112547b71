"""The single-core layer of a kind of node, on the memory operands of a core."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model import InputOperand, Layer, OutputOperand
from nestmap.model.base import copy_with
from nestmap.model.dims import LayerOperand, MemoryOperand
from nestmap.model.multicore.cn_kinds import CnKind
from nestmap.model.units import Bits, Count


def layer_of(kind: CnKind, carried: Sequence[MemoryOperand], name: str) -> Layer:
    """The layer that represents a node on a core, with its operands on these memory operands.

    The inputs of a vector operator on one memory operand are merged: indexed as the largest of
    them, with the bits of all of them.
    """
    groups = inputs_by_memory(kind, carried)
    return Layer(
        name=name,
        operator=kind.operator,
        loops=kind.loops,
        output=kind.output,
        inputs=tuple(_together(kind, inputs) for inputs in groups.values()),
    )


def inputs_by_memory(
    kind: CnKind, carried: Sequence[MemoryOperand]
) -> dict[MemoryOperand, list[InputOperand]]:
    """The inputs that each memory operand carries."""
    groups: dict[MemoryOperand, list[InputOperand]] = {}
    for operand, read in zip(carried[1:], kind.inputs, strict=True):
        groups.setdefault(operand, []).append(read)
    return groups


def held_by_memory(kind: CnKind, carried: Sequence[MemoryOperand]) -> dict[MemoryOperand, Bits]:
    """The bits that each memory operand has to hold."""
    held: dict[MemoryOperand, Bits] = {}
    for operand, bits in zip(carried, kind.held, strict=True):
        held[operand] = held.get(operand, 0) + bits
    return held


def streamed_operands(
    kind: CnKind, carried: Sequence[MemoryOperand], streamed: Sequence[MemoryOperand]
) -> tuple[LayerOperand, ...]:
    """The operands of a node that the streamed memory operands carry."""
    pairs = zip(carried, kind.operands, strict=True)
    return tuple(name for operand, name in pairs if operand in streamed)


def _together(kind: CnKind, inputs: Sequence[InputOperand]) -> InputOperand:
    if len(inputs) == 1:
        return inputs[0]
    counts = [elements_of(kind, read) for read in inputs]
    largest = counts.index(max(counts))
    bits = sum(n * read.precision for n, read in zip(counts, inputs, strict=True))
    return copy_with(
        inputs[largest],
        {
            "name": inputs[0].name,
            "precision": -(-bits // counts[largest]),
            "constant": all(read.constant for read in inputs),
        },
    )


def elements_of(kind: CnKind, operand: InputOperand | OutputOperand) -> Count:
    """The elements of an operand that the loops touch."""
    sizes, count = {loop.dimension: loop.size for loop in kind.loops}, 1
    for index in operand.indices:
        whole = tuple(sizes[d] for d in index.dimensions)
        count *= index.touched(whole, whole)
    return count
