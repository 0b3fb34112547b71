"""Off-chip memory from the view of a core, for operands that its own memories cannot hold."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    PortKind,
    PortUse,
    needed_movements,
)
from nestmap.model.base import Frozen, copy_with
from nestmap.model.dims import MemoryOperand
from nestmap.model.multicore.accelerator import CoreId, MultiCoreAccelerator, StorageCore
from nestmap.model.multicore.interconnect import ChannelPath, Interconnect
from nestmap.model.units import Bits, Cycles, PicoJoules, Width

_READING, _WRITING = Movement.RD_TO_LOW, Movement.WR_BY_LOW


class OffChip(Frozen, frozen=True):
    """The off-chip memories, and the narrowest channels to a core and back (bit/cycle).

    ``None``: no channel limits the bandwidth. With ``common``, reads and writes share a channel.
    """

    memories: tuple[MemoryLevel, ...]
    down: Width | None = None
    up: Width | None = None
    common: bool = False

    def levels(
        self, accelerator: Accelerator, operands: Sequence[MemoryOperand]
    ) -> tuple[MemoryLevel, ...]:
        """The levels above a core's own memories that hold these operands.

        A level compresses what the memory does. It has one read and one write port, or one port for
        both if they share a port or a channel. Its width is at most that of the widest port and of
        the channels on the route. Energies are per access of the full width, with the same energy
        per bit as before.
        """
        parts: dict[str, list[MemoryOperand]] = {}
        for operand in operands:
            parts.setdefault(self._memory(operand).name, []).append(operand)
        taken = {level.name for level in accelerator.memories}
        sides = tuple(side.name for side in accelerator.array.sides)
        return tuple(
            MemoryLevel(
                instance=_renamed(self._instance(self._memory(held[0]), held), taken),
                operands=tuple(held),
                served_dimensions=sides,
                compression=tuple(
                    x for x in self._memory(held[0]).compression if x.operand in held
                ),
            )
            for held in parts.values()
        )

    def _memory(self, operand: MemoryOperand) -> MemoryLevel:
        """The memory of an operand; for an operand it does not list, the first memory."""
        known = (level for level in self.memories if operand in level.operands)
        return next(known, self.memories[0])

    def _instance(self, level: MemoryLevel, operands: Sequence[MemoryOperand]) -> MemoryInstance:
        reading, writing = _port(level, _READING), _port(level, _WRITING)
        read = min(reading.width_max, self.down or reading.width_max)
        written = min(writing.width_max, self.up or writing.width_max)
        if reading == writing or self.common:
            read = written = min(read, written)
            wanted = {PortKind.READ_WRITE: read}
        else:
            wanted = {PortKind.READ: read, PortKind.WRITE: written}
        ports = (
            MemoryPort(
                name=f"{kind}_port",
                kind=kind,
                width_min=min(width, reading.width_min),
                width_max=width,
                allocation=tuple(_uses(operands, kind)),
            )
            for kind, width in wanted.items()
        )
        return copy_with(
            level.instance,
            {
                "area": 0.0,  # its area is not part of the core
                "leakage": 0.0,
                "ports": tuple(ports),
                "read_energy": level.instance.read_energy * read / reading.width_max,
                "write_energy": level.instance.write_energy * written / writing.width_max,
            },
        )


def _port(level: MemoryLevel, movement: Movement) -> MemoryPort:
    """The widest port that allows the movement."""
    ports = level.instance.ports
    able = [port for port in ports if port.kind.carries(movement)]
    return max(able or ports, key=lambda port: port.width_max)


def _uses(operands: Sequence[MemoryOperand], kind: PortKind) -> Iterator[PortUse]:
    for operand in operands:
        for movement in needed_movements(operand, is_top=True):
            if kind.carries(movement):
                yield PortUse(operand=operand, movement=movement)


def _renamed(instance: MemoryInstance, taken: set[str]) -> MemoryInstance:
    """The memory with a name that the core does not use yet."""
    name = instance.name
    while name in taken:
        name = f"offchip_{name}"
    return instance if name == instance.name else copy_with(instance, {"name": name})


def offchip_of(
    accelerator: MultiCoreAccelerator, ways: Interconnect, core: CoreId, *, narrowed: bool
) -> OffChip:
    """Off-chip memory from the view of a core; if not ``narrowed``, regardless of the channels."""
    storage = accelerator.core(accelerator.offchip)
    assert isinstance(storage, StorageCore), "the accelerator's constructor demands it"
    if not narrowed:
        return OffChip(memories=storage.memories)
    down, up = ways.path(storage.id, core), ways.path(core, storage.id)
    return OffChip(
        memories=storage.memories,
        down=_narrowest(ways, down),
        up=_narrowest(ways, up),
        common=not set(down).isdisjoint(up),
    )


def _narrowest(ways: Interconnect, path: ChannelPath) -> Width | None:
    widths = (ways.channels[wire].bandwidth for wire in path)
    return min((width for width in widths if width is not None), default=None)


def with_offchip_level(
    accelerator: Accelerator,
    streamed: Sequence[MemoryOperand],
    offchip: OffChip,
    reserved: Mapping[str, Bits],
) -> Accelerator:
    """The accelerator with off-chip memory as the outermost level of the streamed operands.

    ``reserved`` are bits of its memories, by name, that the layer itself does not account for.
    """
    if not streamed:
        return accelerator
    own = (_smaller(level, reserved.get(level.name, 0)) for level in accelerator.memories)
    above = offchip.levels(accelerator, streamed)
    return copy_with(accelerator, {"memories": (*own, *above)})


def _smaller(level: MemoryLevel, bits: Bits) -> MemoryLevel:
    if not bits:
        return level
    size = max(1, level.instance.size - bits)
    return copy_with(level, {"instance": copy_with(level.instance, {"size": size})})


class OffChipTraffic(Frozen, frozen=True):
    """The traffic between a core and off-chip memory: energy there in pJ, rates in bit/cycle."""

    energy: PicoJoules
    read_rate: Bits
    write_rate: Bits


def traffic(
    cme: CostModelEvaluation, levels: Sequence[MemoryLevel], runtime: Cycles
) -> OffChipTraffic:
    """The traffic of a mapping between a core and these levels while it runs.

    Rates are rounded up and limited by the widths of the ports: output that is written after the
    node has ended does not increase the rate.
    """
    names = {level.name: level for level in levels}
    entries = [entry for entry in cme.levels if entry.memory in names]
    rates: dict[Movement, int] = {}
    for movement in (_READING, _WRITING):
        widths = {name: _port(level, movement).width_max for name, level in names.items()}
        bits = sum(x.costs.accesses_of(movement) * widths[x.memory] for x in entries)
        most = sum(widths.values())
        rates[movement] = min(ceil(bits / max(1, runtime)), most)
    return OffChipTraffic(
        energy=sum((x.costs.energy for x in entries), 0.0),
        read_rate=rates[_READING],
        write_rate=rates[_WRITING],
    )
