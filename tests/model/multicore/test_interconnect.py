"""The ways between cores: few steps, over links before buses, not through the memory off chip."""

from itertools import pairwise, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model.multicore.accelerator import Bus, ComputeCore, CoreId, MultiCoreAccelerator
from nestmap.model.multicore.builders import (
    AttachedCore,
    ChannelSpec,
    OffChip,
    bus,
    dram,
    mesh,
    number_cores,
)
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.pipeline.frontend.read.accelerator import read_multicore

WIRES = ChannelSpec(bandwidth=32)


def tpu_cores(count: int) -> tuple[ComputeCore, ...]:
    core = read_multicore("quad_tpu").compute_cores[0]
    return number_cores([core.accelerator] * count)


def grid(rows: int, columns: int, linked: tuple[CoreId, ...] = ()) -> MultiCoreAccelerator:
    far = OffChip(core=dram(rows * columns, 64, 15.0), wires=WIRES, linked=linked or (0,))
    return mesh("grid", tpu_cores(rows * columns), columns, WIRES, far)


def steps(ways: Interconnect, sender: CoreId, receiver: CoreId) -> list[str]:
    return [ways.channels[wire].name for wire in ways.path(sender, receiver)]


@given(st.integers(1, 4), st.integers(1, 4))
def test_paths_in_a_mesh_are_shortest_and_go_along_the_rows_first(rows: int, columns: int) -> None:
    machine = grid(rows, columns)
    ways = Interconnect(accelerator=machine)
    for a, b in product(range(rows * columns), repeat=2):
        (ya, xa), (yb, xb) = divmod(a, columns), divmod(b, columns)
        right, down = (1 if xb > xa else -1), (1 if yb > ya else -1)
        along = [ya * columns + x for x in range(xa, xb, right)]
        across = [y * columns + xb for y in range(ya, yb, down)]
        cores = [*along, *across, b]
        assert steps(ways, a, b) == [f"{x} -> {y}" for x, y in pairwise(cores)]


@given(st.integers(2, 4), st.integers(2, 4), st.data())
def test_paths_have_the_fewest_steps_on_the_chip(
    rows: int, columns: int, data: st.DataObject
) -> None:
    count = rows * columns
    linked = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    machine = grid(rows, columns, tuple(sorted(linked)))
    ways = Interconnect(accelerator=machine)
    on_chip = machine.graph().subgraph(range(count))
    lengths = dict(nx.all_pairs_shortest_path_length(on_chip))
    for a, b in product(range(count), repeat=2):
        assert len(ways.path(a, b)) == lengths[a][b]
        assert not any(f"{count}" in name.split(" -> ") for name in steps(ways, a, b))


def test_a_link_is_taken_before_a_bus_and_the_wider_bus_before_the_other() -> None:
    narrow, wide = Bus(cores=(0, 1, 2), bandwidth=16), Bus(cores=(0, 1, 2), bandwidth=64)
    machine = bus("pair", tpu_cores(2), WIRES, dram(2, 64, 15.0))
    ways = Interconnect(accelerator=machine.model_copy(update={"buses": (narrow, wide)}))
    assert ways.path(0, 1) == (1,)
    linked = machine.model_copy(update={"links": WIRES.links([(0, 1)]), "buses": (wide,)})
    assert Interconnect(accelerator=linked).path(0, 1) == (0,)
    assert Interconnect(accelerator=linked).path(0, 2) == (2,)


def test_cores_for_some_operators_are_passed_only_where_there_is_no_other_way() -> None:
    pool = read_multicore("quad_tpu").core(4)
    assert isinstance(pool, ComputeCore)
    beside = AttachedCore(core=pool.model_copy(update={"id": 4}), wires=ChannelSpec(bandwidth=1024))
    far = OffChip(core=dram(5, 64, 15.0), wires=WIRES, linked=(0, 4))
    ways = Interconnect(accelerator=mesh("square", tpu_cores(4), 2, WIRES, far, [beside]))
    assert steps(ways, 0, 3) == ["0 -> 1", "1 -> 3"]


def test_cores_that_share_a_memory_need_no_wire() -> None:
    ways = Interconnect(accelerator=read_multicore("dual_shared"))
    assert ways.path(0, 1) == ()
    assert steps(ways, 1, 2) == ["1 -> 2"]


def test_one_way_buses_and_hubs() -> None:
    reads = Bus(cores=(0, 1, 2), bandwidth=16, senders=(2,))
    writes = Bus(cores=(0, 1, 2), bandwidth=16, senders=(0, 1))
    hub = Bus(cores=(0, 1, 2), bandwidth=16, hub=2)
    assert list(reads.steps) == [(2, 0), (2, 1)]
    assert list(writes.steps) == [(0, 2), (1, 2)]
    assert sorted(hub.steps) == [(0, 2), (1, 2), (2, 0), (2, 1)]
    assert [str(x) for x in (reads, writes, hub)] == [
        "bus 2 -> 0, 1",
        "bus 0, 1 -> 2",
        "bus 2 <-> 0, 1",
    ]
    machine = bus("pair", tpu_cores(2), WIRES, dram(2, 64, 15.0))
    ways = Interconnect(accelerator=machine.model_copy(update={"buses": (reads, writes)}))
    assert ways.path(0, 1) == (1, 0)  # through the memory: there is no other way


@pytest.mark.parametrize(
    ("senders", "hub", "says"),
    [
        ((3,), None, "core 3 sends over bus"),
        ((0, 1, 2), None, "all cores of bus"),
        ((0, 0), None, "a core twice"),
        ((), 7, "has core 7 as its hub"),
        ((0,), 1, "one of its cores, and no senders"),
    ],
)
def test_buses_that_cannot_be(senders: tuple[int, ...], hub: int | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Bus(cores=(0, 1, 2), bandwidth=16, senders=senders, hub=hub)
