"""A schedule, the problem that it solves, and the result of a search over allocations."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import final

import numpy as np

from nestmap.model.arrays import Floats, Ints
from nestmap.model.base import Frozen
from nestmap.model.dims import LayerOperand
from nestmap.model.display import costs_text, html
from nestmap.model.errors import InfeasibleError
from nestmap.model.evaluation.objective import ALLOCATION_OBJECTIVES, AllocationObjective
from nestmap.model.hardware.accelerator import Counting
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.allocation import (
    Allocation,
    AllocationSpace,
    Fitness,
    Generation,
    Individual,
    StreamBound,
)
from nestmap.model.multicore.cn_costs import CnCosts
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.units import Bits, Cycles, PicoJoules


class CandidateRule(StrEnum):
    """Which of the nodes that are ready is scheduled next."""

    LATENCY = "latency"
    """The node whose predecessors end first; ties: the first in the workload."""
    MEMORY = "memory"
    """The node of the deepest layer; ties: the lowest group, then the last node of the layer."""
    CRITICAL = "critical"
    """The node that can start first; ties: the one with the longest remaining path to the end."""


class ScheduleOptions(Frozen, frozen=True):
    """How an allocation is scheduled.

    Constant operands named in ``prefetch`` are sent to their cores before anything runs.
    """

    rule: CandidateRule = CandidateRule.LATENCY
    prefetch: tuple[LayerOperand, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class ScheduleProblem:
    """Computation nodes, the accelerator, the allocation space and the costs of nodes on cores."""

    accelerator: MultiCoreAccelerator
    nodes: CnWorkload
    space: AllocationSpace
    costs: CnCosts
    options: ScheduleOptions

    @property
    def counting(self) -> Counting:
        """Whether Stream's defects are reproduced."""
        return self.nodes.counting


class TransferKind(IntEnum):
    """Why a tensor is sent."""

    CONSTANT = 0
    """From off chip to a core that reads it: constants and evicted tensors."""
    ACTIVATION = 1
    """From one core to another that reads it, or off chip for a core that streams it."""
    EVICTION = 2
    """Off chip, to free capacity for another tensor."""
    RESULT = 3
    """Off chip, because it is a result of the network."""


class ScheduleEnergy(Frozen, frozen=True):
    """The energy of a schedule in pJ, by cause; the total is the sum of all parts.

    ``links`` are the energies of the channels, ``memory`` those of the read at the sender and the
    write at the receiver.
    """

    computation: PicoJoules
    """In the cores while they run."""
    streaming: PicoJoules
    """In the off-chip memory, for streamed operands."""
    constant_links: PicoJoules
    constant_memory: PicoJoules
    activation_links: PicoJoules
    activation_memory: PicoJoules
    eviction_links: PicoJoules
    eviction_memory: PicoJoules
    result_links: PicoJoules
    result_memory: PicoJoules
    streaming_links: PicoJoules = 0.0
    """On the channels, for streamed operands (Stream does not count it)."""

    @property
    def parts(self) -> dict[str, PicoJoules]:
        """The parts by name, in a fixed order, those of 0 pJ included."""
        return {name: float(value) for name, value in self}

    @property
    def total(self) -> PicoJoules:
        """The sum of all parts."""
        return float(sum(self.parts.values()))


@final
@dataclass(frozen=True, eq=False)
class ScheduledTensors:
    """The tensors that are stored and sent, as columns: the output of each node, then constants.

    Each part of a constant appears once. ``node`` is the node that writes it (for a constant, the
    first that reads it), ``operand`` is 0 for an output, ``1 + i`` for input ``i`` of that node.
    """

    node: Ints
    operand: Ints
    bits: Ints

    def __len__(self) -> int:
        return len(self.bits)


@final
@dataclass(frozen=True, eq=False)
class Transfers:
    """Transfers of tensors as columns, in the order in which they were planned.

    ``sender`` and ``receiver`` are indices of memories
    (:class:`~nestmap.model.multicore.top_memories.TopMemories`), ``sending`` and ``receiving`` the
    cores at the ends of the path, ``node`` the node that the transfer was planned for, ``kind`` a
    :class:`TransferKind`. A transfer occupies its channels from ``start`` to ``end`` (cycles).
    Between memories of one core there are no channels; the transfer then takes as long as the
    widest ports of both memories need. Transfers of one tensor may share channels at the same time
    (a broadcast): the first one planned pays for them, and for the read at the sender if the others
    share its first channel. Energies are in pJ.
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
class OperandStreams:
    """Streaming between a core and the off-chip memory while a node runs, as columns.

    ``sending`` and ``receiving`` are cores, one of them the off-chip core; ``rate`` is in
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
class Residencies:
    """Tensors in memories, as columns: space is allocated from ``since`` to ``until`` (cycles).

    The tensor can be read from ``available`` on. ``until`` is -1 for results off chip, which stay
    to the end. Constants, too, leave the off-chip memory after their last use.
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
    """A scheduled allocation, as the scheduler returns it.

    ``core``, ``start`` and ``end`` have one row per node, in the order of the workload.
    """

    problem: ScheduleProblem
    allocation: Allocation
    core: Ints
    start: Ints
    end: Ints
    tensors: ScheduledTensors
    transfers: Transfers
    streams: OperandStreams
    residencies: Residencies
    latency: Cycles
    energy: ScheduleEnergy

    _repr_html_ = html

    def __repr__(self) -> str:
        costs = costs_text(self.latency, self.energy.total)
        return f"<{type(self).__name__}: {len(self.core)} nodes, {costs}>"

    @cached_property
    def memory_usage(self) -> tuple[tuple[Ints, Ints], ...]:
        """For each memory the cycles at which its usage changes, and its bits from then on."""
        count = 1 + max(self.residencies.memory.tolist(), default=-1)
        return tuple(self._usage_of(memory) for memory in range(count))

    def _usage_of(self, memory: int) -> tuple[Ints, Ints]:
        stays = self.residencies
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
        """The peak usage of each memory in bits."""
        return tuple(int(used.max(initial=0)) for _, used in self.memory_usage)


# --- the result of a search over allocations: the problem and the last generation ---


@final
@dataclass(frozen=True, eq=False)
class AllocationSearch:
    """A problem and the last generation of a search that minimized ``objectives``.

    ``bound`` is the result of a search by constraints, if there was one.
    """

    problem: ScheduleProblem
    objectives: tuple[AllocationObjective, ...]
    generation: Generation
    bound: StreamBound | None = None

    _repr_html_ = html

    @property
    def front(self) -> tuple[Individual, ...]:
        """The Pareto-optimal individuals found."""
        return self.generation.front

    @property
    def is_complete(self) -> bool:
        """Whether all allocations were evaluated, so that no better one exists."""
        found = self.generation
        return found.exhaustive and found.evaluations >= self.problem.space.size

    def best(self, objective: AllocationObjective) -> Individual:
        """The individual with the lowest objective; ties are broken by the other objectives.

        Raises:
            InfeasibleError: if none of the evaluated allocations can be scheduled.
        """
        found = (*self.front, *self.generation.population)
        known = [(x.fitness, x) for x in found if x.fitness is not None]
        if not known:
            raise InfeasibleError(
                f"none of {self.generation.evaluations} allocations of "
                f"{self.problem.nodes.name} to {self.problem.accelerator.name} can be scheduled"
            )
        return min(known, key=lambda pair: _rank(pair[0], objective))[1]


def _rank(fitness: Fitness, objective: AllocationObjective) -> tuple[float, ...]:
    return (fitness.of(objective), *(fitness.of(other) for other in ALLOCATION_OBJECTIVES))
