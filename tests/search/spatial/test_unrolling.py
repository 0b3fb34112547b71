"""How far loops can be unrolled, and the choices that follow."""

from itertools import combinations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import Accelerator, Loop, MappingProblem
from nestmap.search.spatial.unrolling import (
    divisors,
    of_one_dimension,
    of_several_dimensions,
    unrolling_limits,
    used_width,
    words_per_cycle,
)
from tests.costmodel.machines import loops, machine, matmul, memory
from tests.properties.variants import examples
from tests.strategies import mapping_problems

DIMENSIONS = ("K", "C", "OX")
LIMITS = st.fixed_dictionaries({d: st.integers(1, 24) for d in DIMENSIONS})


def fed(width: int, served: str = "D1") -> Accelerator:
    """Registers of that width for inputs (I1), outputs and weights below a wide memory."""
    registers = [memory(f"rf_{x}", 2**20, x, served, width) for x in ("I1", "I2", "O")]
    top = memory("top", served="D1 D2", width=2**16)
    return machine(*registers, top, sides={"D1": 8, "D2": 6})


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (1024, {"B": 2, "K": 8, "C": 5}),  # the array and the layer
        (24, {"B": 1, "K": 1, "C": 3}),  # 3 inputs of 8 bit, 1 partial sum of 16 bit
        (33, {"B": 2, "K": 2, "C": 4}),
        (4, {"B": 1, "K": 1, "C": 1}),  # not even one word: once at least
    ],
)
def test_the_innermost_memories_limit_what_they_serve(width: int, expected: dict[str, int]) -> None:
    limits = unrolling_limits(MappingProblem(layer=matmul(b=2, k=12, c=5), accelerator=fed(width)))
    assert limits == {"D1": expected, "D2": {"B": 2, "K": 6, "C": 5}}


def test_a_port_above_another_memory_limits_nothing() -> None:
    """It takes more cycles, as in the reference."""
    narrow = memory("top", served="D1 D2", width=16)
    below_outputs = machine(memory("rf", 2**20, "O", "", 16), narrow, sides={"D1": 8, "D2": 6})
    alone = machine(narrow, sides={"D1": 8, "D2": 6})
    layer = matmul(b=2, k=12, c=5)
    limits = unrolling_limits(MappingProblem(layer=layer, accelerator=below_outputs))
    assert limits["D2"] == {"B": 2, "K": 6, "C": 5}
    limits = unrolling_limits(MappingProblem(layer=layer, accelerator=alone))
    assert limits["D2"] == {"B": 1, "K": 1, "C": 2}


@examples
@given(mapping_problems())
def test_limits_are_those_of_layer_array_and_ports(problem: MappingProblem) -> None:
    array, sizes = problem.accelerator.array.sizes, problem.layer.sizes
    for side, limits in unrolling_limits(problem).items():
        feeding = [
            x
            for x in problem.links
            if side in (innermost := problem.levels(x)[0]).served_dimensions
            and all(problem.accelerator.levels_of(m)[0] == innermost for m in innermost.operands)
        ]
        for dimension, limit in limits.items():
            words = [
                max(1, words_per_cycle(problem, x))
                for x in feeding
                if dimension in used_width(problem, x)
            ]
            assert limit == min([array[side], sizes[dimension], *words])


@pytest.mark.parametrize(
    ("number", "expected"), [(1, ()), (7, (7,)), (12, (2, 3, 4, 6, 12)), (16, (2, 4, 8, 16))]
)
def test_divisors(number: int, expected: tuple[int, ...]) -> None:
    assert divisors(number) == expected


def test_one_dimension_is_unrolled_by_divisors_the_largest_first() -> None:
    found = list(of_one_dimension({"K": 6, "C": 1}, ["C", "K"]))
    assert found == [loops(x) for x in ("C 1", "K 6", "K 3", "K 2", "K 1")]


def test_several_dimensions_stand_next_to_each_other() -> None:
    found = list(of_several_dimensions({"K": 4, "C": 2, "OX": 3}, ["K", "C", "OX"], 8))
    pairs = ("K 2 C 2", "K 4 C 2", "K 2 OX 3", "C 2 OX 3")
    assert found == [loops(x) for x in pairs]  # all three take at least 12 units


@examples
@given(LIMITS, st.integers(1, 64))
def test_several_dimensions_are_all_that_fit(limits: dict[str, int], room: int) -> None:
    found = list(of_several_dimensions(limits, DIMENSIONS, room))
    assert len(set(found)) == len(found)
    choices = [[Loop(dimension=d, size=n) for n in divisors(limits[d])] for d in DIMENSIONS]
    expected = {
        (*pair, *rest)
        for a, b in combinations(range(3), 2)
        for pair in ((x, y) for x in choices[a] for y in choices[b])
        for rest in ([()] if b != 1 else [(), *((z,) for z in choices[2])])
        if prod(x.size for x in (*pair, *rest)) <= room
    }
    assert set(found) == expected
