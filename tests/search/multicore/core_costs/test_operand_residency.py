"""Which operands stream from off the chip: by hand, and as a property."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import MappingProblem, MemoryLevel, SpatialMapping, Unrolling
from nestmap.model.base import copy_with
from nestmap.model.dims import Loop
from nestmap.model.workload.densities import set_layer_densities
from nestmap.search.multicore.core_costs.operand_residency import (
    by_size,
    fits_with_tile,
    reduce_memory,
    reserved_bits,
    streamed_operands,
)
from tests.model.builders import array, fully_connected, machine, memory
from tests.model.multicore.cores import core
from tests.zeros import bitmask

SHARED = memory("buffer", "I1", "I2", "O", size=1000)
APART = {
    "I1": memory("inputs", "I1", size=100),
    "I2": memory("weights", "I2", "O", size=300),
    "O": memory("weights", "I2", "O", size=300),
}


def alike(level: MemoryLevel) -> dict[str, MemoryLevel]:
    return dict.fromkeys(level.operands, level)


@pytest.mark.parametrize(
    ("held", "streamed"),
    [
        ({"O": 400, "I1": 300, "I2": 300}, ()),
        ({"O": 401, "I1": 300, "I2": 300}, ("O",)),
        ({"O": 300, "I1": 300, "I2": 5000}, ("I2",)),
        ({"O": 100, "I1": 950, "I2": 5000}, ("I1", "I2")),
        ({"O": 1001, "I1": 2000, "I2": 3000}, ("I1", "I2", "O")),
        ({"O": 500, "I1": 501, "I2": 499}, ("I1",)),
        ({"O": 999}, ()),
    ],
)
def test_the_smallest_ones_stay_that_fit_together(
    held: dict[str, int], streamed: tuple[str, ...]
) -> None:
    assert streamed_operands(alike(SHARED), held) == streamed


def test_each_outermost_memory_decides_for_itself() -> None:
    assert streamed_operands(APART, {"I1": 101, "I2": 200, "O": 100}) == ("I1",)
    assert streamed_operands(APART, {"I1": 100, "I2": 200, "O": 101}) == ("I2",)
    assert streamed_operands(APART, {"I1": 100, "I2": 301, "O": 300}) == ("I2",)


HELD = st.fixed_dictionaries({x: st.integers(0, 1500) for x in ("I1", "I2", "O")})


@given(HELD, st.booleans())
def test_what_stays_fits_and_no_larger_operand_would(held: dict[str, int], apart: bool) -> None:
    levels = APART if apart else alike(SHARED)
    streamed = streamed_operands(levels, held)
    for level in {x.name: x for x in levels.values()}.values():
        here = [x for x in held if levels[x].name == level.name]
        stays = [held[x] for x in here if x not in streamed]
        passes = [held[x] for x in here if x in streamed]
        assert sum(stays) <= level.instance.size
        if passes:
            assert sum(stays) + min(passes) > level.instance.size
            assert min(passes) >= max(stays, default=0)


@given(HELD)
def test_more_and_more_streams_until_all_does(held: dict[str, int]) -> None:
    steps = list(by_size(alike(SHARED), held))
    assert steps[0] == streamed_operands(alike(SHARED), held)
    assert set(steps[-1]) == set(held)
    for before, after in pairwise(steps):
        (new,) = set(after) - set(before)
        assert set(before) < set(after)
        assert held[new] == max(held[x] for x in held if x not in before)


def unrolled(k: int, c: int) -> SpatialMapping:
    pairs = (("D1", "K", k), ("D2", "C", c))
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=side, loops=(Loop(dimension=d, size=n),))
            for side, d, n in pairs
        )
    )


@pytest.mark.parametrize(
    ("size", "mapping", "room"),
    [
        # what stays: 2 x 8 outputs and 2 x 4 inputs of 8 bits, as held says: 192 bits
        (192 + 64, unrolled(4, 2), True),  # 4 x 2 weights of 8 bits
        (192 + 63, unrolled(4, 2), False),
        (192 + 32, unrolled(4, 1), True),
        (192 + 8, unrolled(1, 1), True),
        (192, unrolled(1, 1), False),
    ],
)
def test_what_streams_needs_room_for_what_the_array_works_on(
    size: int, mapping: SpatialMapping, room: bool
) -> None:
    only = core(0, memory=replaced_size(size))
    problem = MappingProblem(layer=fully_connected(), accelerator=only.accelerator)
    held = {"O": 128, "I1": 64, "I2": 256}
    assert fits_with_tile(problem, only, held, ("I2",), [mapping]) is room
    assert fits_with_tile(problem, only, held, ("I1", "I2", "O"), [mapping])


def replaced_size(size: int) -> MemoryLevel:
    return memory("buffer", "I1", "I2", "O", size=size)


def test_what_others_have_made_beside_the_layers_own_takes_room() -> None:
    only = core(0, memory=replaced_size(4096))
    problem = MappingProblem(layer=fully_connected(), accelerator=only.accelerator)
    own = {"O": 2 * 8 * 8, "I1": 2 * 4 * 8, "I2": 4 * 8 * 8}
    assert reserved_bits(problem, only, own, ("I2",)) == {"buffer": 0}
    more = {**own, "I1": own["I1"] + 72, "I2": 10**6}
    assert reserved_bits(problem, only, more, ("I2",)) == {"buffer": 72}
    assert reserved_bits(problem, only, more, ("I1", "I2")) == {"buffer": 0}


def test_so_it_does_where_the_memory_compresses_it() -> None:
    packed = copy_with(replaced_size(4096), {"compression": (bitmask("I1"),)})
    only = core(0, memory=packed)
    layer = set_layer_densities(fully_connected(), {"I": 0.25})
    problem = MappingProblem(layer=layer, accelerator=only.accelerator)
    own = {"O": 2 * 8 * 8, "I1": 2 * 4 * 3, "I2": 4 * 8 * 8}
    assert reserved_bits(problem, only, own, ()) == {"buffer": 0}
    more = {**own, "I1": own["I1"] + 5}
    assert reserved_bits(problem, only, more, ()) == {"buffer": 5}


def test_inner_memories_of_all_units_together_fit_the_outermost_one() -> None:
    """Registers of 8 units below a memory of three operands."""
    register = memory("register", "O", size=4096)
    buffer = memory("buffer", "I1", "I2", "O", served=("D1", "D2"), size=4800)
    accelerator = copy_with(machine(), {"array": array(4, 2), "memories": (register, buffer)})
    sizes = {x.name: x.instance.size for x in reduce_memory(accelerator).memories}
    assert sizes == {"register": 4800 // (8 * 3), "buffer": 4800}
    assert reduce_memory(reduce_memory(accelerator)) == reduce_memory(accelerator)
