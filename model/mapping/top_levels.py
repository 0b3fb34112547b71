"""Data kept on chip: the highest memory that each operand of a layer uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nestmap.model.base import Frozen, replaced
from nestmap.model.dims import OUTPUT, MemoryOperand
from nestmap.model.errors import InputError
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.hardware.memory import MemoryLevel


class TopLevel(Frozen, frozen=True):
    """The memory, by name, in which an operand's data stays, so that it uses none above."""

    operand: MemoryOperand
    memory: str


class LayerTopLevels(Frozen, frozen=True):
    """The top levels of a layer's operands; operands that are not named use all their memories."""

    layer: str
    top_levels: tuple[TopLevel, ...]


def without_unused_levels(accelerator: Accelerator, top_levels: Iterable[TopLevel]) -> Accelerator:
    """The accelerator where no operand has a memory above its top level.

    Higher memories lose the operand and what their ports do for it; those that hold nothing any
    more are gone. The name stays, and the same top levels applied again change nothing. A vector
    unit whose memory holds no outputs any more is left with the outermost one that does.

    Raises:
        InputError: where a top level is not a memory of its operand.
    """
    unused: dict[str, set[MemoryOperand]] = {level.name: set() for level in accelerator.memories}
    for top in top_levels:
        names = [level.name for level in accelerator.levels_of(top.operand)]
        if top.memory not in names:
            expected = f"one of its memories: {', '.join(names) or 'it has none'}"
            raise InputError(f"top level of {top.operand}", top.memory, expected)
        for name in names[names.index(top.memory) + 1 :]:
            unused[name].add(top.operand)
    memories = tuple(_reduced(accelerator.memories, unused))
    unit = accelerator.vector_unit
    if unit and unit.memory and OUTPUT in unused[unit.memory]:
        unit = replaced(unit, {"memory": None})
    kept = {level.name for level in memories}
    idle = [level for level in accelerator.memories if level.name not in kept]
    return replaced(
        accelerator,
        {
            "memories": memories,
            "vector_unit": unit,
            "unused_leakage": accelerator.unused_leakage + _leakage(accelerator, idle),
        },
    )


def _leakage(accelerator: Accelerator, memories: Iterable[MemoryLevel]) -> float:
    """What all instances of these memories leak (mW); 0 where nobody counts it."""
    if not accelerator.counts_leakage:
        return 0.0
    return sum((x.instance.leakage * accelerator.instances_of(x) for x in memories), 0.0)


def _reduced(
    memories: Iterable[MemoryLevel], unused: Mapping[str, set[MemoryOperand]]
) -> Iterator[MemoryLevel]:
    for level in memories:
        left = tuple(x for x in level.operands if x not in unused[level.name])
        if left == level.operands:
            yield level
        elif left:
            yield _holding(level, left)


def _holding(level: MemoryLevel, operands: tuple[MemoryOperand, ...]) -> MemoryLevel:
    """The level with these of its operands only; ports that serve none of them stay, idle."""
    ports = tuple(
        replaced(
            port, {"allocation": tuple(use for use in port.allocation if use.operand in operands)}
        )
        for port in level.instance.ports
    )
    instance = replaced(level.instance, {"ports": ports})
    return replaced(level, {"instance": instance, "operands": operands})
