"""The plainest schedule of all: one node after the other, with nothing else going on.

What a node reads is sent from off the chip before it runs, what it writes is sent there afterwards.
It shows that a problem can be scheduled, and what the checker must accept.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nestmap.model import ComputeCore
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.schedule import (
    OperandStreams,
    Residencies,
    Schedule,
    ScheduledTensors,
    ScheduleEnergy,
    ScheduleProblem,
    TransferKind,
    Transfers,
)
from nestmap.model.multicore.top_memories import memory_operands
from tests.search.multicore.schedule.replay import Demands, Part, Run

GONE = -1
"""A row of a stay that has not ended."""


@dataclass
class Log:
    """What has happened so far: rows of columns."""

    stays: list[list[int]] = field(default_factory=list[list[int]])
    transfers: list[list[int]] = field(default_factory=list[list[int]])
    streams: list[list[int]] = field(default_factory=list[list[int]])
    link: list[float] = field(default_factory=list[float])
    memory: list[float] = field(default_factory=list[float])
    stream: list[float] = field(default_factory=list[float])
    time: int = 0

    def stay(self, tensor: int, memory: int, since: int, available: int) -> list[int]:
        self.stays.append([tensor, memory, since, available, GONE])
        return self.stays[-1]


def serial(problem: ScheduleProblem, allocation: Allocation) -> Schedule:
    """The nodes one after the other, in their order."""
    return _Serial(problem, allocation).schedule()


class _Serial:
    def __init__(self, problem: ScheduleProblem, allocation: Allocation) -> None:
        self.problem, self.allocation = problem, allocation
        self.demands, self.log = Demands(problem), Log()
        self.core = [int(x) for x in problem.space.cores_of_nodes(allocation)]
        self.rows = [(place, 0) for place in range(len(self.core))]
        self.bits = list(self.demands.outputs)
        self.constants: dict[Part, int] = {}
        self.at: dict[int, int] = {}
        self.start: list[int] = []
        self.end: list[int] = []

    def schedule(self) -> Schedule:
        for place in range(len(self.core)):
            for _, read in self.demands.constants_of(place):
                self._given(place, read)
        for place, core in enumerate(self.core):
            self._run(place, self.demands.run(place, core, self.constants))
        return self._made()

    def _given(self, place: int, read: int) -> None:
        part = self.demands.part(place, read)
        if part not in self.constants:
            tensor = self.constants[part] = len(self.rows)
            self.rows.append((place, read + 1))
            self.bits.append(self.demands.bits((place, read)))
            self.at[tensor] = self._far(place, read + 1)
            _ = self.log.stay(tensor, self.at[tensor], 0, 0)

    def _far(self, place: int, operand: int) -> int:
        """The memory off the chip for an operand of a node."""
        machine = self.problem.accelerator
        core = machine.core(self.core[place])
        assert isinstance(core, ComputeCore)
        nest = self.problem.nodes.layer_of(place)[0].nest
        operands = memory_operands(nest, core)
        assert operands is not None
        return self.demands.homes.index_of(machine.offchip, operands[operand])

    def _send(self, tensor: int, memories: tuple[int, int], node: int, kind: TransferKind) -> None:
        off, core = self.problem.accelerator.offchip, self.core[node]
        ends = (core, off) if kind in (TransferKind.RESULT, TransferKind.EVICTION) else (off, core)
        ways, homes, bits = self.demands.ways, self.demands.homes.memories, self.bits[tensor]
        wires = [ways.channels[x] for x in ways.path(*ends)]
        widths = [wire.bandwidth for wire in wires]
        takes = max((-(-bits // width) for width in widths if width is not None), default=0)
        start, end = self.log.time, self.log.time + takes
        self.log.time = end
        self.log.transfers.append([tensor, *memories, *ends, start, end, kind, node])
        self.log.link.append(
            sum(bits * x.energy_per_bit + takes * x.energy_per_cycle for x in wires)
        )
        sender, receiver = homes[memories[0]], homes[memories[1]]
        self.log.memory.append(
            -(-bits // sender.read_width) * sender.level.instance.read_energy
            + -(-bits // receiver.write_width) * receiver.level.instance.write_energy
        )

    def _run(self, place: int, run: Run) -> None:
        here: list[list[int]] = []
        for tensor, memory in run.reads:
            if memory is not None:
                since = self.log.time
                self._send(tensor, (self.at[tensor], memory), place, TransferKind.CONSTANT)
                here.append(self.log.stay(tensor, memory, since, self.log.time))
        start, end = self.log.time, self.log.time + run.runtime
        self.start.append(start)
        self.end.append(end)
        self.log.time = end
        self._stream(place, run)
        far = self._far(place, 0)
        self.at[place] = far
        if run.output is None:
            _ = self.log.stay(place, far, start, end)
        else:
            here.append(self.log.stay(place, run.output, start, end))
            is_result = place in self.demands.results
            kind = TransferKind.RESULT if is_result else TransferKind.EVICTION
            self._send(place, (run.output, far), place, kind)
            _ = self.log.stay(place, far, end, self.log.time)
        for stay in here:
            stay[-1] = self.log.time

    def _stream(self, place: int, run: Run) -> None:
        off, ways = self.problem.accelerator.offchip, self.demands.ways
        for ends, rate in zip(((off, run.core), (run.core, off)), run.rates, strict=True):
            if rate:
                times = (self.start[place], self.end[place])
                self.log.streams.append([place, *ends, *times, rate])
                wires = [ways.channels[x] for x in ways.path(*ends)]
                each = (rate * x.energy_per_bit + x.energy_per_cycle for x in wires)
                self.log.stream.append(run.runtime * sum(each))

    def _made(self) -> Schedule:
        log, latency = self.log, self.log.time
        for stay in log.stays:  # what is no result leaves in the end
            if stay[0] < len(self.core) and stay[0] not in self.demands.results and stay[-1] < 0:
                stay[-1] = latency
        runs = [self.demands.run(p, c, self.constants) for p, c in enumerate(self.core)]
        return Schedule(
            problem=self.problem,
            allocation=self.allocation,
            core=np.asarray(self.core),
            start=np.asarray(self.start),
            end=np.asarray(self.end),
            tensors=self._tensors(),
            transfers=self._transfers(),
            streams=self._streams(),
            residencies=self._stays(),
            latency=latency,
            energy=self._energy(runs),
        )

    def _tensors(self) -> ScheduledTensors:
        node, operand = _columns([list(row) for row in self.rows], 2)
        return ScheduledTensors(node, operand, np.asarray(self.bits))

    def _transfers(self) -> Transfers:
        made = _columns(self.log.transfers, 9)
        tensor, sender, receiver, sending, receiving, start, end, kind, node = made
        return Transfers(
            tensor=tensor,
            sender=sender,
            receiver=receiver,
            sending=sending,
            receiving=receiving,
            start=start,
            end=end,
            kind=kind,
            node=node,
            link_energy=np.asarray(self.log.link),
            memory_energy=np.asarray(self.log.memory),
        )

    def _streams(self) -> OperandStreams:
        node, sending, receiving, start, end, rate = _columns(self.log.streams, 6)
        energy = np.asarray(self.log.stream)
        return OperandStreams(node, sending, receiving, start, end, rate, energy)

    def _stays(self) -> Residencies:
        tensor, memory, since, available, until = _columns(self.log.stays, 5)
        return Residencies(tensor, memory, since, available, until)

    def _energy(self, runs: list[Run]) -> ScheduleEnergy:
        spent = dict.fromkeys(ScheduleEnergy.model_fields, 0.0)
        for row, link, memory in zip(
            self.log.transfers, self.log.link, self.log.memory, strict=True
        ):
            part = TransferKind(row[7]).name.lower()
            spent[f"{part}_links"] += link
            spent[f"{part}_memory"] += memory
        spent["computation"] = sum(run.onchip for run in runs)
        spent["streaming"] = sum(run.offchip for run in runs)
        spent["streaming_links"] = sum(self.log.stream)
        return ScheduleEnergy.model_validate(spent)


def _columns(rows: list[list[int]], count: int) -> tuple[NDArray[np.int64], ...]:
    return tuple(np.asarray(rows, dtype=np.int64).reshape(-1, count).T)
