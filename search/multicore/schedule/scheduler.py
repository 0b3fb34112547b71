"""Schedules allocations of one problem one after another, reusing the same tables."""

from __future__ import annotations

from copy import copy
from itertools import product
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from nestmap.model import Counting
from nestmap.model.arrays import Ints
from nestmap.model.dims import OUTPUT, MemoryOperand
from nestmap.model.errors import InfeasibleError, InputError
from nestmap.model.multicore.accelerator import ComputeCore
from nestmap.model.multicore.allocation import Allocation, Fitness
from nestmap.model.multicore.cn_costs import INFEASIBLE
from nestmap.model.multicore.cn_layer import CnLayer
from nestmap.model.multicore.cn_workload import WITHIN_GROUP
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.schedule import CandidateRule, ScheduleProblem
from nestmap.model.multicore.top_memories import NO_MEMORY, TopMemories, memory_operands
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.list_scheduler import schedule_nodes
from nestmap.search.multicore.schedule.node_reads import NodeReads, node_reads
from nestmap.search.multicore.schedule.read_schedule import latency_of, offchip_peak, onchip_peaks
from nestmap.search.multicore.schedule.scheduler_state import (
    Mode,
    Workspace,
    new_workspace,
    reset_workspace,
)

# --- converts a scheduling problem to the tables that the kernels read ---

# --- candidate rules: the order of nodes that could start at the same time ---


def ranks(problem: ScheduleProblem) -> Ints:
    """The rank of each node by the candidate rule: distinct numbers, the smallest first."""
    nodes = problem.nodes
    places = np.arange(len(nodes))
    if problem.options.rule is CandidateRule.MEMORY:
        if problem.counting is Counting.REFERENCE:
            return len(nodes) - 1 - places
        layers = np.searchsorted(nodes.first_nodes, places, side="right") - 1
        groups = np.concatenate([layer.groups for layer in nodes.layers])
        order = np.lexsort((places, groups, -layers))
    else:
        order = np.lexsort((places, -upward_ranks(problem)))
    rank = np.empty(len(nodes), dtype=np.int64)
    rank[order] = places
    return rank


def upward_ranks(problem: ScheduleProblem) -> NDArray[np.float64]:
    """The least cycles from each node's start to the end of the network: its longest path.

    A node takes its mean runtime over the cores that can run it; transfers take no time (the upward
    rank of Topcuoglu et al., "HEFT", TPDS 2002, without communication).
    """
    runtime = problem.costs.runtime
    possible = runtime != INFEASIBLE
    cores = np.maximum(possible.sum(axis=1), 1)
    mean = (np.where(possible, runtime, 0).sum(axis=1) / cores)[problem.costs.kind]
    ways = np.array(mean, dtype=np.float64)
    edges = problem.nodes.edges
    order = np.argsort(-edges.producer, kind="stable")
    for producer, consumer in zip(
        edges.producer[order].tolist(), edges.consumer[order].tolist(), strict=True
    ):
        ways[producer] = max(ways[producer], mean[producer] + ways[consumer])
    return ways


RULES: Final = {
    CandidateRule.LATENCY: t.BY_LATENCY,
    CandidateRule.MEMORY: t.BY_RANK,
    CandidateRule.CRITICAL: t.BY_START,
}


def mode_of(problem: ScheduleProblem) -> Mode:
    """The scheduling mode of a problem: candidate rule, counting, off-chip core."""
    cores = _core_numbers(problem)
    return Mode(
        rule=RULES[problem.options.rule],
        reference=problem.counting is Counting.REFERENCE,
        offchip=cores.index(problem.accelerator.offchip),
    )


def network_of(problem: ScheduleProblem, needs: NodeReads) -> t.Network:
    """The tables of a problem."""
    homes, ways = (
        TopMemories(accelerator=problem.accelerator),
        Interconnect(accelerator=problem.accelerator),
    )
    paths, path_wires = _paths(problem, ways)
    followers = _followers(problem)
    return t.Network(
        nodes=_nodes(problem, needs, followers),
        needs=np.stack((needs.tensor, needs.slot), axis=1),
        following=followers[:, 1:],
        tensors=_tensors(problem, needs, homes),
        prefetched=_prefetched(problem, needs),
        costs=_costs(problem),
        homes=_homes(problem, homes),
        memories=_memories(problem, homes),
        is_at=_is_at(problem, homes),
        bandwidths=np.array([[wire.bandwidth or 0] for wire in ways.channels], dtype=np.int64),
        paths=paths.reshape(-1, 1),
        path_wires=path_wires.reshape(-1, 1),
    )


def energies_of(problem: ScheduleProblem) -> t.Energies:
    """The energies of a problem in pJ."""
    homes, ways = (
        TopMemories(accelerator=problem.accelerator),
        Interconnect(accelerator=problem.accelerator),
    )
    wires = [(wire.energy_per_bit, wire.energy_per_cycle) for wire in ways.channels]
    instances = [home.level.instance for home in homes.memories]
    memories = [(instance.read_energy, instance.write_energy) for instance in instances]
    return t.Energies(
        nodes=_energies(problem),
        memories=np.array(memories, dtype=np.float64),
        wires=np.array(wires, dtype=np.float64).reshape(-1, 2),
    )


def _core_numbers(problem: ScheduleProblem) -> list[int]:
    return sorted(core.id for core in problem.accelerator.cores)


def places_of_cores(problem: ScheduleProblem) -> dict[int, int]:
    """The row of each core in the tables, by core number."""
    return {number: place for place, number in enumerate(_core_numbers(problem))}


def _followers(problem: ScheduleProblem) -> Ints:
    """Pairs of predecessor and successor, each once, in order."""
    edges = problem.nodes.edges
    pairs = np.stack((edges.producer, edges.consumer), axis=1)
    return np.array(np.unique(pairs, axis=0), dtype=np.int64)


def _nodes(problem: ScheduleProblem, needs: NodeReads, followers: Ints) -> Ints:
    nodes = problem.nodes
    places = np.arange(len(nodes))
    layers = np.searchsorted(nodes.first_nodes, places, side="right") - 1
    columns = (
        problem.costs.kind,
        layers,
        np.searchsorted(needs.node, places, side="left"),
        np.searchsorted(needs.node, places, side="right"),
        np.searchsorted(followers[:, 0], places, side="left"),
        np.searchsorted(followers[:, 0], places, side="right"),
        _results(problem),
        np.bincount(followers[:, 1], minlength=len(nodes)),
        ranks(problem),
    )
    assert len(columns) == t.NODE_COLUMNS
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int64)


def _results(problem: ScheduleProblem) -> Ints:
    """Whether each node's output is a network output: no node reads it.

    In the reference's counting, the outputs of a layer are network outputs if one of its nodes has
    no successor, not even one for order only.
    """
    nodes, edges = problem.nodes, problem.nodes.edges
    if problem.counting is Counting.EXACT:
        written = edges.producer[edges.read != WITHIN_GROUP]
        return np.array(np.bincount(written, minlength=len(nodes)) == 0, dtype=np.int64)
    last = np.bincount(edges.producer, minlength=len(nodes)) == 0
    results = [
        layer.is_final & last[first:end].any()
        for layer, first, end in zip(
            nodes.layers, nodes.first_nodes, nodes.first_nodes[1:], strict=False
        )
    ]
    return np.concatenate(results).astype(np.int64)


def _operands(problem: ScheduleProblem, layer: CnLayer, core: int) -> tuple[MemoryOperand, ...]:
    """The memory operands of a layer on a core; empty if the core cannot run it."""
    found = problem.accelerator.core(core)
    if not isinstance(found, ComputeCore):
        return ()
    return memory_operands(layer.nest, found) or ()


def _homes(problem: ScheduleProblem, homes: TopMemories) -> Ints:
    layers, cores = problem.nodes.layers, _core_numbers(problem)
    slots = 1 + max((len(layer.nest.inputs) for layer in layers), default=0)
    found = np.full((len(layers), len(cores), slots), NO_MEMORY, dtype=np.int64)
    for (row, layer), (column, core) in product(enumerate(layers), enumerate(cores)):
        for slot, operand in enumerate(_operands(problem, layer, core)):
            found[row, column, slot] = homes.index_of(core, operand)
    return found


def _tensors(problem: ScheduleProblem, needs: NodeReads, homes: TopMemories) -> Ints:
    """The bits, the producer and the off-chip memory of each tensor."""
    tensors, count = needs.tensors, len(problem.nodes)
    writer = np.where(np.arange(len(tensors)) < count, tensors.node, t.NONE)
    layers = np.searchsorted(problem.nodes.first_nodes, tensors.node, side="right") - 1
    home = np.empty(len(tensors), dtype=np.int64)
    pairs: list[list[int]] = np.unique(np.stack((layers, tensors.operand), axis=1), axis=0).tolist()
    for row, slot in pairs:
        layer = problem.nodes.layers[row]
        home[(layers == row) & (tensors.operand == slot)] = _offchip(problem, homes, layer, slot)
    return np.ascontiguousarray(np.stack((tensors.bits, writer, home), axis=1), dtype=np.int64)


def _offchip(problem: ScheduleProblem, homes: TopMemories, layer: CnLayer, slot: int) -> int:
    """The off-chip memory of an operand: that of its memory operand, else the first one."""
    number = problem.accelerator.offchip
    for core in problem.accelerator.compute_cores:
        operands = _operands(problem, layer, core.id)
        found = homes.index_of(number, operands[slot]) if operands else NO_MEMORY
        if found != NO_MEMORY:
            return found
    found = homes.index_of(number, OUTPUT)
    return homes.offchip[0] if found == NO_MEMORY else found


def _prefetched(problem: ScheduleProblem, needs: NodeReads) -> Ints:
    """The needs sent before the first node runs, by operand, as pairs of node and input."""
    rows: list[tuple[int, int]] = []
    names = [[read.operand for read in layer.nest.inputs] for layer in problem.nodes.layers]
    layers = np.searchsorted(problem.nodes.first_nodes, needs.node, side="right") - 1
    constant = needs.tensor >= len(problem.nodes)
    for operand in problem.options.prefetch:
        for need in np.flatnonzero(constant).tolist():
            if names[layers[need]][needs.slot[need] - 1] == operand:
                rows.append((int(needs.node[need]), need))
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _costs(problem: ScheduleProblem) -> Ints:
    costs, places = problem.costs, places_of_cores(problem)
    table = np.zeros((len(costs.runtime), len(places), 4), dtype=np.int64)
    table[:, :, 0] = INFEASIBLE
    columns = [places[core] for core in costs.cores]
    figures = (costs.runtime, costs.streamed, costs.read_rate, costs.write_rate)
    table[:, columns] = np.stack(figures, axis=2)
    return table


def _energies(problem: ScheduleProblem) -> NDArray[np.float64]:
    costs, places = problem.costs, places_of_cores(problem)
    table = np.zeros((len(costs.runtime), len(places), 2), dtype=np.float64)
    columns = [places[core] for core in costs.cores]
    table[:, columns] = np.stack((costs.onchip, costs.offchip), axis=2)
    return table


def _memories(problem: ScheduleProblem, homes: TopMemories) -> Ints:
    places = places_of_cores(problem)
    rows = [
        (
            home.level.instance.size,
            int(i in homes.offchip),
            home.read_width,
            home.write_width,
            places[home.cores[0]],
        )
        for i, home in enumerate(homes.memories)
    ]
    return np.array(rows, dtype=np.int64)


def _is_at(problem: ScheduleProblem, homes: TopMemories) -> Ints:
    cores = _core_numbers(problem)
    rows = [[int(core in home.cores) for home in homes.memories] for core in cores]
    return np.array(rows, dtype=np.int64)


def _paths(problem: ScheduleProblem, ways: Interconnect) -> tuple[Ints, Ints]:
    cores = _core_numbers(problem)
    paths = [ways.path(a, b) for a, b in product(cores, cores)]
    ends = np.cumsum([0, *map(len, paths)], dtype=np.int64)
    return ends, np.array([wire for path in paths for wire in path], dtype=np.int64)


# --- schedules allocations of one problem one after another, reusing the same tables ---

_LARGEST: Final = 2**20
"""The largest factor by which the tables may grow; a larger one indicates an endless schedule."""


@final
class Scheduler:
    """Schedules allocations of a problem one at a time; each thread needs its own instance."""

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem
        self.needs = node_reads(problem.nodes)
        self.network = network_of(problem, self.needs)
        self.mode = mode_of(problem)
        self.homes = TopMemories(accelerator=problem.accelerator)
        self._places = places_of_cores(problem)
        self._scale = 1
        self._energies = energies_of(problem)
        self._desk = self._new_desk()

    def _new_desk(self) -> Workspace:
        return new_workspace(self.network, self._energies, self.mode, self._scale)

    def copy_for_thread(self) -> Scheduler:
        """A copy of this scheduler for another thread."""
        made = copy(self)
        made._desk = self._new_desk()
        return made

    def run(self, allocation: Allocation) -> Workspace:
        """The state after all nodes are scheduled; valid until the next call.

        Raises:
            InputError: if the allocation assigns a node group to a core that is not allowed.
            InfeasibleError: if a tensor exceeds the capacity of a memory.
        """
        cores = self._cores(allocation)
        while True:
            reset_workspace(self._desk, cores)
            schedule_nodes(self._desk.job)
            if self._desk.state.counters[t.FAILURE] != t.FULL:
                break
            assert self._scale < _LARGEST, "the schedule does not end"
            self._scale *= 2
            self._desk = self._new_desk()
        self._check(self._desk.state)
        return self._desk

    def fitness(self, allocation: Allocation) -> Fitness | None:
        """The costs of an allocation's schedule; ``None`` if it is infeasible.

        Raises:
            InputError: if the allocation assigns a node group to a core that is not allowed.
        """
        try:
            state, spending = self.run(allocation)[1:]
        except InfeasibleError:
            return None
        return Fitness(
            latency=latency_of(state),
            energy=float(spending.parts.sum()),
            memory=int(onchip_peaks(self.network, state).sum()),
        )

    def _cores(self, allocation: Allocation) -> Ints:
        genes = self.problem.space.groups
        if len(allocation) != len(genes):
            found = f"{len(allocation)} cores for {len(genes)} groups of nodes"
            raise InputError("allocation", found, "one core for each of them")
        for gene, core in zip(genes, allocation, strict=True):
            if core not in gene.cores:
                raise InputError(
                    f"allocation of layer {gene.layer}, group {gene.group}",
                    f"core {core}",
                    f"one of {', '.join(map(str, gene.cores))}",
                )
        places = np.array([self._places[core] for core in allocation], dtype=np.int64)
        return places[self.problem.space.group_of]

    def _check(self, state: t.State) -> None:
        counters = state.counters[:, 0]
        failure, node = counters[t.FAILURE], int(counters[t.FAILED_NODE])
        if failure == t.FINE:
            self._check_offchip(state)
            return
        nodes = self.problem.nodes
        layer = nodes.layer_of(node)[0].nest.name
        if failure == t.CANNOT_RUN:
            raise InfeasibleError(f"layer {layer}: node {nodes.id_of(node)} cannot run on its core")
        tensor, memory = int(counters[t.FAILED_TENSOR]), int(counters[t.FAILED_MEMORY])
        home = self.homes.memories[memory]
        raise InfeasibleError(
            f"layer {layer}: {self._name(tensor)} ({self.needs.tensors.bits[tensor]} bits) does "
            f"not fit into {home} ({home.level.instance.size} bits) with the other tensors that "
            f"node {nodes.id_of(node)} needs there; expected a larger memory or smaller nodes"
        )

    def _name(self, tensor: int) -> str:
        nodes, tensors = self.problem.nodes, self.needs.tensors
        node, slot = int(tensors.node[tensor]), int(tensors.operand[tensor])
        nest = nodes.layer_of(node)[0].nest
        operand = nest.inputs[slot - 1].operand if slot else nest.output.operand
        return f"{operand} of {nest.name} ({nodes.id_of(node)})"

    def _check_offchip(self, state: t.State) -> None:
        for memory in self.homes.offchip:
            home = self.homes.memories[memory]
            size, peak = home.level.instance.size, offchip_peak(self.network, state, memory)
            if peak > size:
                raise InfeasibleError(
                    f"network {self.problem.nodes.name}: a peak of {peak} bits exceeds the "
                    f"off-chip memory {home} ({size} bits); expected a larger memory"
                )
