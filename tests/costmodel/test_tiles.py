"""Layers and vector operators in tiles: sums over tiles, and copies that come before them."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.copies import copy_inward
from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.tiles import OperandCopies, TileCosts, sum_of_tiles, sum_of_vector_tiles
from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import MemoryLevel, Movement, Tensor, VectorNode
from nestmap.model.base import copy_with
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered


def with_energies(level: MemoryLevel, read: float, written: float) -> MemoryLevel:
    """The memory with these energies for an access."""
    energies: dict[str, object] = {"read_energy": read, "write_energy": written}
    return copy_with(level, {"instance": copy_with(level.instance, energies)})


REGISTER = with_energies(memory("register", size=64, width=8), 1.0, 2.0)
BUFFER = with_energies(memory("buffer", size=2**12, served="D1", width=32), 3.0, 5.0)
TOP = with_energies(memory("top", served="D1", width=64), 70.0, 110.0)
MACHINE = machine(REGISTER, BUFFER, TOP, sides={"D1": 2})


@given(bits=st.integers(1, 10_000))
def test_a_copy_takes_words_at_both_ends_of_each_link(bits: int) -> None:
    """Each end has its own width and energy; the slower end decides on the cycles."""
    one = copy_inward((BUFFER, TOP), "I1", bits)
    read, written = ceil(bits / 64), ceil(bits / 32)
    assert [(x.memory, x.movement, x.words) for x in one.accesses] == [
        ("top", Movement.RD_TO_LOW, read),
        ("buffer", Movement.WR_BY_HIGH, written),
    ]
    assert one.energy == pytest.approx(70.0 * read + 5.0 * written)
    assert one.cycles == written
    both = copy_inward((REGISTER, BUFFER, TOP), "I1", bits)
    on = copy_inward((REGISTER, BUFFER), "I1", bits)
    assert both.accesses == (*one.accesses, *on.accesses)
    assert both.cycles == one.cycles + ceil(bits / 8)


def test_no_copy_costs_nothing() -> None:
    """What is where it is wanted does not move."""
    assert copy_inward((BUFFER,), "I1", 100).energy == 0.0


CUTS = {"O": (0, 1, 2), "I": (0, 1, 2), "W": (0, 1, 2)}
SMALL = evaluate(mapped(matmul(4, 2), MACHINE), ordered("C 2 K 4", CUTS))
LARGE = evaluate(mapped(matmul(4, 6), MACHINE), ordered("C 6 K 4", CUTS))


def test_one_tile_is_the_layer() -> None:
    """The sum over one tile changes nothing."""
    assert sum_of_tiles([TileCosts(SMALL, 1)], []) == SMALL


def test_costs_of_tiles_add_up() -> None:
    """Energies, cycles and accesses are sums; a memory holds the most that a tile holds."""
    total = sum_of_tiles([TileCosts(SMALL, 2), TileCosts(LARGE, 3)], [])
    assert total.macs == 2 * SMALL.macs + 3 * LARGE.macs
    assert total.energy == pytest.approx(2 * SMALL.energy + 3 * LARGE.energy)
    assert total.latency == pytest.approx(2 * SMALL.latency + 3 * LARGE.latency)
    assert total.temporal_mapping == LARGE.temporal_mapping
    for level, small, large in zip(total.levels, SMALL.levels, LARGE.levels, strict=True):
        assert level.bits == max(small.bits, large.bits)
        pairs = zip(small.costs.accesses, large.costs.accesses, strict=True)
        assert level.costs.accesses == tuple(2 * a + 3 * b for a, b in pairs)
    stalls = zip(total.port_stalls, SMALL.port_stalls, LARGE.port_stalls, strict=True)
    for port, first, second in stalls:
        assert port.busy == 2 * (first.busy or 0) + 3 * (second.busy or 0)


def test_copies_count_at_their_memories_and_as_loading() -> None:
    """Also in memories above those that the tiles use."""
    own = tuple(x for x in SMALL.levels if (x.operand, x.memory) != ("W", "top"))
    tile = copy_with(SMALL, {"levels": own})
    copied = copy_inward((BUFFER, TOP), "I2", 64)
    copies = OperandCopies("W", (BUFFER, TOP), elements=8, bits=64, copies=((copied, 3),))
    total = sum_of_tiles([TileCosts(tile, 1)], [copies])
    assert total.memory_energy == pytest.approx(tile.memory_energy + 3 * copied.energy)
    assert total.onloading == tile.onloading + 3 * copied.cycles
    top = next(x for x in total.levels if (x.operand, x.memory) == ("W", "top"))
    assert top.level == 2
    assert top.costs.accesses_of(Movement.RD_TO_LOW) == 3
    assert top.bits == 64
    buffer, before = (x.level("W", 1).costs for x in (total, tile))
    assert buffer.accesses_of(Movement.WR_BY_HIGH) == before.accesses_of(Movement.WR_BY_HIGH) + 6


OPERATOR = VectorNode(
    name="relu",
    operator="Relu",
    iterations=(16,),
    inputs=(Tensor(name="x", sizes=(16,), precision=8),),
    outputs=(Tensor(name="y", sizes=(16,), precision=8),),
)


def test_a_vector_operator_reads_and_writes_in_different_memories() -> None:
    """Each tensor counts at its own memory; the busiest port decides on the cycles."""
    near = evaluate_vector(OPERATOR, MACHINE, BUFFER)
    far = evaluate_vector(OPERATOR, MACHINE, TOP)
    mixed = evaluate_vector(OPERATOR, MACHINE, TOP, (BUFFER,))
    assert near.memory_energy == pytest.approx(4 * 3.0 + 4 * 5.0)
    assert far.memory_energy == pytest.approx(2 * 70.0 + 2 * 110.0)
    assert mixed.memory_energy == pytest.approx(4 * 3.0 + 2 * 110.0)
    assert (mixed.memory, mixed.words_read, mixed.words_written) == ("top", 4, 2)
    assert mixed.traffic_cycles == 4
    assert evaluate_vector(OPERATOR, MACHINE, TOP, (None,)) == far


def test_vector_operators_in_tiles_add_up() -> None:
    """The latency is that of all tiles, one after the other."""
    one = evaluate_vector(OPERATOR, MACHINE, BUFFER)
    assert sum_of_vector_tiles([(one, 1)]) == one
    many = sum_of_vector_tiles([(one, 3), (one, 2)])
    assert many.energy == pytest.approx(5 * one.energy)
    assert many.latency == 5 * one.latency
    assert many.words_read == 5 * one.words_read
