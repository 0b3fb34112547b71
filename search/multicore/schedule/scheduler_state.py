"""Allocates and resets the tables of the scheduling kernels, as large as needed."""

from __future__ import annotations

from typing import NamedTuple

from nestmap.model.arrays import Floats, Ints
from nestmap.search.multicore.schedule.packed_tables import Job, Shape, pack_tables
from nestmap.search.multicore.schedule.table_layout import (
    COPY_COLUMNS,
    CORE,
    COUNTERS,
    ENERGY_PARTS,
    FIRST_COPY,
    LAST_READ,
    LAST_TRANSFER,
    NONE,
    STATE_COLUMNS,
    STREAM_COLUMNS,
    TENSOR_COLUMNS,
    TRANSFER_COLUMNS,
    Energies,
    Network,
    Spending,
    State,
)


class Mode(NamedTuple):
    """How to schedule.

    The candidate rule, whether to follow Stream's convention, the off-chip core.
    """

    rule: int
    reference: bool
    offchip: int


class Workspace(NamedTuple):
    """A job, and the tables that it changes as arrays."""

    job: Job
    state: State
    spending: Spending


def new_workspace(network: Network, energies: Energies, mode: Mode, scale: int = 1) -> Workspace:
    """A job with capacity for some evictions; ``scale`` multiplies this capacity."""
    integers: list[Ints | Shape] = [*network, *_state_shapes(network, scale)]
    numbers: list[Floats | Shape] = [*energies, *_spending_shapes(scale, network)]
    ints, floats, views, float_views = pack_tables(integers, numbers)
    state = State(*views[len(network) :])
    state.most_steps[:] = _most_steps(network, scale)
    return Workspace(
        Job(ints, floats, mode.rule, mode.reference, mode.offchip),
        state,
        Spending(*float_views[len(energies) :]),
    )


def _most_copies(network: Network, scale: int) -> int:
    return scale * (2 * len(network.needs) + 2 * len(network.tensors) + 64)


def _most_steps(network: Network, scale: int) -> int:
    return scale * (len(network.needs) + 2 * len(network.nodes) + 64)


def _state_shapes(network: Network, scale: int) -> list[Shape]:
    nodes, tensors, needs = len(network.nodes), len(network.tensors), len(network.needs)
    memories, wires = len(network.memories), len(network.bandwidths)
    copies, steps = _most_copies(network, scale), _most_steps(network, scale)
    shapes: dict[str, Shape] = {
        "rooms": (memories, steps, 2),
        "room_steps": (memories, 1),
        "traffic": (wires, steps, 2),
        "traffic_steps": (wires, 1),
        "most_steps": (1, 1),
        "copies": (copies, COPY_COLUMNS),
        "there": (memories, 2),
        "transfers": (copies, TRANSFER_COLUMNS),
        "streams": (2 * nodes, STREAM_COLUMNS),
        "reads": (tensors, TENSOR_COLUMNS),
        "left": (tensors, memories),
        "gone": (tensors, memories),
        "nodes": (nodes, STATE_COLUMNS),
        "order": (needs, 2),
        "ready": (nodes, 1),
        "idle": (len(network.is_at), 1),
        "counters": (COUNTERS, 1),
    }
    return [shapes[name] for name in State._fields]


def _spending_shapes(scale: int, network: Network) -> list[Shape]:
    return [(_most_copies(network, scale), 2), (ENERGY_PARTS, 1)]


def reset_workspace(desk: Workspace, cores: Ints) -> None:
    """Resets a job; ``cores`` are the rows of the cores that run the nodes.

    Rows of copies, transfers and streams beyond the counters are not cleared.
    """
    state = desk.state
    state.rooms[:, 0] = 0
    state.traffic[:, 0] = 0
    state.room_steps[:] = 1
    state.traffic_steps[:] = 1
    state.there[:] = NONE
    state.reads[:] = 0
    state.reads[:, (FIRST_COPY, LAST_TRANSFER, LAST_READ)] = NONE
    state.left[:] = NONE
    state.gone[:] = 0
    state.nodes[:] = 0
    state.nodes[:, CORE] = cores
    state.idle[:] = 0
    state.counters[:] = 0
    desk.spending.parts[:] = 0.0
