"""Allocates and resets the tables of the scheduling kernels, as large as needed."""

from typing import NamedTuple

from nestmap.model.arrays import Floats, Ints
from nestmap.search.multicore.schedule import table_layout as t
from nestmap.search.multicore.schedule.packed_tables import Job, Shape, pack_tables


class Mode(NamedTuple):
    """How to schedule.

    The candidate rule, whether to count as the reference, the off-chip core.
    """

    rule: int
    reference: bool
    offchip: int


class Workspace(NamedTuple):
    """A job, and the tables that it changes as arrays."""

    job: Job
    state: t.State
    spending: t.Spending


def new_workspace(
    network: t.Network, energies: t.Energies, mode: Mode, scale: int = 1
) -> Workspace:
    """A job with capacity for some evictions; ``scale`` multiplies this capacity."""
    integers: list[Ints | Shape] = [*network, *_state_shapes(network, scale)]
    numbers: list[Floats | Shape] = [*energies, *_spending_shapes(scale, network)]
    ints, floats, views, float_views = pack_tables(integers, numbers)
    state = t.State(*views[len(network) :])
    state.most_steps[:] = _most_steps(network, scale)
    return Workspace(
        Job(ints, floats, mode.rule, mode.reference, mode.offchip),
        state,
        t.Spending(*float_views[len(energies) :]),
    )


def _most_copies(network: t.Network, scale: int) -> int:
    return scale * (2 * len(network.needs) + 2 * len(network.tensors) + 64)


def _most_steps(network: t.Network, scale: int) -> int:
    return scale * (len(network.needs) + 2 * len(network.nodes) + 64)


def _state_shapes(network: t.Network, scale: int) -> list[Shape]:
    nodes, tensors, needs = len(network.nodes), len(network.tensors), len(network.needs)
    memories, wires = len(network.memories), len(network.bandwidths)
    copies, steps = _most_copies(network, scale), _most_steps(network, scale)
    shapes: dict[str, Shape] = {
        "rooms": (memories, steps, 2),
        "room_steps": (memories, 1),
        "traffic": (wires, steps, 2),
        "traffic_steps": (wires, 1),
        "most_steps": (1, 1),
        "copies": (copies, t.COPY_COLUMNS),
        "there": (memories, 2),
        "transfers": (copies, t.TRANSFER_COLUMNS),
        "streams": (2 * nodes, t.STREAM_COLUMNS),
        "reads": (tensors, t.TENSOR_COLUMNS),
        "left": (tensors, memories),
        "gone": (tensors, memories),
        "nodes": (nodes, t.STATE_COLUMNS),
        "order": (needs, 2),
        "ready": (nodes, 1),
        "idle": (len(network.is_at), 1),
        "counters": (t.COUNTERS, 1),
    }
    return [shapes[name] for name in t.State._fields]


def _spending_shapes(scale: int, network: t.Network) -> list[Shape]:
    return [(_most_copies(network, scale), 2), (t.ENERGY_PARTS, 1)]


def reset_workspace(desk: Workspace, cores: Ints) -> None:
    """Resets a job; ``cores`` are the rows of the cores that run the nodes.

    Rows of copies, transfers and streams beyond the counters are not cleared.
    """
    state = desk.state
    state.rooms[:, 0] = 0
    state.traffic[:, 0] = 0
    state.room_steps[:] = 1
    state.traffic_steps[:] = 1
    state.there[:] = t.NONE
    state.reads[:] = 0
    state.reads[:, (t.FIRST_COPY, t.LAST_TRANSFER, t.LAST_READ)] = t.NONE
    state.left[:] = t.NONE
    state.gone[:] = 0
    state.nodes[:] = 0
    state.nodes[:, t.CORE] = cores
    state.idle[:] = 0
    state.counters[:] = 0
    desk.spending.parts[:] = 0.0
