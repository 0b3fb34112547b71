"""Transfers: the movements of operands that the ports of the memories serve."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.imc.layer import precharge_energy
from nestmap.costmodel.kernel.record import OUT, RD_HIGH, RD_LOW, WR_HIGH, WR_LOW
from nestmap.model import (
    MOVEMENTS,
    OUTPUT,
    Accelerator,
    MappingProblem,
    MemoryLevel,
    Movement,
    PortUse,
    needed_movements,
)
from nestmap.model.arrays import Ints
from nestmap.model.dims import MemoryOperand


def level_below(level: int, movement: int) -> int:
    """The level below the link that a movement at a memory level uses."""
    return level - 1 if movement in (RD_LOW, WR_LOW) else level


class Transfer(NamedTuple):
    """One movement of an operand through a port of one of its memory levels.

    ``rank`` is the operand's position in the memory's list, and the movement's position in the
    port's allocation.
    """

    port: int
    rank: tuple[int, int]
    operand: int
    level: int
    movement: int
    energy: float

    @property
    def link(self) -> int:
        """The level below the link that it uses."""
        return level_below(self.level, self.movement)


def port_transfers(problem: MappingProblem) -> list[Transfer]:
    """All movements that the memories' ports serve for this layer."""
    return operand_transfers(problem.accelerator, problem.links.values())


def operand_transfers(
    accelerator: Accelerator, operands: Iterable[MemoryOperand]
) -> list[Transfer]:
    """All movements that the memories' ports serve for these operands, output first.

    Sorted by port, then by the memory's order of operands and the port's order of movements: of
    equal transfers that can hide behind computation, the first one does.
    """
    memories = accelerator.memories
    counts = [len(level.instance.ports) for level in memories]
    first = {level.name: sum(counts[:i]) for i, level in enumerate(memories)}
    transfers: list[Transfer] = []
    for x, memory_operand in enumerate(operands):
        levels = accelerator.levels_of(memory_operand)
        for i, memory in enumerate(levels):
            for movement in needed_movements(memory_operand, is_top=i + 1 == len(levels)):
                port = memory.port_index(memory_operand, movement)
                assert port is not None, "the accelerator's constructor demands these ports"
                instance = memory.instance
                energy = access_energy(accelerator, memory, port, movement)
                use = PortUse(operand=memory_operand, movement=movement)
                allocation = instance.ports[port].allocation
                rank = (memory.operands.index(memory_operand), allocation.index(use))
                place = (first[memory.name] + port, rank, x, i + 1, MOVEMENTS.index(movement))
                transfers.append(Transfer(*place, energy))
    return sorted(transfers)


def access_energy(
    accelerator: Accelerator, memory: MemoryLevel, port: int, movement: Movement
) -> float:
    """Energy in pJ per access of the full width of one of the memory's ports.

    Reading the cells of an IMC array charges the bit lines that several weights share.
    """
    instance = memory.instance
    if not movement.reads:
        return instance.write_energy
    imc = accelerator.array.imc
    if imc is None or memory is not accelerator.cells:
        return instance.read_energy
    weights = instance.ports[port].width_max / imc.weight_precision
    return instance.read_energy + precharge_energy(accelerator) * weights


def link_ends(problem: MappingProblem, transfers: list[Transfer]) -> Ints:
    """[x, l, 2] the transfers that load inputs, or write outputs, over the link above level l."""
    at = {(t.operand, t.level, t.movement): i for i, t in enumerate(transfers)}
    result = np.full((*_shape(problem), 2), -1, np.int64)
    for x, operand in enumerate(problem.layer.operands):
        low, high = (RD_HIGH, WR_LOW) if x == OUT else (WR_HIGH, RD_LOW)
        for level in range(1, len(problem.levels(operand.name))):
            result[x, level] = at[x, level, low], at[x, level + 1, high]
    return result


def link_sharing(problem: MappingProblem, transfers: list[Transfer]) -> Ints:
    """[x, l] the number of ports (0 to 2) at the ends of a link that serve both inputs.

    The allocation of a port counts, even if the movement never happens.
    """
    ends = link_ends(problem, transfers)
    ports = [port for level in problem.accelerator.memories for port in level.instance.ports]
    both = [len({use.operand for use in port.allocation} - {OUTPUT}) > 1 for port in ports]
    shared = np.array([both[t.port] for t in transfers])
    counts: Ints = np.where(ends >= 0, shared[ends], False).sum(axis=2, dtype=np.int64)
    return counts


def _shape(problem: MappingProblem) -> tuple[int, int]:
    """The numbers of operands and of levels, including the array, for the deepest hierarchy."""
    depths = [len(problem.levels(o.name)) for o in problem.layer.operands]
    return len(depths), max(depths) + 1
