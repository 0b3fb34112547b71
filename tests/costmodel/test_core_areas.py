"""The area of several cores counts what is on the chip, and a shared memory once."""

from nestmap.costmodel.area_leakage import total_area
from nestmap.costmodel.core_areas import chip_area, core_area
from nestmap.model.base import copy_with
from nestmap.model.hardware.memory import MemoryLevel
from nestmap.model.multicore.accelerator import ComputeCore, StorageCore
from tests.model.multicore.cores import buffer, core, far, star


def sized(level: MemoryLevel, area: float) -> MemoryLevel:
    return copy_with(level, {"instance": copy_with(level.instance, {"area": area})})


def computing(number: int, area: float) -> ComputeCore:
    """A core of eight units of area 0.5, each with a memory of that area."""
    made = core(number, memory=sized(buffer(), area))
    array = copy_with(made.accelerator.array, {"unit_area": 0.5})
    return copy_with(made, {"accelerator": copy_with(made.accelerator, {"array": array})})


def test_the_area_is_that_of_all_cores_on_the_chip() -> None:
    machine = star(computing(0, 3.0), computing(1, 4.0))
    assert chip_area(machine) == (4 + 8 * 3) + (4 + 8 * 4)
    assert chip_area(machine) == sum(total_area(x.accelerator) for x in machine.compute_cores)


def test_a_shared_memory_counts_once() -> None:
    machine = copy_with(star(computing(0, 3.0), computing(1, 3.0)), {"shared": ((0, 1),)})
    assert chip_area(machine) == (4 + 8 * 3) + 4
    assert core_area(machine.core(1)) == 4 + 8 * 3


def test_storage_cores_on_the_chip_count_and_the_one_off_the_chip_does_not() -> None:
    storing = StorageCore(id=1, name="l2", memories=(sized(buffer(), 2.5),))
    outside = copy_with(far(9), {"memories": (sized(far(9).memories[0], 100.0),)})
    machine = star(computing(0, 3.0))
    links = tuple(
        copy_with(x, {"sender": y, "receiver": z})
        for x, (y, z) in zip(machine.links, ((1, 9), (9, 1)), strict=True)
    )
    machine = copy_with(
        machine, {"cores": (computing(0, 3.0), storing, outside), "links": (*machine.links, *links)}
    )
    assert chip_area(machine) == (4 + 8 * 3) + 2.5
