"""Random problems for the scheduler, made by Hypothesis; each of them can be scheduled.

On each core that a node may run on, what is not streamed fits into the core's memories if nothing
else is there; the memory off the chip holds everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from nestmap.model import ComputeCore, Counting, MultiCoreAccelerator
from nestmap.model.multicore.allocation import Allocation, AllocationSpace, NodeGroup
from nestmap.model.multicore.cn_costs import INFEASIBLE, CnCosts
from nestmap.model.multicore.cn_workload import PARTIAL_SUMS, WITHIN_GROUP, CnWorkload
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import CandidateRule, ScheduleOptions, ScheduleProblem
from nestmap.model.multicore.split_options import HintLoop, SplitOptions
from nestmap.model.multicore.top_memories import memory_operands
from nestmap.search.multicore.split.split_workload import split_workload
from tests.search.multicore.schedule.machines import LAYOUTS, immediate, machines, resized
from tests.search.multicore.split.networks import networks

MOST_NODES = 60


class Case(NamedTuple):
    """A problem, and an allocation for it."""

    problem: ScheduleProblem
    allocation: Allocation


@dataclass(frozen=True)
class Needs:
    """What the nodes of a workload hold, if nothing is streamed."""

    nodes: CnWorkload

    @cached_property
    def layer_of(self) -> list[int]:
        layers = self.nodes.layers
        return [i for i, layer in enumerate(layers) for _ in range(layer.tiling.count)]

    @cached_property
    def by_operand(self) -> list[tuple[int, ...]]:
        """Bits of the output and of each input of each node; of what is made, whole outputs."""
        made, room = [node.output.bits for node in self.nodes.nodes()], dict[int, int]()
        read: dict[tuple[int, int], int] = {}
        edges = self.nodes.edges
        for maker, reader, operand in zip(
            edges.producer.tolist(), edges.consumer.tolist(), edges.read.tolist(), strict=True
        ):
            if operand == PARTIAL_SUMS:
                room[reader] = room.get(reader, 0) + made[maker]
            elif operand != WITHIN_GROUP:
                read[reader, operand] = read.get((reader, operand), 0) + made[maker]
        return [
            (
                made[p] + room.get(p, 0),
                *(read.get((p, i), x.bits) for i, x in enumerate(node.inputs)),
            )
            for p, node in enumerate(self.nodes.nodes())
        ]

    @cached_property
    def everything(self) -> int:
        """Bits of all that is ever off the chip, and more."""
        return sum(map(sum, self.by_operand))


@st.composite
def splits(draw: st.DrawFn, counting: Counting) -> SplitOptions:
    """Hints over a few dimensions; most of them cut rows."""
    names = ("OY", "OY", "D0", "D2", "D", "K", "C", "OX", "G", "D1")
    chosen = draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
    tiles = st.sampled_from([None, 2, 3])
    hints = tuple(HintLoop(dimension=d, tiles=draw(tiles)) for d in chosen)
    return SplitOptions(hints=(hints,), counting=counting)


@st.composite
def workloads(draw: st.DrawFn, counting: Counting) -> CnWorkload:
    """Small networks that are split somehow."""
    how = draw(splits(counting))
    made = split_workload(draw(networks()), how, lambda node: True, lambda nest: None)
    _ = assume(0 < len(made) <= MOST_NODES)
    return made


def homes_on(nodes: CnWorkload, layer: int, core: ComputeCore) -> tuple[str, ...] | None:
    """The names of the memories of the output and of each input of a layer on a core."""
    operands = memory_operands(nodes.layers[layer].nest, core)
    if operands is None:
        return None
    return tuple(core.top_levels[operand].name for operand in operands)


@st.composite
def spaces(draw: st.DrawFn, nodes: CnWorkload, machine: MultiCoreAccelerator) -> AllocationSpace:
    """A gene for each group, each with some of the cores."""
    genes: list[NodeGroup] = []
    of: list[int] = []
    for place, layer in enumerate(nodes.layers):
        able = [x.id for x in machine.compute_cores if homes_on(nodes, place, x) is not None]
        chosen = draw(st.sets(st.sampled_from(able), min_size=1))
        groups = layer.groups.tolist()
        of += [len(genes) + group for group in groups]
        genes += [
            NodeGroup(layer=layer.nest.number, group=group, cores=tuple(sorted(chosen)))
            for group in range(max(groups) + 1)
        ]
    return AllocationSpace(tuple(genes), np.asarray(of, dtype=np.int64))


Sizes = Mapping[tuple[int, str], int]
"""The bits of memories, by the number of a core and their names."""


def _kept(needs: Sequence[int], homes: Sequence[str], room: Mapping[str, int]) -> list[bool]:
    """Which operands are kept: of each memory the smallest, as long as they fit."""
    kept = [False] * len(needs)
    for name in set(homes):
        left = room[name]
        for bits, operand in sorted((needs[i], i) for i, home in enumerate(homes) if home == name):
            left -= bits
            if left < 0:
                break
            kept[operand] = True
    return kept


@st.composite
def _sizes(
    draw: st.DrawFn, needs: Needs, machine: MultiCoreAccelerator
) -> dict[tuple[int, str], int]:
    """Room for what some node needs there, or more, or less; cores that share have the same."""
    sizes: dict[tuple[int, str], int] = {}
    for core in machine.compute_cores:
        for level in core.accelerator.memories:
            wanted = {1, needs.everything}
            for place, operands in enumerate(needs.by_operand):
                homes = homes_on(needs.nodes, needs.layer_of[place], core) or ()
                here = [x for x, home in zip(operands, homes, strict=False) if home == level.name]
                wanted |= {max(here, default=0), sum(here)}
            room, most = draw(st.sampled_from(sorted(wanted - {0}))), sorted(wanted)[-2:][0]
            tight = draw(st.sampled_from([room, most, most]))
            sizes[core.id, level.name] = tight + draw(st.sampled_from([0, 0, 0, 5, room // 3]))
    for first, *others in machine.shared:
        for (number, name), size in list(sizes.items()):
            sizes |= {(other, name): size for other in others if number == first}
    return sizes


def _narrowest(ways: Interconnect, path: Sequence[int]) -> int:
    return min((ways.channels[x].bandwidth or 100 for x in path), default=100)


@st.composite
def _rates(draw: st.DrawFn, ways: Interconnect, core: int, kept: Sequence[bool]) -> tuple[int, int]:
    """What is read and written while a node runs: no more than the wires can carry together."""
    off = ways.accelerator.offchip
    paths = ways.path(off, core), ways.path(core, off)
    narrow = _narrowest(ways, paths[0]), _narrowest(ways, paths[1])
    read = draw(st.integers(1, narrow[0])) if not all(kept[1:]) else 0
    if not kept[0]:
        together = [ways.channels[x].bandwidth or 200 for x in set(paths[0]) & set(paths[1])]
        most = min(narrow[1], *(x - read for x in together), narrow[1])
        return read, draw(st.integers(min(1, most), most))
    return read, 0


@st.composite
def cost_tables(
    draw: st.DrawFn, needs: Needs, machine: MultiCoreAccelerator, sizes: Sizes
) -> CnCosts:
    """Runtimes and energies at random; what is streamed is what does not fit."""
    ways, cores = Interconnect(accelerator=machine), machine.compute_cores
    shape = (len(needs.by_operand), len(cores))
    tables = {x: np.zeros(shape, dtype=np.int64) for x in ("streamed", "read", "write")}
    runtime = np.full(shape, INFEASIBLE, dtype=np.int64)
    onchip, offchip = np.zeros(shape), np.zeros(shape)
    quick, energy = draw(st.sampled_from([1, 20, 1000])), st.sampled_from((0.0, 1.5, 7.0))
    for column, core in enumerate(cores):
        room = {x.name: sizes[core.id, x.name] for x in core.accelerator.memories}
        for place, bits in enumerate(needs.by_operand):
            homes = homes_on(needs.nodes, needs.layer_of[place], core)
            if homes is None:
                continue
            kept = _kept(bits, homes, room)
            runtime[place, column] = draw(st.integers(1, quick))
            onchip[place, column] = draw(energy)
            tables["streamed"][place, column] = sum(1 << i for i, x in enumerate(kept) if not x)
            if not all(kept):
                offchip[place, column] = draw(energy)
                read, write = draw(_rates(ways, core.id, kept))
                tables["read"][place, column] = read
                tables["write"][place, column] = write
    return CnCosts(
        kind=np.arange(shape[0]),
        cores=tuple(core.id for core in cores),
        runtime=runtime,
        onchip=onchip,
        offchip=offchip,
        streamed=tables["streamed"],
        read_rate=tables["read"],
        write_rate=tables["write"],
    )


@st.composite
def options(draw: st.DrawFn) -> ScheduleOptions:
    """All rules; constants sent before anything runs, or not."""
    prefetch = draw(st.sampled_from([(), (), ("W",), ("I",), ("W", "I", "I1")]))
    return ScheduleOptions(rule=draw(st.sampled_from(CandidateRule)), prefetch=prefetch)


@st.composite
def cases(draw: st.DrawFn, roomy: bool = False, counting: Counting = Counting.EXACT) -> Case:
    """A problem that can be scheduled, and an allocation.

    ``roomy``: each core has one memory, in which everything fits, and is sent in no time.
    """
    needs = Needs(draw(workloads(counting)))
    machine = draw(machines(LAYOUTS[:1] if roomy else LAYOUTS))
    sizes = draw(_sizes(needs, machine))
    if roomy:
        machine = immediate(machine)
        sizes = dict.fromkeys(sizes, needs.everything + 1)
    far = machine.core(machine.offchip).top_levels.values()
    all_sizes = {**sizes, **{(machine.offchip, x.name): needs.everything + 1 for x in far}}
    machine = resized(machine, all_sizes)
    space = draw(spaces(needs.nodes, machine))
    problem = ScheduleProblem(
        accelerator=machine,
        nodes=needs.nodes,
        space=space,
        costs=draw(cost_tables(needs, machine, sizes)),
        options=draw(options()),
    )
    allocation = tuple(draw(st.sampled_from(gene.cores)) for gene in space.groups)
    return Case(problem, allocation)
