"""Reads results from the state of the kernels: latency, energy, memory peaks, the full schedule.

Times are in cycles, sizes in bits, energies in pJ.
"""

import numpy as np
from numpy.typing import NDArray

from nestmap.model.arrays import Ints
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.schedule import (
    OperandStreams,
    Residencies,
    Schedule,
    ScheduleEnergy,
    ScheduleProblem,
    Transfers,
)
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.node_reads import NodeReads
from nestmap.search.multicore.schedule.operand_streaming import stream_energy
from nestmap.search.multicore.schedule.scheduler_state import Workspace


def latency_of(state: t.State) -> int:
    """The last end of all nodes and transfers, in cycles."""
    sent = state.transfers[: state.counters[t.N_TRANSFERS, 0], t.END]
    return int(max(state.nodes[:, t.NODE_END].max(initial=0), sent.max(initial=0)))


def onchip_peaks(network: t.Network, state: t.State) -> Ints:
    """The peak bits in each on-chip memory; 0 for off-chip memories."""
    places: Ints = np.arange(state.rooms.shape[1], dtype=np.int64)
    known: NDArray[np.bool_] = np.less(places, state.room_steps)
    peaks = np.where(known, state.rooms[:, :, t.USED], 0).max(axis=1)
    return np.asarray(np.where(network.memories[:, t.IS_OFFCHIP], 0, peaks), dtype=np.int64)


def offchip_peak(network: t.Network, state: t.State, memory: int) -> int:
    """The peak bits in an off-chip memory; the total written to it if that fits."""
    copies = state.copies[: state.counters[t.N_COPIES, 0]]
    there = copies[copies[:, t.MEMORY] == memory]
    bits = network.tensors[there[:, t.TENSOR], t.BITS]
    if int(bits.sum()) <= network.memories[memory, 0]:
        return int(bits.sum())
    gone = there[:, t.UNTIL] != t.NONE
    times = np.concatenate((there[:, t.SINCE], there[gone, t.UNTIL]))
    changes = np.concatenate((bits, -bits[gone]))
    at, place = np.unique(times, return_inverse=True)
    used = np.zeros(len(at), dtype=np.int64)
    np.add.at(used, place, changes)
    return int(np.cumsum(used).max(initial=0))


def energy_of(spending: t.Spending) -> ScheduleEnergy:
    """The energy in pJ by category."""
    parts = spending.parts[:, 0].tolist()
    sent = parts[t.SENT : t.STREAMING_LINKS]
    links, memory = sent[t.ON_WIRES :: 2], sent[t.IN_MEMORIES :: 2]
    return ScheduleEnergy(
        computation=parts[t.COMPUTATION],
        streaming=parts[t.STREAMING],
        constant_links=links[0],
        constant_memory=memory[0],
        activation_links=links[1],
        activation_memory=memory[1],
        eviction_links=links[2],
        eviction_memory=memory[2],
        result_links=links[3],
        result_memory=memory[3],
        streaming_links=parts[t.STREAMING_LINKS],
    )


def schedule_of(
    problem: ScheduleProblem, allocation: Allocation, needs: NodeReads, desk: Workspace
) -> Schedule:
    """Copies the state into an immutable schedule."""
    state = desk.state
    numbers = np.array(sorted(core.id for core in problem.accelerator.cores), dtype=np.int64)
    return Schedule(
        problem=problem,
        allocation=allocation,
        core=_fixed(numbers[state.nodes[:, t.CORE]]),
        start=_fixed(state.nodes[:, t.NODE_START]),
        end=_fixed(state.nodes[:, t.NODE_END]),
        tensors=needs.tensors,
        transfers=_transfers(state, desk.spending, numbers),
        streams=_streams(desk, numbers),
        residencies=_stays(state),
        latency=latency_of(state),
        energy=energy_of(desk.spending),
    )


def _fixed(column: NDArray[np.int64]) -> Ints:
    """A read-only copy."""
    made = np.array(column, dtype=np.int64)
    made.setflags(write=False)
    return made


def _transfers(state: t.State, spending: t.Spending, numbers: Ints) -> Transfers:
    rows = state.transfers[: state.counters[t.N_TRANSFERS, 0]]
    energies = spending.transfers[: len(rows)].copy()
    return Transfers(
        tensor=_fixed(rows[:, t.TENSOR]),
        sender=_fixed(rows[:, t.SENDER]),
        receiver=_fixed(rows[:, t.RECEIVER]),
        sending=_fixed(numbers[rows[:, t.SENDING]]),
        receiving=_fixed(numbers[rows[:, t.RECEIVING]]),
        start=_fixed(rows[:, t.START]),
        end=_fixed(rows[:, t.END]),
        kind=_fixed(rows[:, t.REASON]),
        node=_fixed(rows[:, t.CAUSE]),
        link_energy=energies[:, t.ON_WIRES],
        memory_energy=energies[:, t.IN_MEMORIES],
    )


def _streams(desk: Workspace, numbers: Ints) -> OperandStreams:
    state = desk.state
    rows = state.streams[: state.counters[t.N_STREAMS, 0]]
    start = state.nodes[rows[:, t.STREAM_NODE], t.NODE_START]
    end = state.nodes[rows[:, t.STREAM_NODE], t.NODE_END]
    energies = [
        0.0 if desk.job.reference else stream_energy(desk.job, sending, receiving, rate, duration)
        for sending, receiving, rate, duration in zip(
            rows[:, t.SENDING].tolist(),
            rows[:, t.RECEIVING].tolist(),
            rows[:, t.STREAM_RATE].tolist(),
            (end - start).tolist(),
            strict=True,
        )
    ]
    return OperandStreams(
        node=_fixed(rows[:, t.STREAM_NODE]),
        sending=_fixed(numbers[rows[:, t.SENDING]]),
        receiving=_fixed(numbers[rows[:, t.RECEIVING]]),
        start=_fixed(start),
        end=_fixed(end),
        rate=_fixed(rows[:, t.STREAM_RATE]),
        link_energy=np.array(energies, dtype=np.float64),
    )


def _stays(state: t.State) -> Residencies:
    rows = state.copies[: state.counters[t.N_COPIES, 0]]
    return Residencies(
        tensor=_fixed(rows[:, t.TENSOR]),
        memory=_fixed(rows[:, t.MEMORY]),
        since=_fixed(rows[:, t.SINCE]),
        available=_fixed(rows[:, t.AVAILABLE]),
        until=_fixed(rows[:, t.UNTIL]),
    )
