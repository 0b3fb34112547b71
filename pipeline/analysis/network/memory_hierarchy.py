"""Where the memories of an accelerator stand in a picture of it, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Final, NamedTuple

from nestmap.model import OUTPUT, Accelerator, MemoryLevel, MemoryPort, Movement
from nestmap.model.dims import MemoryOperand
from nestmap.pipeline.format.numbers import TIMES, capacity, count

_MOST_SORTED: Final = 5
"""Operands of which all orders are tried."""

_MOST_PORTS: Final = 8


class Place(NamedTuple):
    """A memory in the picture: columns ``first`` to ``last``, the row (0: next to the array)."""

    level: MemoryLevel
    first: int
    last: int
    row: int


def operand_columns(accelerator: Accelerator) -> tuple[MemoryOperand, ...]:
    """The memory operands, so that those that share memories stand side by side."""
    operands = accelerator.operands
    if len(operands) > _MOST_SORTED:
        return operands
    return min(permutations(operands), key=lambda order: _spread(accelerator, order))


def memory_places(
    accelerator: Accelerator, operands: tuple[MemoryOperand, ...]
) -> tuple[Place, ...]:
    """Where each memory stands: above all that its columns have so far."""
    free = [0] * len(operands)
    places: list[Place] = []
    for level in accelerator.memories:
        columns = [operands.index(operand) for operand in level.operands]
        first, last = min(columns), max(columns)
        row = max(free[first : last + 1])
        free[first : last + 1] = [row + 1] * (last + 1 - first)
        places.append(Place(level, first, last, row))
    return tuple(places)


def memory_lines(accelerator: Accelerator, level: MemoryLevel) -> Iterator[str]:
    """What is said of a memory below its name: what it holds, size, instances, ports."""
    instances = accelerator.instances_of(level)
    served = ", ".join(level.served_dimensions)
    shared = f"serves {served}" if served else "one for each unit"
    yield f"holds {', '.join(level.operands)}"
    yield f"{capacity(level.instance.size)} {TIMES} {count(instances)}, {shared}"
    ports = [port_text(port) for port in level.instance.ports]
    shown = ports if len(ports) <= _MOST_PORTS else ports[: _MOST_PORTS - 1]
    yield from shown
    if len(shown) < len(ports):
        yield f"{len(ports) - len(shown)} more ports"


def port_text(port: MemoryPort) -> str:
    """A port: kind, width, operands."""
    operands = ", ".join(dict.fromkeys(use.operand for use in port.allocation))
    return f"{port.kind.replace('_', '/')} {width_text(port)} bit/cycle: {operands}"


def width_text(port: MemoryPort) -> str:
    """The widths of a port: one, or from the smallest to the largest."""
    narrow, wide = port.width_min, port.width_max
    return count(wide) if narrow == wide else f"{count(narrow)} to {count(wide)}"


def path_width(level: MemoryLevel, operand: MemoryOperand) -> int | None:
    """Bit/cycle on the memory's side of the way of an operand to the array, or from there."""
    movement = Movement.WR_BY_LOW if operand == OUTPUT else Movement.RD_TO_LOW
    port = level.port_index(operand, movement)
    return None if port is None else level.instance.ports[port].width_max


def path_text(name: str, width: int | None) -> str:
    """The name of an operand, and how wide its way is."""
    return name if width is None else f"{name}: {count(width)} bit/cycle"


def _spread(accelerator: Accelerator, order: tuple[MemoryOperand, ...]) -> int:
    """Columns that memories span in all."""
    spans = ([order.index(operand) for operand in level.operands] for level in accelerator.memories)
    return sum(max(span) - min(span) for span in spans)
