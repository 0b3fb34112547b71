"""The memory off the chip as a core sees it: as wide as its ports and the way, as dear a bit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    Bus,
    Link,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    MultiCoreAccelerator,
    PortKind,
    PortUse,
)
from nestmap.model.base import copy_with
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.search.multicore.core_costs.offchip_memory import (
    OffChip,
    offchip_of,
    with_offchip_level,
)
from tests.model.multicore.cores import core, far, star
from tests.zeros import bitmask

INPUTS, OUTPUTS = ("I1", "I2"), ("O",)


def port(kind: PortKind, width: int) -> MemoryPort:
    uses = [PortUse(operand=x, movement=m) for x in ("I1", "I2", "O") for m in Movement]
    allocation = tuple(use for use in uses if kind.carries(use.movement))
    return MemoryPort(name=kind, kind=kind, width_min=8, width_max=width, allocation=allocation)


def dram(*ports: MemoryPort) -> MemoryLevel:
    instance = MemoryInstance(
        name="dram", size=10**9, read_energy=100.0, write_energy=200.0, ports=ports
    )
    return MemoryLevel(instance=instance, operands=("I1", "I2", "O"))


BOTH = dram(port(PortKind.READ_WRITE, 64))
EACH = dram(port(PortKind.READ, 64), port(PortKind.WRITE, 32))


def added(offchip: OffChip, *operands: str) -> MemoryLevel:
    machine = core(0).accelerator
    made = with_offchip_level(machine, operands, offchip, {})
    assert made.memories[:-1] == machine.memories
    return made.memories[-1]


def test_it_compresses_what_the_memory_does() -> None:
    packed = copy_with(BOTH, {"compression": (bitmask("I1"), bitmask("O"))})
    level = added(OffChip(memories=(packed,)), "I1", "I2")
    assert level.compression == (bitmask("I1"),)


def test_nothing_streams_nothing_changes() -> None:
    machine = core(0).accelerator
    assert with_offchip_level(machine, (), OffChip(memories=(BOTH,)), {"buffer": 8}) == machine


def test_only_what_streams_sees_it_and_it_serves_all_units() -> None:
    level = added(OffChip(memories=(BOTH,)), "I2", "O")
    assert level.operands == ("I2", "O")
    assert level.served_dimensions == ("D1", "D2")
    assert [(x.kind, x.width_max) for x in level.instance.ports] == [(PortKind.READ_WRITE, 64)]
    assert (level.instance.read_energy, level.instance.write_energy) == (100.0, 200.0)


def test_a_narrow_way_makes_ports_narrow_and_accesses_cheap() -> None:
    offchip = OffChip(memories=(EACH,), down=16, up=8)
    instance = added(offchip, "I2", "O").instance
    assert [(x.kind, x.width_max) for x in instance.ports] == [
        (PortKind.READ, 16),
        (PortKind.WRITE, 8),
    ]
    assert (instance.read_energy, instance.write_energy) == (25.0, 50.0)


@pytest.mark.parametrize(
    "offchip",
    [
        OffChip(memories=(EACH,), down=16, up=16, common=True),
        OffChip(memories=(BOTH,), down=16, up=64),
    ],
)
def test_a_wire_or_a_port_for_both_ways_is_one_port(offchip: OffChip) -> None:
    instance = added(offchip, "I1", "O").instance
    assert [(x.kind, x.width_max) for x in instance.ports] == [(PortKind.READ_WRITE, 16)]


WIDTHS = st.one_of(st.none(), st.integers(1, 100))


@given(st.sampled_from([BOTH, EACH]), WIDTHS, WIDTHS, st.booleans())
def test_a_bit_costs_what_it_did(
    level: MemoryLevel, down: int | None, up: int | None, common: bool
) -> None:
    before = level.instance
    instance = added(OffChip(memories=(level,), down=down, up=up, common=common), "O").instance
    for kind, energy, was in (
        (PortKind.READ, instance.read_energy, before.read_energy),
        (PortKind.WRITE, instance.write_energy, before.write_energy),
    ):
        movement = Movement.RD_TO_LOW if kind is PortKind.READ else Movement.WR_BY_LOW
        now = next(x.width_max for x in instance.ports if x.kind.carries(movement))
        then = next(x.width_max for x in before.ports if x.kind.carries(movement))
        assert energy / now == pytest.approx(was / then)
        limits = [x for x in (down if kind is PortKind.READ else up, then) if x is not None]
        assert now <= min(limits)


def test_a_name_that_the_core_has_already_is_changed() -> None:
    offchip = OffChip(
        memories=(copy_with(BOTH, {"instance": copy_with(BOTH.instance, {"name": "buffer"})}),)
    )
    assert added(offchip, "I1").name == "offchip_buffer"


def test_memories_keep_what_is_reserved() -> None:
    machine = with_offchip_level(
        core(0).accelerator, ("I1",), OffChip(memories=(BOTH,)), {"buffer": 96}
    )
    assert [x.instance.size for x in machine.memories] == [4096 - 96, 10**9]


def test_operands_with_memories_of_their_own_off_the_chip_keep_them() -> None:
    inputs = copy_with(
        BOTH,
        {
            "instance": copy_with(BOTH.instance, {"name": "inputs", "ports": ports("I1", "I2")}),
            "operands": INPUTS,
        },
    )
    outputs = copy_with(
        BOTH,
        {
            "instance": copy_with(BOTH.instance, {"name": "outputs", "ports": ports("O")}),
            "operands": OUTPUTS,
        },
    )
    machine = with_offchip_level(
        core(0).accelerator, ("I1", "I2", "O"), OffChip(memories=(inputs, outputs)), {}
    )
    assert [(x.name, x.operands) for x in machine.memories[1:]] == [
        ("inputs", INPUTS),
        ("outputs", OUTPUTS),
    ]


def ports(*operands: str) -> tuple[MemoryPort, ...]:
    uses = tuple(PortUse(operand=x, movement=m) for x in operands for m in Movement)
    kind = PortKind.READ_WRITE
    return (MemoryPort(name=kind, kind=kind, width_min=8, width_max=64, allocation=uses),)


def seen(machine: MultiCoreAccelerator, *, narrowed: bool = True) -> OffChip:
    return offchip_of(machine, Interconnect(accelerator=machine), 0, narrowed=narrowed)


def test_the_narrowest_wire_counts() -> None:
    machine = MultiCoreAccelerator(
        name="row",
        cores=(core(0), core(1), far(9)),
        offchip=9,
        links=(
            Link(sender=9, receiver=1, bandwidth=48),
            Link(sender=1, receiver=0, bandwidth=None),
            Link(sender=0, receiver=1, bandwidth=24),
            Link(sender=1, receiver=9, bandwidth=40),
        ),
    )
    found = seen(machine)
    assert (found.down, found.up, found.common) == (48, 24, False)
    free = seen(machine, narrowed=False)
    assert (free.down, free.up, free.common) == (None, None, False)


def test_a_bus_for_both_ways_is_common() -> None:
    bus = Bus(cores=(0, 9), bandwidth=20)
    machine = copy_with(star(core(0)), {"links": (), "buses": (bus,)})
    found = seen(machine)
    assert (found.down, found.up, found.common) == (20, 20, True)
