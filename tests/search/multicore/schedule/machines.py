"""Random small accelerators of several cores, made by Hypothesis: memories, wires, sharing."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st

from nestmap.model import (
    Accelerator,
    ArraySide,
    Bus,
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
from nestmap.model.base import copy_with
from nestmap.model.dims import MemoryOperand

LARGE = 10**9
"""Bits that hold anything."""

Layout = tuple[tuple[MemoryOperand, ...], ...]
"""Which memory operands lie together in an outermost memory."""

LAYOUTS: tuple[Layout, ...] = (
    (("I1", "I2", "O"),),
    (("I1", "I2", "O"),),
    (("I1", "O"), ("I2",)),
    (("I1", "I2"), ("O",)),
    (("I2", "O"), ("I1",)),
    (("I1",), ("I2",), ("O",)),
)

WIDTHS = (1, 3, 8, 8, 32, 64, 200, None)
ENERGIES = (0.0, 0.25, 1.0, 3.0)


class Costs(NamedTuple):
    """What a wire costs."""

    bandwidth: int | None
    energy_per_bit: float
    energy_per_cycle: float


def memory(
    name: str,
    operands: Sequence[MemoryOperand],
    size: int = LARGE,
    widths: tuple[int, int] = (8, 8),
) -> MemoryLevel:
    """A memory with a port that reads and one that writes, of these widths."""
    ports = tuple(
        MemoryPort(
            name=f"{kind}_port",
            kind=kind,
            width_min=1,
            width_max=width,
            allocation=tuple(
                PortUse(operand=x, movement=m)
                for x in operands
                for m in Movement
                if m.reads == (kind is PortKind.READ)
            ),
        )
        for kind, width in zip((PortKind.READ, PortKind.WRITE), widths, strict=True)
    )
    instance = MemoryInstance(name=name, size=size, read_energy=2.0, write_energy=3.0, ports=ports)
    return MemoryLevel(instance=instance, operands=tuple(operands), served_dimensions=("D1",))


def compute(
    number: int, levels: Sequence[MemoryLevel], operators: tuple[str, ...] = ()
) -> ComputeCore:
    """A core of two units on these memories."""
    accelerator = Accelerator(
        name=f"core{number}",
        array=OperationalArray(sides=(ArraySide(name="D1", size=2),), unit_energy=0.5),
        memories=tuple(levels),
    )
    return ComputeCore(id=number, accelerator=accelerator, operators=operators)


def resized(
    accelerator: MultiCoreAccelerator, sizes: Mapping[tuple[int, str], int]
) -> MultiCoreAccelerator:
    """The accelerator with other sizes of memories, by the number of a core and their names."""
    cores: list[ComputeCore | StorageCore] = []
    for core in accelerator.cores:
        levels = core.memories if isinstance(core, StorageCore) else core.accelerator.memories
        memories = tuple(
            _sized(level, sizes.get((core.id, level.name), level.instance.size)) for level in levels
        )
        if isinstance(core, StorageCore):
            cores.append(copy_with(core, {"memories": memories}))
        else:
            inner = copy_with(core.accelerator, {"memories": memories})
            cores.append(copy_with(core, {"accelerator": inner}))
    return copy_with(accelerator, {"cores": tuple(cores)})


def _sized(level: MemoryLevel, size: int) -> MemoryLevel:
    return copy_with(level, {"instance": copy_with(level.instance, {"size": size})})


def immediate(accelerator: MultiCoreAccelerator) -> MultiCoreAccelerator:
    """The accelerator with wires that take no time."""
    links = tuple(copy_with(x, {"bandwidth": None}) for x in accelerator.links)
    buses = tuple(copy_with(x, {"bandwidth": None}) for x in accelerator.buses)
    return copy_with(accelerator, {"links": links, "buses": buses})


@st.composite
def _levels(draw: st.DrawFn, layout: Layout) -> tuple[MemoryLevel, ...]:
    widths = st.sampled_from((1, 8, 24, 64))
    return tuple(
        memory(f"m{place}", operands, widths=(draw(widths), draw(widths)))
        for place, operands in enumerate(layout)
    )


@st.composite
def _costs(draw: st.DrawFn) -> Costs:
    energies = st.sampled_from(ENERGIES)
    return Costs(draw(st.sampled_from(WIDTHS)), draw(energies), draw(energies))


def link(ends: tuple[int, int], costs: Costs) -> Link:
    return Link(sender=ends[0], receiver=ends[1], **costs._asdict())


def wired_bus(cores: Sequence[int], costs: Costs, senders: tuple[int, ...] = ()) -> Bus:
    return Bus(cores=tuple(cores), senders=senders, **costs._asdict())


class Wiring(NamedTuple):
    """The ways between cores."""

    links: tuple[Link, ...] = ()
    buses: tuple[Bus, ...] = ()


@st.composite
def _offchip_ways(draw: st.DrawFn, near: Sequence[int], off: int) -> Wiring:
    """Ways between some cores and the one off the chip, as narrow as may be in a direction."""
    out, back = draw(_costs()), draw(_costs())
    match draw(st.sampled_from(["links", "bus", "two buses"])):
        case "links":
            ways = [link((off, core), out) for core in near]
            return Wiring(links=(*ways, *(link((core, off), back) for core in near)))
        case "bus":
            return Wiring(buses=(wired_bus((*near, off), out),))
        case _:
            read = wired_bus((off, *near), out, (off,))
            return Wiring(buses=(read, wired_bus((*near, off), back, tuple(near))))


@st.composite
def _between(draw: st.DrawFn, cores: Sequence[int]) -> Wiring:
    """Ways between the cores on the chip: none, a bus, a chain, or some links of one direction."""
    match draw(st.sampled_from(["none", "bus", "chain", "some"])):
        case "bus" if len(cores) > 1:
            return Wiring(buses=(wired_bus(cores, draw(_costs())),))
        case "chain":
            ends = [x for a, b in pairwise(cores) for x in ((a, b), (b, a))]
            return Wiring(links=tuple(link(x, draw(_costs())) for x in ends))
        case "some" if len(cores) > 1:
            pairs = [(a, b) for a in cores for b in cores if a != b]
            chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4))
            return Wiring(links=tuple(link(x, draw(_costs())) for x in chosen))
        case _:
            return Wiring()


@st.composite
def machines(draw: st.DrawFn, layouts: Sequence[Layout] = LAYOUTS) -> MultiCoreAccelerator:
    """One to four cores that compute, with memories for anything, and one off the chip.

    Sometimes two of them share memories, and sometimes only one of a chain is next to the core off
    the chip, which may have several memories itself.
    """
    count = draw(st.integers(1, 4))
    first = draw(st.integers(0, 1))
    numbers = list(range(first, first + count))
    off = draw(st.sampled_from([first + count, 17] if not first else [0, 17]))
    shared = draw(st.booleans()) and count > 1
    alike = draw(_levels(draw(st.sampled_from(layouts))))
    cores = [
        compute(n, alike if shared and i < 2 else draw(_levels(draw(st.sampled_from(layouts)))))
        for i, n in enumerate(numbers)
    ]
    layout = draw(st.sampled_from((*LAYOUTS[:2], *LAYOUTS[:2], *LAYOUTS)))
    far = StorageCore(id=off, name="dram", memories=draw(_levels(layout)))
    between = draw(_between(numbers))
    chained = draw(st.booleans()) and _is_chain(between, numbers)
    outside = draw(_offchip_ways(numbers[-1:] if chained else numbers, off))
    return MultiCoreAccelerator(
        name="random",
        cores=(*cores, far),
        offchip=off,
        links=(*between.links, *outside.links),
        buses=(*between.buses, *outside.buses),
        shared=((numbers[0], numbers[1]),) if shared else (),
    )


def _is_chain(ways: Wiring, cores: Sequence[int]) -> bool:
    """Whether all cores can be reached from the last one and reach it."""
    there = {(x.sender, x.receiver) for x in ways.links}
    return bool(ways.buses) or all((a, b) in there and (b, a) in there for a, b in pairwise(cores))
