"""A schedule: when each node runs, what passes between the cores, what each memory holds when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand
from nestmap.model.display import html
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.allocation import Allocation, GeneSpace
from nestmap.model.multicore.cn_costs import CnCosts
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.split_options import Convention
from nestmap.model.units import Bits, Cycles, PicoJoules

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class CandidateRule(StrEnum):
    """Which of the nodes that could run is scheduled next."""

    LATENCY = "latency"
    """The one whose predecessors end first; of equal ones the first in the workload."""
    MEMORY = "memory"
    """The one of the deepest layer; of these of the first group, then the last of the layer."""
    CRITICAL = "critical"
    """The one that can start first; of equal ones that with the longest way to the end."""


class ScheduleOptions(Frozen, frozen=True):
    """How an allocation is scheduled.

    Constant operands named in ``prefetch`` are sent to their cores before anything runs.
    """

    rule: CandidateRule = CandidateRule.LATENCY
    prefetch: tuple[LayerOperand, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class ScheduleProblem:
    """Computation nodes, the cores, who may run where and what that costs."""

    accelerator: MultiCoreAccelerator
    nodes: CnWorkload
    space: GeneSpace
    costs: CnCosts
    options: ScheduleOptions

    @property
    def convention(self) -> Convention:
        """Whether Stream's defects are reproduced."""
        return self.nodes.convention


class TransferKind(IntEnum):
    """Why a tensor is sent."""

    CONSTANT = 0
    """From off the chip to a core that reads it: constants, and what was evicted."""
    ACTIVATION = 1
    """From one core to another that reads it, or off the chip for one that streams it."""
    EVICTION = 2
    """Off the chip, to make room."""
    RESULT = 3
    """Off the chip, because it is a result of the network."""


class ScheduleEnergy(Frozen, frozen=True):
    """The energy of a schedule in pJ, by what it is spent for; its total is their sum.

    ``links`` are what passing wires costs, ``memory`` reading at one end and writing at the other.
    """

    computation: PicoJoules
    """In the cores while they run."""
    streaming: PicoJoules
    """In the memory off the chip, for operands that are streamed."""
    constant_links: PicoJoules
    constant_memory: PicoJoules
    activation_links: PicoJoules
    activation_memory: PicoJoules
    eviction_links: PicoJoules
    eviction_memory: PicoJoules
    result_links: PicoJoules
    result_memory: PicoJoules
    streaming_links: PicoJoules = 0.0
    """On the wires, for operands that are streamed (Stream does not count it)."""

    @property
    def parts(self) -> dict[str, PicoJoules]:
        """The parts by name, in a fixed order, those of 0 pJ included."""
        return {name: float(value) for name, value in self}

    @property
    def total(self) -> PicoJoules:
        """All parts together."""
        return float(sum(self.parts.values()))


@final
@dataclass(frozen=True, eq=False)
class Tensors:
    """What is held and sent, as columns: the output of each node, then constants, each part once.

    ``node`` is the one that writes it (of a constant the first that reads it), ``operand`` 0 for an
    output, ``1 + i`` for input ``i`` of that node.
    """

    node: Ints
    operand: Ints
    bits: Ints

    def __len__(self) -> int:
        return len(self.bits)


@final
@dataclass(frozen=True, eq=False)
class Transfers:
    """Tensors that are sent, as columns, in the order in which they were planned.

    ``sender`` and ``receiver`` are places of memories
    (:class:`~nestmap.model.multicore.top_memories.Homes`),
    ``sending`` and ``receiving`` the cores at the ends of the path, ``node`` the one for which it
    was planned, ``kind`` a :class:`TransferKind`. Between memories of one core there are no wires:
    then it takes as long as the wider ports of both need. A transfer takes its wires from ``start``
    to ``end``; transfers of one tensor may share wires at the same time (a broadcast): the first
    one planned pays for them, and for the read at the sender if it shares the first wire.
    """

    tensor: Ints
    sender: Ints
    receiver: Ints
    sending: Ints
    receiving: Ints
    start: Ints
    end: Ints
    kind: Ints
    node: Ints
    link_energy: Floats
    memory_energy: Floats

    def __len__(self) -> int:
        return len(self.tensor)


@final
@dataclass(frozen=True, eq=False)
class Streams:
    """What streams between a core and the memory off the chip while a node runs, as columns.

    ``sending`` and ``receiving`` are cores, one of them the one off the chip; ``rate`` is in
    bit/cycle, from ``start`` to ``end``.
    """

    node: Ints
    sending: Ints
    receiving: Ints
    start: Ints
    end: Ints
    rate: Ints
    link_energy: Floats

    def __len__(self) -> int:
        return len(self.node)


@final
@dataclass(frozen=True, eq=False)
class Stays:
    """Tensors in memories, as columns: room is taken from ``since`` up to ``until``.

    The tensor can be read from ``available`` on. ``until`` is -1 for what stays to the end: results
    off the chip. Constants, too, leave the memory off the chip with their last use.
    """

    tensor: Ints
    memory: Ints
    since: Ints
    available: Ints
    until: Ints

    def __len__(self) -> int:
        return len(self.tensor)


@final
@dataclass(frozen=True, eq=False)
class Schedule:
    """One allocation, scheduled: nothing here is computed again, all of it is checked in tests.

    ``core``, ``start`` and ``end`` have a row for each node, in the order of the workload.
    """

    problem: ScheduleProblem
    allocation: Allocation
    core: Ints
    start: Ints
    end: Ints
    tensors: Tensors
    transfers: Transfers
    streams: Streams
    stays: Stays
    latency: Cycles
    energy: ScheduleEnergy

    _repr_html_ = html

    @cached_property
    def memory_usage(self) -> tuple[tuple[Ints, Ints], ...]:
        """For each memory the times at which its use changes, and the bits in it from then on."""
        count = 1 + max(self.stays.memory.tolist(), default=-1)
        return tuple(self._usage(memory) for memory in range(count))

    def _usage(self, memory: int) -> tuple[Ints, Ints]:
        stays = self.stays
        here = stays.memory == memory
        bits = self.tensors.bits[stays.tensor[here]]
        gone = stays.until[here] >= 0
        times = np.concatenate((stays.since[here], stays.until[here][gone]))
        changes = np.concatenate((bits, -bits[gone]))
        at, place = np.unique(times, return_inverse=True)
        used = np.zeros(len(at), dtype=np.int64)
        np.add.at(used, place, changes)
        return at, np.cumsum(used)

    @cached_property
    def peaks(self) -> tuple[Bits, ...]:
        """The most bits that each memory holds at any time."""
        return tuple(int(used.max(initial=0)) for _, used in self.memory_usage)
