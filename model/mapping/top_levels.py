"""Data that stays on chip: the highest memory that each operand of a layer uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import OUTPUT, MemoryOperand
from nestmap.model.errors import InputError
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.hardware.memory import MemoryLevel


class TopLevel(Frozen, frozen=True):
    """The highest memory, by name, that an operand uses: its data stays there."""

    operand: MemoryOperand
    memory: str


class LayerTopLevels(Frozen, frozen=True):
    """The top levels of a layer's operands; operands that are not named use all their memories."""

    layer: str
    top_levels: tuple[TopLevel, ...]


def without_unused_levels(accelerator: Accelerator, top_levels: Iterable[TopLevel]) -> Accelerator:
    """The accelerator without the memories above the top level of each operand.

    Higher memories lose the operand and the port uses for it; memories that hold no operand are
    removed. The name does not change, and applying the same top levels again changes nothing. A
    vector unit whose memory no longer holds outputs uses the outermost memory that does.

    Raises:
        InputError: if a top level is not a memory of its operand.
    """
    unused: dict[str, set[MemoryOperand]] = {level.name: set() for level in accelerator.memories}
    for top in top_levels:
        names = [level.name for level in accelerator.levels_of(top.operand)]
        if top.memory not in names:
            expected = f"one of its memories: {', '.join(names) or 'it has none'}"
            raise InputError(f"top level of {top.operand}", top.memory, expected)
        for name in names[names.index(top.memory) + 1 :]:
            unused[name].add(top.operand)
    memories = tuple(_reduce_levels(accelerator.memories, unused))
    unit = accelerator.vector_unit
    if unit and unit.memory and OUTPUT in unused[unit.memory]:
        unit = copy_with(unit, {"memory": None})
    kept = {level.name for level in memories}
    idle = [level for level in accelerator.memories if level.name not in kept]
    return copy_with(
        accelerator,
        {
            "memories": memories,
            "vector_unit": unit,
            "unused_leakage": accelerator.unused_leakage + _leakage(accelerator, idle),
        },
    )


def _leakage(accelerator: Accelerator, memories: Iterable[MemoryLevel]) -> float:
    """The leakage of all instances of these memories (mW); 0 if leakage is not counted."""
    if not accelerator.counts_leakage:
        return 0.0
    return sum((x.instance.leakage * accelerator.instances_of(x) for x in memories), 0.0)


def _reduce_levels(
    memories: Iterable[MemoryLevel], unused: Mapping[str, set[MemoryOperand]]
) -> Iterator[MemoryLevel]:
    for level in memories:
        left = tuple(x for x in level.operands if x not in unused[level.name])
        if left == level.operands:
            yield level
        elif left:
            yield _with_operands(level, left)


def _with_operands(level: MemoryLevel, operands: tuple[MemoryOperand, ...]) -> MemoryLevel:
    """The level with only these operands; ports without a use remain."""
    ports = tuple(
        copy_with(
            port, {"allocation": tuple(use for use in port.allocation if use.operand in operands)}
        )
        for port in level.instance.ports
    )
    instance = copy_with(level.instance, {"ports": ports})
    return copy_with(level, {"instance": instance, "operands": operands})
