"""Small cores to build accelerators of."""

from nestmap.model import (
    Accelerator,
    ArraySide,
    ComputeCore,
    Link,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    MultiCoreAccelerator,
    OperationalArray,
    PortKind,
    PortUse,
    StorageCore,
)
from nestmap.model.multicore.builders import ChannelSpec, dram


def buffer(
    name: str = "buffer",
    size: int = 4096,
    operands: tuple[str, ...] = ("I1", "I2", "O"),
    width: int = 64,
) -> MemoryLevel:
    """A memory for everything, or for some operands."""
    uses = tuple(PortUse(operand=x, movement=m) for x in operands for m in Movement)
    port = MemoryPort(
        name="rw", kind=PortKind.READ_WRITE, width_min=8, width_max=width, allocation=uses
    )
    instance = MemoryInstance(
        name=name, size=size, read_energy=1.0, write_energy=1.0, ports=(port,)
    )
    return MemoryLevel(instance=instance, operands=operands)


def core(
    number: int, operators: tuple[str, ...] = (), memory: MemoryLevel | None = None
) -> ComputeCore:
    """A core of 4 x 2 units on one memory."""
    sides = (ArraySide(name="D1", size=4), ArraySide(name="D2", size=2))
    accelerator = Accelerator(
        name=f"core{number}",
        array=OperationalArray(sides=sides, unit_energy=0.5),
        memories=(memory or buffer(),),
    )
    return ComputeCore(id=number, accelerator=accelerator, operators=operators)


def far(number: int) -> StorageCore:
    """A core off the chip."""
    return dram(number, 64, 15.0)


def star(*cores: ComputeCore, offchip: int = 9) -> MultiCoreAccelerator:
    """Cores that are linked to the one off the chip only."""
    return MultiCoreAccelerator(
        name="star",
        cores=(*cores, far(offchip)),
        offchip=offchip,
        links=ChannelSpec(bandwidth=32).links((x.id, offchip) for x in cores),
    )


def ends(links: tuple[Link, ...]) -> list[tuple[int, int]]:
    """From where to where links go, in order."""
    return sorted((link.sender, link.receiver) for link in links)
