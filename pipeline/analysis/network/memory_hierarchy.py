"""Places the memories of an accelerator in a drawing and describes them."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations
from typing import Final, NamedTuple

from nestmap.model import (
    OUTPUT,
    Accelerator,
    CostModelEvaluation,
    MemoryLevel,
    MemoryPort,
    Movement,
)
from nestmap.model.dims import LayerOperand, MemoryOperand
from nestmap.model.mapping.problem import DEFAULT_LINKS
from nestmap.pipeline.format.numbers import TIMES, capacity, count

_MOST_SORTED: Final = 5
"""Up to this number of operands, all column orders are tried."""

_MOST_PORTS: Final = 8


OperandNames = Mapping[MemoryOperand, str]
"""The operands of layers that each memory operand carries; the memory operand if it has none."""


class Place(NamedTuple):
    """A memory in the drawing: columns ``first`` to ``last``, row (0: next to the array)."""

    level: MemoryLevel
    first: int
    last: int
    row: int


def operand_names(
    accelerator: Accelerator, cmes: Iterable[CostModelEvaluation] = ()
) -> OperandNames:
    """The operands of layers that each memory operand carries: in these evaluations, or usually."""
    carried: dict[MemoryOperand, dict[LayerOperand, None]] = {}
    for cme in cmes:
        for link in cme.links:
            carried.setdefault(link.memory_operand, {})[link.operand] = None
    usual = {memory_operand: operand for operand, memory_operand in DEFAULT_LINKS.items()}
    return {
        name: "/".join(carried.get(name, ())) or usual.get(name, name)
        for name in accelerator.operands
    }


def operand_columns(accelerator: Accelerator) -> tuple[MemoryOperand, ...]:
    """The memory operands, ordered so that operands that share memories are adjacent."""
    operands = accelerator.operands
    if len(operands) > _MOST_SORTED:
        return operands
    return min(permutations(operands), key=lambda order: _spread(accelerator, order))


def memory_places(
    accelerator: Accelerator, operands: tuple[MemoryOperand, ...]
) -> tuple[Place, ...]:
    """The position of each memory: above all memories placed so far in its columns."""
    free = [0] * len(operands)
    places: list[Place] = []
    for level in accelerator.memories:
        columns = [operands.index(operand) for operand in level.operands]
        first, last = min(columns), max(columns)
        row = max(free[first : last + 1])
        free[first : last + 1] = [row + 1] * (last + 1 - first)
        places.append(Place(level, first, last, row))
    return tuple(places)


def memory_lines(
    accelerator: Accelerator, level: MemoryLevel, names: OperandNames
) -> Iterator[str]:
    """The text below a memory's name: operands, size, instances, ports."""
    instances = accelerator.instances_of(level)
    served = ", ".join(level.served_dimensions)
    shared = f"serves {served}" if served else "one for each unit"
    yield f"holds {', '.join(names[operand] for operand in level.operands)}"
    yield f"{capacity(level.instance.size)} {TIMES} {count(instances)}, {shared}"
    ports = [port_text(port, names) for port in level.instance.ports]
    shown = ports if len(ports) <= _MOST_PORTS else ports[: _MOST_PORTS - 1]
    yield from shown
    if len(shown) < len(ports):
        yield f"{len(ports) - len(shown)} more ports"


def port_text(port: MemoryPort, names: OperandNames) -> str:
    """A port: kind, width, operands."""
    operands = ", ".join(dict.fromkeys(names[use.operand] for use in port.allocation))
    return f"{port.kind.replace('_', '/')} {width_text(port)} bit/cycle: {operands}"


def width_text(port: MemoryPort) -> str:
    """The widths of a port: one, or from the smallest to the largest."""
    narrow, wide = port.width_min, port.width_max
    return count(wide) if narrow == wide else f"{count(narrow)} to {count(wide)}"


def path_width(level: MemoryLevel, operand: MemoryOperand) -> int | None:
    """The bit/cycle of an operand's path at the memory, towards the array or from it."""
    movement = Movement.WR_BY_LOW if operand == OUTPUT else Movement.RD_TO_LOW
    port = level.port_index(operand, movement)
    return None if port is None else level.instance.ports[port].width_max


def path_text(name: str, width: int | None) -> str:
    """The name of an operand and the width of its path."""
    return name if width is None else f"{name}: {count(width)} bit/cycle"


def _spread(accelerator: Accelerator, order: tuple[MemoryOperand, ...]) -> int:
    """The total number of columns that memories span."""
    spans = ([order.index(operand) for operand in level.operands] for level in accelerator.memories)
    return sum(max(span) - min(span) for span in spans)
