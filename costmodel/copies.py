"""Copies of data between memories, before the loops of a layer begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from nestmap.model import MemoryLevel, MemoryPort, Movement
from nestmap.model.dims import MemoryOperand
from nestmap.model.units import Bits, Count, Cycles, PicoJoules


@final
@dataclass(frozen=True, slots=True)
class Access:
    """Words that one movement takes at a memory, and their energy."""

    memory: str
    movement: Movement
    words: Count
    energy: PicoJoules


@final
@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of data from an outer memory to an inner one: accesses on the way, and cycles."""

    accesses: tuple[Access, ...]
    cycles: Cycles

    @property
    def energy(self) -> PicoJoules:
        """The energy of all accesses."""
        return sum((access.energy for access in self.accesses), 0.0)


def copy_inward(levels: Sequence[MemoryLevel], operand: MemoryOperand, bits: Bits) -> Copy:
    """A copy of so many bits of an operand from the last of these levels to the first.

    It passes through all levels in between. At both ends of a link the data takes words of
    ``width_min``, each of them a part of an access of ``width_max``, as the transfers of a layer
    do; the link is busy as long as the slower end. Compression is not counted.

    Formula: docs/cost-model.md#word-accesses
    """
    accesses: list[Access] = []
    cycles = 0
    for low, high in zip(levels[-2::-1], levels[:0:-1], strict=True):
        reads, writes = (
            _port(high, operand, Movement.RD_TO_LOW),
            _port(low, operand, Movement.WR_BY_HIGH),
        )
        accesses.append(_access(high, Movement.RD_TO_LOW, reads, bits, high.instance.read_energy))
        accesses.append(_access(low, Movement.WR_BY_HIGH, writes, bits, low.instance.write_energy))
        cycles += max(-(-bits // port.width_max) for port in (reads, writes))
    return Copy(tuple(accesses), cycles)


def _access(
    level: MemoryLevel, movement: Movement, port: MemoryPort, bits: Bits, energy: PicoJoules
) -> Access:
    narrow = -(-bits // port.width_min)
    words = -(-narrow * port.width_min // port.width_max)
    return Access(level.name, movement, words, words * energy)


def _port(level: MemoryLevel, operand: MemoryOperand, movement: Movement) -> MemoryPort:
    index = level.port_index(operand, movement)
    assert index is not None, "the accelerator's constructor demands these ports"
    return level.instance.ports[index]
