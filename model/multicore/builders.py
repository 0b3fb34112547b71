"""Accelerators of several cores in a line of Python: meshes, buses and links one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from nestmap.model.base import Frozen, replaced
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


class Wires(Frozen, frozen=True):
    """What a link or a bus can do: bit/cycle (``None``: it takes no time), and its energies.

    Energies are pJ for a bit that passes and for a cycle in which something does.
    """

    bandwidth: Width | None = None
    energy_per_bit: PicoJoules = 0.0
    energy_per_cycle: PicoJoules = 0.0

    def link(self, sender: CoreId, receiver: CoreId) -> Link:
        """A link of these wires."""
        return Link(
            sender=sender,
            receiver=receiver,
            bandwidth=self.bandwidth,
            energy_per_bit=self.energy_per_bit,
            energy_per_cycle=self.energy_per_cycle,
        )

    def links(self, pairs: Iterable[tuple[CoreId, CoreId]]) -> tuple[Link, ...]:
        """Links of these wires between pairs of cores, in both directions."""
        ends = ((a, b) for pair in pairs for a, b in (pair, pair[::-1]))
        return tuple(self.link(a, b) for a, b in ends)

    def bus(self, cores: Iterable[CoreId]) -> Bus:
        """A bus of these wires."""
        return Bus(
            cores=tuple(cores),
            bandwidth=self.bandwidth,
            energy_per_bit=self.energy_per_bit,
            energy_per_cycle=self.energy_per_cycle,
        )


class OffChip(Frozen, frozen=True):
    """The core off the chip and the way to it.

    ``linked`` are the cores that have links to it, in both directions; none: it is on one bus with
    all others.
    """

    core: StorageCore
    wires: Wires
    linked: tuple[CoreId, ...] = ()


class Beside(Frozen, frozen=True):
    """A core that is linked to all cores of a mesh, as those for pooling and SIMD are."""

    core: ComputeCore
    wires: Wires


def numbered(accelerators: Sequence[Accelerator], first: CoreId = 0) -> tuple[ComputeCore, ...]:
    """Cores out of single-core accelerators, numbered from ``first`` on.

    The outermost memory of such an accelerator is one of the core's own, on the chip.
    """
    return tuple(ComputeCore(id=i, accelerator=x) for i, x in enumerate(accelerators, first))


def dram(
    number: CoreId,
    bandwidth: Width,
    energy_per_bit: PicoJoules,
    size: Bits = 10**10,
    operands: tuple[MemoryOperand, ...] = ("I1", "I2", OUTPUT),
) -> StorageCore:
    """A memory off the chip with one port that reads or writes ``bandwidth`` bit/cycle.

    ``size`` is in bits, ``energy_per_bit`` in pJ for a bit that is read or written.
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
    wires: Wires,
    offchip: OffChip,
    beside: Sequence[Beside] = (),
) -> MultiCoreAccelerator:
    """Cores in rows and columns, each linked to its neighbours in both directions.

    >>> from nestmap.pipeline.frontend.read import read_multicore
    >>> tpu = read_multicore("quad_tpu").compute_cores[0]
    >>> cores = numbered([tpu.accelerator] * 6)
    >>> far = OffChip(core=dram(6, 64, 15.0), wires=Wires(bandwidth=64))
    >>> made = mesh("six", cores, 3, Wires(bandwidth=32), far)
    >>> len(made.links), made.core(4).coordinates
    (14, (1, 1))

    Args:
        name: how reports call it.
        cores: row by row, from the top.
        columns: cores of a row.
        wires: between neighbours.
        offchip: the core off the chip.
        beside: cores that are linked to every core of the mesh.

    Raises:
        InputError: where the cores do not fill rows.
    """
    if columns < 1 or not cores or len(cores) % columns:
        found = f"{len(cores)} cores in rows of {columns}"
        raise InputError(f"mesh {name!r}", found, "one core or more, in rows that are all full")
    placed = [_placed(core, divmod(i, columns)) for i, core in enumerate(cores)]
    numbers = [core.id for core in placed]
    around = [link for x in beside for link in x.wires.links((n, x.core.id) for n in numbers)]
    links = (*wires.links(_neighbours(numbers, columns)), *around)
    return _with_offchip(name, (*placed, *(x.core for x in beside)), links, offchip)


def _placed(core: ComputeCore, place: tuple[int, int]) -> ComputeCore:
    """The core with the coordinates of its place (row and column), unless it has others."""
    return core if core.coordinates else replaced(core, {"coordinates": place[::-1]})


def _neighbours(numbers: Sequence[CoreId], columns: int) -> Iterator[tuple[CoreId, CoreId]]:
    for i, number in enumerate(numbers):
        if (i + 1) % columns:
            yield number, numbers[i + 1]
        if i + columns < len(numbers):
            yield number, numbers[i + columns]


def bus(
    name: str, cores: Sequence[ComputeCore], wires: Wires, offchip: StorageCore
) -> MultiCoreAccelerator:
    """Cores and the one off the chip on a single bus."""
    return _with_offchip(name, tuple(cores), (), OffChip(core=offchip, wires=wires))


def point_to_point(
    name: str,
    cores: Sequence[ComputeCore],
    pairs: Iterable[tuple[CoreId, CoreId]],
    wires: Wires,
    offchip: OffChip,
) -> MultiCoreAccelerator:
    """Cores with links between pairs of them, in both directions."""
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
