"""Accelerators of several cores: identity, what must hold, builders against explicit lists."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from nestmap.model import (
    Bus,
    InputError,
    Link,
    Loop,
    MultiCoreAccelerator,
    SpatialMapping,
    Unrolling,
)
from nestmap.model.base import copy_with
from nestmap.model.multicore.builders import (
    AttachedCore,
    ChannelSpec,
    OffChip,
    bus,
    dram,
    mesh,
    number_cores,
    point_to_point,
)
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.pipeline.frontend.bundled import multicore_names
from nestmap.pipeline.frontend.read.accelerator import read_multicore
from tests.model.multicore.cores import buffer, core, ends, far, star
from tests.sweeps import some_of

WIRES = ChannelSpec(bandwidth=32, energy_per_bit=0.5, energy_per_cycle=2.0)
WAY = OffChip(core=far(9), wires=ChannelSpec(bandwidth=64))


@pytest.mark.parametrize("name", multicore_names())
def test_they_come_back_from_json(name: str) -> None:
    model = read_multicore(name)
    again = MultiCoreAccelerator.model_validate_json(model.model_dump_json())
    assert again == model
    assert again.content_hash == model.content_hash


def test_hashes_never_change() -> None:
    assert star(core(0), core(1)).content_hash == "fcd231e942c6879395088bdb62edbc90"


def test_whatever_changes_changes_the_hash() -> None:
    model = star(core(0), core(1))
    others = (
        star(core(0)),
        star(core(0), core(1, ("Conv",))),
        star(core(0), core(1), offchip=8),
        copy_with(model, {"shared": ((0, 1),)}),
        copy_with(model, {"links": (*model.links, WIRES.link(0, 1))}),
        copy_with(model, {"buses": (WIRES.bus((0, 1)),)}),
        copy_with(model, {"links": tuple(copy_with(x, {"bandwidth": None}) for x in model.links)}),
    )
    assert len({x.content_hash for x in (model, *others)}) == len(others) + 1


def test_tensors_live_in_the_outermost_memories() -> None:
    model = star(core(0), core(1))
    assert {name: x.name for name, x in model.core(0).top_levels.items()} == {
        "I1": "buffer",
        "I2": "buffer",
        "O": "buffer",
    }
    assert {x.name for x in model.core(9).top_levels.values()} == {"dram"}
    assert [x.id for x in model.compute_cores] == [0, 1]
    with pytest.raises(KeyError):
        model.core(5)


def test_steps_go_over_links_buses_and_shared_memory() -> None:
    cores = (core(0), core(1), core(2), core(3), far(9))
    model = MultiCoreAccelerator(
        name="ways",
        cores=cores,
        offchip=9,
        links=(Link(sender=9, receiver=0, bandwidth=8), Link(sender=0, receiver=9, bandwidth=4)),
        buses=(Bus(cores=(0, 3, 9), bandwidth=None),),
        shared=((0, 1, 2),),
    )
    steps = set(model.graph().edges)
    assert steps == {
        *((9, 0), (0, 9), (0, 3), (3, 0), (3, 9), (9, 3)),
        *((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)),
    }


def flow(name: str, factor: int) -> SpatialMapping:
    loops = (Loop(dimension="K", size=factor),)
    return SpatialMapping(unrollings=(Unrolling(array_dimension=name, loops=loops),))


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "a number twice": (lambda: star(core(0), core(0)), "2 cores have the number 0"),
    "an unknown core off the chip": (
        lambda: copy_with(star(core(0)), {"offchip": 5}),
        "offchip names core 5; expected one of 0, 9",
    ),
    "a link to nowhere": (
        lambda: copy_with(star(core(0)), {"links": (WIRES.link(0, 7),)}),
        "link 0 -> 7 names core 7; expected one of 0, 9",
    ),
    "a bus to nowhere": (
        lambda: copy_with(star(core(0)), {"buses": (WIRES.bus((0, 7)),)}),
        "bus 0, 7 names core 7",
    ),
    "a link twice": (
        lambda: copy_with(star(core(0)), {"links": (WIRES.link(0, 9), WIRES.link(0, 9))}),
        "2 links 0 -> 9; expected one",
    ),
    "a link to itself": (lambda: WIRES.link(3, 3), "from core 3 to itself"),
    "a bus with one core twice": (lambda: WIRES.bus((3, 3)), "bus 3, 3 has a core twice"),
    "no bandwidth": (lambda: ChannelSpec(bandwidth=0), "greater than 0"),
    "negative bandwidth": (lambda: Link(sender=0, receiver=1, bandwidth=-8), "greater than 0"),
    "a core off the chip that computes": (
        lambda: copy_with(star(core(0)), {"offchip": 0}),
        "off-chip core 0 is a compute core; expected a storage core",
    ),
    "nothing computes": (
        lambda: MultiCoreAccelerator(name="x", cores=(far(0), far(1)), offchip=0),
        "no compute core",
    ),
    "an unreachable core": (
        lambda: copy_with(star(core(0), core(1)), {"links": WIRES.links([(0, 9)])}),
        "no path from core 9 to core 1; expected links",
    ),
    "a way in one direction": (
        lambda: copy_with(star(core(0)), {"links": (WIRES.link(9, 0),)}),
        "no path from core 0 to core 9",
    ),
    "memory shared by one": (
        lambda: copy_with(star(core(0)), {"shared": ((0,),)}),
        "memory shared by core 0 alone",
    ),
    "memory shared twice": (
        lambda: copy_with(star(core(0), core(1)), {"shared": ((0, 1), (1, 0))}),
        "core 0 occurs 2 times in shared memories",
    ),
    "memory shared with the core off the chip": (
        lambda: copy_with(star(core(0)), {"shared": ((0, 9),)}),
        "shared with off-chip core 9",
    ),
    "shared memory of another name": (
        lambda: copy_with(star(core(0), core(1, memory=buffer("sram"))), {"shared": ((0, 1),)}),
        "core 0 has buffer; core 1 has sram; expected the same one in each",
    ),
    "shared memory of another size": (
        lambda: copy_with(star(core(0), core(1, memory=buffer(size=64))), {"shared": ((0, 1),)}),
        "buffer of core 1 is not that of core 0; expected the same size",
    ),
    "shared memory with another port": (
        lambda: copy_with(star(core(0), core(1, memory=buffer(width=32))), {"shared": ((0, 1),)}),
        "buffer of core 1 is not that of core 0; expected the same size, ports",
    ),
    "a dataflow over another dimension": (
        lambda: copy_with(core(0), {"dataflows": (flow("D3", 2),)}),
        "a dataflow of core core0 over D3; expected one over its array dimensions: D1, D2",
    ),
    "a dataflow that is too large": (
        lambda: copy_with(core(0), {"dataflows": (flow("D1", 4), flow("D2", 4))}),
        "unrolls 4 times over D2; expected at most 2",
    ),
    "two memories for one operand of a core that stores": (
        lambda: copy_with(far(0), {"memories": (buffer("a"), buffer("b"))}),
        "2 memories of core dram hold I1",
    ),
}


@pytest.mark.parametrize(("make", "told"), WRONG.values(), ids=list(WRONG))
def test_what_cannot_be_is_told(make: Callable[[], object], told: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(told)):
        make()


def test_cores_may_use_the_ports_of_a_shared_memory_for_different_operands() -> None:
    memories = (buffer(operands=("I1", "O")), buffer("weights", operands=("I2",)))
    apart = core(0)
    apart = copy_with(apart, {"accelerator": copy_with(apart.accelerator, {"memories": memories})})
    shared = copy_with(star(apart, core(1)), {"shared": ((0, 1),)})
    assert [str(x) for x in TopMemories(accelerator=shared).memories] == [
        "buffer of cores 0, 1",
        "weights of core 0",
        "dram of core 9",
    ]


def test_a_mesh_is_its_links() -> None:
    made = mesh("m", [core(i) for i in range(6)], 3, WIRES, WAY)
    pairs = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
    explicit = point_to_point("m", [core(i) for i in range(6)], pairs, WIRES, WAY)
    assert ends(made.links) == ends(explicit.links)
    assert set(made.links) == {WIRES.link(a, b) for x, y in pairs for a, b in ((x, y), (y, x))}
    assert made.buses == explicit.buses == (ChannelSpec(bandwidth=64).bus((*range(6), 9)),)
    assert [x.coordinates for x in made.compute_cores] == [
        *((0, 0), (1, 0), (2, 0)),
        *((0, 1), (1, 1), (2, 1)),
    ]


def test_cores_beside_a_mesh_are_linked_to_all_of_it() -> None:
    pooling, simd = core(4, ("MaxPool",)), core(5, ("Add",))
    free = ChannelSpec()
    made = mesh(
        "m",
        [core(i) for i in range(4)],
        2,
        WIRES,
        OffChip(core=far(9), wires=WIRES, linked=(0, 1, 4, 5)),
        (AttachedCore(core=pooling, wires=WIRES), AttachedCore(core=simd, wires=free)),
    )
    of_simd = {link for link in made.links if 5 in (link.sender, link.receiver)}
    around = {link for link in of_simd if 9 not in (link.sender, link.receiver)}
    assert around == set(free.links((i, 5) for i in range(4)))
    assert {link for link in made.links if 9 in (link.sender, link.receiver)} == set(
        WIRES.links((9, i) for i in (0, 1, 4, 5))
    )
    assert made.buses == ()
    assert len(made.links) == 8 + 8 + 8 + 8


def test_a_bus_joins_all() -> None:
    made = bus("b", [core(0), core(1)], WIRES, far(2))
    assert made.links == ()
    assert made.buses == (
        Bus(cores=(0, 1, 2), bandwidth=32, energy_per_bit=0.5, energy_per_cycle=2.0),
    )


def test_accelerators_are_numbered() -> None:
    made = number_cores([core(7).accelerator] * 2, first=3)
    assert made == (copy_with(core(7), {"id": 3}), copy_with(core(7), {"id": 4}))


def test_energies_of_a_dram_are_for_a_bit() -> None:
    (level,) = dram(0, 64, 15.0, size=2**20).memories
    assert (level.instance.read_energy, level.instance.size) == (960.0, 2**20)
    assert level.port_index("O", next(x.movement for x in level.instance.ports[0].allocation)) == 0


@pytest.mark.parametrize(("count", "columns"), [(5, 2), (0, 2), (4, 0), (4, -1)])
def test_a_mesh_has_full_rows(count: int, columns: int) -> None:
    with pytest.raises(InputError, match=rf"mesh 'm': found {count} cores in rows of {columns};"):
        mesh("m", [core(i) for i in range(count)], columns, WIRES, WAY)


@settings(max_examples=some_of(40), deadline=None)
@given(st.integers(1, 5), st.integers(1, 5))
def test_meshes_have_the_degrees_of_a_grid(rows: int, columns: int) -> None:
    count = rows * columns
    way = OffChip(core=far(count), wires=WIRES)
    made = mesh("m", [core(i) for i in range(count)], columns, WIRES, way)
    assert len(made.links) == 2 * (rows * (columns - 1) + columns * (rows - 1))
    assert Counter(x.sender for x in made.links) == Counter(x.receiver for x in made.links)
    degrees = Counter(link.sender for link in made.links)
    places = {x.id: x.coordinates for x in made.compute_cores}
    assert len(set(places.values())) == count
    for number, place in places.items():
        assert place is not None
        column, row = place
        inner = (column > 0) + (column < columns - 1) + (row > 0) + (row < rows - 1)
        assert degrees[number] == inner
    for link in made.links:
        one, other = places[link.sender], places[link.receiver]
        assert one is not None
        assert other is not None
        assert abs(one[0] - other[0]) + abs(one[1] - other[1]) == 1
