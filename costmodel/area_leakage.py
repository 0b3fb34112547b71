"""Properties of an accelerator that do not depend on the workload: area, clock period, leakage."""

from collections.abc import Sequence

from nestmap.costmodel.imc.array import array_areas, clock_period
from nestmap.model import Accelerator, MemoryLevel, PartArea, PartKind, StaticEnergy

ARRAY = "array"
"""The only component of an array that does not compute in memory."""

UNUSED = "unused memories"
"""Memories that a layer does not use because its data stays below them."""


def areas_of(accelerator: Accelerator) -> tuple[PartArea, ...]:
    """The area of the array, of each memory (all instances of it) and of the vector unit.

    The cells of an IMC array are a component of the array.
    """
    array = accelerator.array
    units = (
        array_areas(accelerator)
        if array.imc
        else (PartArea(part=ARRAY, area=array.units * array.unit_area),)
    )
    memories = (_memory_area(accelerator, level) for level in _memories_outside_array(accelerator))
    return (*units, *memories, *_vector_area(accelerator))


def _vector_area(accelerator: Accelerator) -> tuple[PartArea, ...]:
    unit, kind = accelerator.vector_unit, PartKind.VECTOR_UNIT
    return (PartArea(part="vector unit", area=unit.area, kind=kind),) if unit else ()


def _memory_area(accelerator: Accelerator, level: MemoryLevel) -> PartArea:
    area = level.instance.area * accelerator.instances_of(level)
    return PartArea(part=level.name, area=area, kind=PartKind.MEMORY)


def _memories_outside_array(accelerator: Accelerator) -> list[MemoryLevel]:
    """The memories outside the array."""
    inside = accelerator.array.imc is not None
    return [level for level in accelerator.memories if not (inside and level is accelerator.cells)]


def total_area(accelerator: Accelerator) -> float:
    """The area of all components."""
    return sum_areas(areas_of(accelerator))


def sum_areas(areas: Sequence[PartArea]) -> float:
    """The sum of areas: array, then memories, then vector unit."""
    sums = (sum((x.area for x in areas if x.kind is kind), 0.0) for kind in PartKind)
    return sum(sums)


def clock_period_of(accelerator: Accelerator) -> float | None:
    """The clock period in ns: from the circuits of an IMC array, else from the description."""
    return clock_period(accelerator) if accelerator.array.imc else accelerator.array.clock_period


def static_energies(accelerator: Accelerator, cycles: float) -> tuple[StaticEnergy, ...]:
    """The leakage energy of so many cycles; zero if the accelerator does not model it."""
    period = clock_period_of(accelerator)
    if not accelerator.counts_leakage or period is None:
        return ()
    array = accelerator.array
    parts = [(ARRAY, array.unit_leakage * array.units, PartKind.ARRAY)]
    for level in accelerator.memories:
        power = level.instance.leakage * accelerator.instances_of(level)
        parts.append((level.name, power, PartKind.MEMORY))
    if accelerator.unused_leakage:
        parts.append((UNUSED, accelerator.unused_leakage, PartKind.MEMORY))
    return tuple(
        StaticEnergy(part=part, power=power, energy=power * period * cycles, kind=kind)
        for part, power, kind in parts
    )


def leakage_of(accelerator: Accelerator) -> float:
    """The leakage energy per cycle in pJ; 0 if the accelerator does not model it."""
    period = clock_period_of(accelerator)
    power = sum((entry.power for entry in static_energies(accelerator, 0.0)), 0.0)
    return power * period if period is not None else 0.0
