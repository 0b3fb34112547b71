"""Schedules allocations of one problem one after another, reusing the same tables."""

from __future__ import annotations

from copy import copy
from typing import Final, final

import numpy as np

from nestmap.model.arrays import Ints
from nestmap.model.errors import InfeasibleError, InputError
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.population import Fitness
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.list_scheduler import schedule_nodes
from nestmap.search.multicore.schedule.node_reads import node_reads
from nestmap.search.multicore.schedule.problem_tables import (
    energies_of,
    mode_of,
    network_of,
    places_of_cores,
)
from nestmap.search.multicore.schedule.read_schedule import latency_of, offchip_peak, onchip_peaks
from nestmap.search.multicore.schedule.scheduler_state import (
    Workspace,
    new_workspace,
    reset_workspace,
)

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
