"""Builders for multi-core accelerators: meshes, buses, point-to-point links."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import OUTPUT, MemoryOperand, Movement
from nestmap.model.errors import InputError
from nestmap.model.hardware.accelerator import Accelerator
from nestmap.model.hardware.memory import MemoryInstance, MemoryLevel, MemoryPort, PortKind, PortUse
from nestmap.model.multicore.accelerator import (
    Bus,
    ComputeCore,
    CoreId,
    Link,
    MultiCoreAccelerator,
    StorageCore,
)
from nestmap.model.units import Bits, PicoJoules, Width


class ChannelSpec(Frozen, frozen=True):
    """Bandwidth (bit/cycle; ``None``: no time) and energies of the links or the bus to build.

    Energies are in pJ per bit and per busy cycle.
    """

    bandwidth: Width | None = None
    energy_per_bit: PicoJoules = 0.0
    energy_per_cycle: PicoJoules = 0.0

    def link(self, sender: CoreId, receiver: CoreId) -> Link:
        """A link with this bandwidth and these energies."""
        return Link(
            sender=sender,
            receiver=receiver,
            bandwidth=self.bandwidth,
            energy_per_bit=self.energy_per_bit,
            energy_per_cycle=self.energy_per_cycle,
        )

    def links(self, pairs: Iterable[tuple[CoreId, CoreId]]) -> tuple[Link, ...]:
        """Links between pairs of cores, in both directions."""
        ends = ((a, b) for pair in pairs for a, b in (pair, pair[::-1]))
        return tuple(self.link(a, b) for a, b in ends)

    def bus(self, cores: Iterable[CoreId]) -> Bus:
        """A bus with this bandwidth and these energies."""
        return Bus(
            cores=tuple(cores),
            bandwidth=self.bandwidth,
            energy_per_bit=self.energy_per_bit,
            energy_per_cycle=self.energy_per_cycle,
        )


class OffChip(Frozen, frozen=True):
    """The off-chip core and its connection.

    ``linked`` are the ids of the cores with links to it, in both directions; none: it shares one
    bus with all cores.
    """

    core: StorageCore
    wires: ChannelSpec
    linked: tuple[CoreId, ...] = ()


class AttachedCore(Frozen, frozen=True):
    """A core linked to all cores of a mesh, such as a pooling or SIMD core."""

    core: ComputeCore
    wires: ChannelSpec


def number_cores(accelerators: Sequence[Accelerator], first: CoreId = 0) -> tuple[ComputeCore, ...]:
    """Compute cores made of single-core accelerators, with ids from ``first`` on.

    The outermost memory of each accelerator becomes the core's own, on the chip.
    """
    return tuple(ComputeCore(id=i, accelerator=x) for i, x in enumerate(accelerators, first))


def dram(
    number: CoreId,
    bandwidth: Width,
    energy_per_bit: PicoJoules,
    size: Bits = 10**10,
    operands: tuple[MemoryOperand, ...] = ("I1", "I2", OUTPUT),
) -> StorageCore:
    """An off-chip memory with one port that reads or writes ``bandwidth`` bit/cycle.

    ``size`` is in bits, ``energy_per_bit`` in pJ per bit read or written.
    """
    energy = bandwidth * energy_per_bit
    uses = (
        PortUse(operand=operand, movement=movement)
        for operand, movement in product(operands, Movement)
        if operand == OUTPUT or movement in (Movement.RD_TO_LOW, Movement.WR_BY_HIGH)
    )
    port = MemoryPort(
        name="rw_port_1",
        kind=PortKind.READ_WRITE,
        width_min=bandwidth,
        width_max=bandwidth,
        allocation=tuple(uses),
    )
    instance = MemoryInstance(
        name="dram", size=size, read_energy=energy, write_energy=energy, ports=(port,)
    )
    level = MemoryLevel(instance=instance, operands=operands)
    return StorageCore(id=number, name="dram", memories=(level,))


def mesh(
    name: str,
    cores: Sequence[ComputeCore],
    columns: int,
    wires: ChannelSpec,
    offchip: OffChip,
    beside: Sequence[AttachedCore] = (),
) -> MultiCoreAccelerator:
    """Cores in rows and columns, each linked to its neighbours in both directions.

    >>> from nestmap.pipeline.frontend.read.accelerator import read_multicore
    >>> tpu = read_multicore("quad_tpu").compute_cores[0]
    >>> cores = number_cores([tpu.accelerator] * 6)
    >>> far = OffChip(core=dram(6, 64, 15.0), wires=ChannelSpec(bandwidth=64))
    >>> made = mesh("six", cores, 3, ChannelSpec(bandwidth=32), far)
    >>> len(made.links), made.core(4).coordinates
    (14, (1, 1))

    Args:
        name: the name in reports.
        cores: row by row, from the top.
        columns: the number of cores per row.
        wires: the links between neighbours.
        offchip: the off-chip core.
        beside: cores linked to every core of the mesh.

    Raises:
        InputError: if the cores do not fill all rows.
    """
    if columns < 1 or not cores or len(cores) % columns:
        found = f"{len(cores)} cores in rows of {columns}"
        raise InputError(f"mesh {name!r}", found, "one core or more, in rows that are all full")
    placed = [_with_coordinates(core, divmod(i, columns)) for i, core in enumerate(cores)]
    numbers = [core.id for core in placed]
    around = [link for x in beside for link in x.wires.links((n, x.core.id) for n in numbers)]
    links = (*wires.links(neighbour_pairs(numbers, columns)), *around)
    return _with_offchip(name, (*placed, *(x.core for x in beside)), links, offchip)


def _with_coordinates(core: ComputeCore, place: tuple[int, int]) -> ComputeCore:
    """The core at the coordinates of ``place`` (row, column), unless it already has coordinates."""
    return core if core.coordinates else copy_with(core, {"coordinates": place[::-1]})


def neighbour_pairs(numbers: Sequence[CoreId], columns: int) -> Iterator[tuple[CoreId, CoreId]]:
    """The pairs of neighbors among cores in rows of ``columns``; the last row may be shorter."""
    for i, number in enumerate(numbers):
        if (i + 1) % columns and i + 1 < len(numbers):
            yield number, numbers[i + 1]
        if i + columns < len(numbers):
            yield number, numbers[i + columns]


def bus(
    name: str, cores: Sequence[ComputeCore], wires: ChannelSpec, offchip: StorageCore
) -> MultiCoreAccelerator:
    """Cores and the off-chip core on a single bus."""
    return _with_offchip(name, tuple(cores), (), OffChip(core=offchip, wires=wires))


def point_to_point(
    name: str,
    cores: Sequence[ComputeCore],
    pairs: Iterable[tuple[CoreId, CoreId]],
    wires: ChannelSpec,
    offchip: OffChip,
) -> MultiCoreAccelerator:
    """Cores with links between the given pairs, in both directions."""
    return _with_offchip(name, tuple(cores), wires.links(pairs), offchip)


def _with_offchip(
    name: str, cores: tuple[ComputeCore, ...], links: tuple[Link, ...], offchip: OffChip
) -> MultiCoreAccelerator:
    number = offchip.core.id
    ways = offchip.wires.links((number, core) for core in offchip.linked)
    all_cores: tuple[ComputeCore | StorageCore, ...] = (*cores, offchip.core)
    return MultiCoreAccelerator(
        name=name,
        cores=all_cores,
        offchip=number,
        links=(*links, *ways),
        buses=() if offchip.linked else (offchip.wires.bus(core.id for core in all_cores),),
    )
