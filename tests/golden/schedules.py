"""Recorded schedules of Stream of February 2024, and the same problems for nestmap's scheduler."""

import lzma
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from nestmap.model import Accelerator, ArraySide, Frozen, OperationalArray
from nestmap.model.dims import OUTPUT, Movement
from nestmap.model.hardware.memory import MemoryInstance, MemoryLevel, MemoryPort, PortKind, PortUse
from nestmap.model.multicore.accelerator import (
    Bus,
    ComputeCore,
    Link,
    MultiCoreAccelerator,
    StorageCore,
)
from nestmap.model.multicore.allocation import Allocation, AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import INFEASIBLE, CnCosts
from nestmap.model.multicore.cn_workload import CnWorkload
from nestmap.model.multicore.schedule import CandidateRule, ScheduleOptions, ScheduleProblem
from tests.golden.test_stream_nodes import recorded, split_as

FOLDER: Final = Path(__file__).parent / "stream_schedules"
NAMES: Final = sorted(path.name.removesuffix(".json.xz") for path in FOLDER.glob("*.json.xz"))


class Macro(Frozen, frozen=True):
    """A memory of the recorded machines: bits, bit/cycle, pJ for a read and a write so wide."""

    size: int
    width: int
    read: float
    write: float


MACROS: Final = {
    "sram_128K_W": Macro(size=1048576, width=128, read=26.01, write=23.65),
    "sram_128K_A": Macro(size=1048576, width=128, read=26.01, write=23.65),
    "sram_64KB": Macro(size=524288, width=512, read=26.56, write=30.8),
    "sram_1MB_W": Macro(size=8388608, width=1024, read=208.08, write=189.2),
    "sram_1MB_A": Macro(size=8388608, width=1024, read=208.08, write=189.2),
    "sram_128KB": Macro(size=1048576, width=128, read=150.0, write=165.0),
    "rf_16B": Macro(size=128, width=24, read=0.0, write=0.0),
    "pooling_mem": Macro(size=4915200, width=512, read=0.01, write=0.01),
    "dram": Macro(size=10**10, width=64, read=1000.0, write=1000.0),
}
"""As in the example inputs of stream-dse 0.0.8; DRAMs with two ports are 16 bits wide."""


class RecordedMemory(Frozen, frozen=True):
    """``usage``: times, and the bits that are used from then on."""

    name: str
    cores: tuple[int, ...]
    operands: tuple[str, ...]
    usage: tuple[tuple[int, int], ...]


class RecordedLink(Frozen, frozen=True):
    """A way between cores (``None``: any); events: kind, start, end, rate, tensors."""

    sender: int | None
    receiver: int | None
    bandwidth: int | None
    events: tuple[tuple[str, int, int, int, tuple[tuple[int, int, str], ...]], ...]


class RecordedSchedule(Frozen, frozen=True):
    """A schedule; nodes: id, core, start, end, runtime, pJ on and off chip, what is streamed."""

    split: str
    prefetch: tuple[str, ...]
    latency: int
    energy: dict[str, float]
    memories: tuple[RecordedMemory, ...]
    links: tuple[RecordedLink, ...]
    nodes: tuple[tuple[tuple[int, int], int, int, int, int, float, float, tuple[str, ...]], ...]


@cache
def recorded_schedule(name: str) -> RecordedSchedule:
    """A schedule by its name."""
    with lzma.open(FOLDER / f"{name}.json.xz", "rt") as file:
        return RecordedSchedule.model_validate_json(file.read())


@cache
def nodes_of(name: str) -> CnWorkload:
    """The computation nodes that were scheduled, made by nestmap."""
    return split_as(recorded(recorded_schedule(name).split))


def problem_of(name: str) -> tuple[ScheduleProblem, Allocation]:
    """What Stream scheduled, with the costs and the allocation that it had."""
    run, nodes = recorded_schedule(name), nodes_of(name)
    machine = _machine(run)
    cores = [node[1] for node in run.nodes]
    problem = ScheduleProblem(
        accelerator=machine,
        nodes=nodes,
        space=AllocationSpace(
            groups=tuple(
                NodeGroup(layer=nodes.id_of(i).layer, group=i, cores=(core,))
                for i, core in enumerate(cores)
            ),
            group_of=np.arange(len(nodes)),
        ),
        costs=_costs(run, nodes, machine),
        options=ScheduleOptions(rule=CandidateRule.MEMORY, prefetch=run.prefetch),
    )
    return problem, tuple(cores)


def _costs(run: RecordedSchedule, nodes: CnWorkload, machine: MultiCoreAccelerator) -> CnCosts:
    cores = tuple(core.id for core in machine.compute_cores)
    shape = (len(nodes), len(cores))
    runtime = np.full(shape, INFEASIBLE, dtype=np.int64)
    onchip, offchip = np.zeros(shape), np.zeros(shape)
    streamed, read, write = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    rates = _rates(run, machine.offchip)
    for row, (place, core, _, _, cycles, on, off, too_large) in enumerate(run.nodes):
        at = row, cores.index(core)
        runtime[at], onchip[at], offchip[at] = cycles, on, off
        streamed[at] = sum(1 << _slot(operand, place, nodes) for operand in too_large)
        if too_large:
            read[at], write[at] = rates[place[0]]
    return CnCosts(np.arange(len(nodes)), cores, runtime, onchip, offchip, streamed, read, write)


def _slot(operand: str, place: tuple[int, int], nodes: CnWorkload) -> int:
    """The slot of a memory operand: I1 is the first input, I2 the constants or the second one."""
    if operand == OUTPUT:
        return 0
    nest = next(layer.nest for layer in nodes.layers if layer.nest.number == place[0])
    usual = {"I1": "I", "I2": "W"}[operand]
    names = [use.operand for use in nest.inputs]
    return 1 + (names.index(usual) if usual in names else int(operand[1]) - 1)


def _rates(run: RecordedSchedule, offchip: int) -> dict[int, tuple[int, int]]:
    """What the nodes of a layer stream, from and to off chip; all of it on a link for both ways."""
    rates: dict[int, tuple[int, int]] = {}
    for link in run.links:
        for kind, _, _, rate, tensors in link.events:
            if kind == "block":
                read, write = rates.get(tensors[0][0], (0, 0))
                outward = link.receiver == offchip
                rates[tensors[0][0]] = (read, rate) if outward else (rate, write)
    return rates


def _machine(run: RecordedSchedule) -> MultiCoreAccelerator:
    *onchip, far = run.memories
    offchip = far.cores[0]
    one_way = any(link.receiver == offchip for link in run.links)
    numbers = sorted({core for memory in onchip for core in memory.cores})
    shared = {memory.cores for memory in onchip if len(memory.cores) > 1}
    links: list[Link] = []
    buses: list[Bus] = []
    for link in run.links:
        if link.sender is not None and link.receiver is not None:
            way = Link(sender=link.sender, receiver=link.receiver, bandwidth=link.bandwidth)
            links.append(way)
            continue
        senders = (offchip,) if link.sender == offchip else tuple(numbers)
        buses.append(
            Bus(
                cores=(*numbers, offchip),
                bandwidth=link.bandwidth,
                senders=senders if one_way else (),
                hub=None if one_way else offchip,
            )
        )
    cores = tuple(_core(n, [x for x in onchip if n in x.cores]) for n in numbers)
    level = _level(far, 16 if one_way else 64)
    return MultiCoreAccelerator(
        name="recorded",
        cores=(*cores, StorageCore(id=offchip, name="dram", memories=(level,))),
        offchip=offchip,
        links=tuple(links),
        buses=tuple(buses),
        shared=tuple(shared),
    )


def _core(number: int, memories: list[RecordedMemory]) -> ComputeCore:
    """A core with these memories; 4 and 5 are those for some operators in the larger machine."""
    array = OperationalArray(sides=(ArraySide(name="D1", size=1),), unit_energy=0.0)
    made = Accelerator(
        name=f"core {number}",
        array=array,
        memories=tuple(_level(x, MACROS[x.name].width) for x in memories),
    )
    special = ("Add",) if number in (4, 5) else ()
    return ComputeCore(id=number, accelerator=made, operators=special)


def _level(memory: RecordedMemory, width: int) -> MemoryLevel:
    macro = MACROS[memory.name]
    uses = tuple(
        PortUse(operand=operand, movement=movement)
        for operand in memory.operands
        for movement in Movement
        if operand == OUTPUT or movement in (Movement.RD_TO_LOW, Movement.WR_BY_HIGH)
    )
    port = MemoryPort(
        name="port", kind=PortKind.READ_WRITE, width_min=width, width_max=width, allocation=uses
    )
    instance = MemoryInstance(
        name=memory.name,
        size=macro.size,
        read_energy=macro.read,
        write_energy=macro.write,
        ports=(port,),
    )
    return MemoryLevel(instance=instance, operands=memory.operands, served_dimensions=("D1",))
