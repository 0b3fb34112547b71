"""The area of an accelerator with several cores, and of each of its cores."""

from collections.abc import Collection

from nestmap.costmodel.area_leakage import areas_of, sum_areas
from nestmap.model import PartKind
from nestmap.model.multicore.accelerator import (
    ComputeCore,
    CoreId,
    MultiCoreAccelerator,
    StorageCore,
)
from nestmap.model.multicore.top_memories import TopMemories


def chip_area(machine: MultiCoreAccelerator) -> float:
    """The area of all cores, each shared memory counted once; without the off-chip core."""
    counted = _counted_before(machine)
    return sum(
        core_area(core, counted.get(core.id, ()))
        for core in machine.cores
        if core.id != machine.offchip
    )


def core_area(core: ComputeCore | StorageCore, without: Collection[str] = ()) -> float:
    """The area of a core, without the memories of these names."""
    if isinstance(core, StorageCore):
        levels = (x for x in core.memories if x.name not in without)
        return sum((level.instance.area for level in levels), 0.0)
    areas = areas_of(core.accelerator)
    return sum_areas([x for x in areas if x.kind is not PartKind.MEMORY or x.part not in without])


def _counted_before(machine: MultiCoreAccelerator) -> dict[CoreId, set[str]]:
    """The memories that each core shares with one before it."""
    found: dict[CoreId, set[str]] = {}
    for memory in TopMemories(accelerator=machine).memories:
        for number in memory.cores[1:]:
            found.setdefault(number, set()).add(memory.name)
    return found
