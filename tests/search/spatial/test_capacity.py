"""Mappings cut down to what the innermost memories hold."""

from math import prod

import pytest
from hypothesis import given

from nestmap.model import Accelerator, MappingProblem, SpatialMapping, SpatialProblem
from nestmap.search.spatial.capacity import within_capacity
from nestmap.search.spatial.unrolling import precision_of, used_width
from tests.costmodel.machines import machine, mapped, matmul, memory
from tests.properties.variants import examples
from tests.strategies import spatial_problems


def sharing(bits: int, operand: str = "I1") -> Accelerator:
    """A memory of that size that serves all 64 units with an operand."""
    others = " ".join(x for x in ("I1", "I2", "O") if x != operand)
    served = "D1 D2"
    inner = memory("inner", bits, operand, served), memory("rest", 2**20, others, served)
    return machine(*inner, memory("top", served=served), sides={"D1": 8, "D2": 8})


@pytest.mark.parametrize(
    ("words", "given_by", "expected"),
    [
        (64, {"D1": "C 8", "D2": "B 8"}, {"D1": "C 8", "D2": "B 8"}),
        (63, {"D1": "C 8", "D2": "B 8"}, {"D1": "C 8", "D2": "B 7"}),  # the last of equals
        (49, {"D1": "C 8", "D2": "B 8"}, {"D1": "C 7", "D2": "B 7"}),
        (16, {"D1": "C 8", "D2": "B 3"}, {"D1": "C 5", "D2": "B 3"}),
        (6, {"D1": "C 2 B 2", "D2": "B 2"}, {"D1": "C 2 B 2", "D2": ""}),  # 1: left out
        (2, {"D1": "K 8", "D2": "B 8"}, {"D1": "K 8", "D2": "B 2"}),  # K needs no other inputs
        (0, {"D1": "C 8", "D2": "B 8"}, {"D1": "", "D2": ""}),
    ],
)
def test_the_largest_unrolling_is_made_smaller(
    words: int, given_by: dict[str, str], expected: dict[str, str]
) -> None:
    layer, accelerator = matmul(k=64, c=64, b=64), sharing(max(1, words * 8))
    spatial = mapped(layer, accelerator, given_by)
    wanted = mapped(layer, accelerator, expected).spatial_mapping
    assert within_capacity(spatial.problem, spatial.spatial_mapping) == wanted


def test_outputs_count_as_partial_sums() -> None:
    layer, accelerator = matmul(k=64, c=64, b=64), sharing(16 * 12, "O")
    spatial = mapped(layer, accelerator, {"D1": "K 8", "D2": "B 2"})
    found = within_capacity(spatial.problem, spatial.spatial_mapping)
    assert found == mapped(layer, accelerator, {"D1": "K 6", "D2": "B 2"}).spatial_mapping


@examples
@given(spatial_problems())
def test_what_is_left_fits_and_is_as_large_as_needed(spatial: SpatialProblem) -> None:
    problem = spatial.problem
    found = within_capacity(problem, spatial.spatial_mapping)
    SpatialProblem(problem=problem, spatial_mapping=found)  # raises where it is not valid
    assert within_capacity(problem, found) == found
    for operand in problem.links:
        assert words(problem, found, operand) <= max(1, room(problem, operand))
    if all(words(problem, spatial.spatial_mapping, x) <= room(problem, x) for x in problem.links):
        sizes = problem.layer.sizes
        assert all(found.factor_of(d) == spatial.spatial_mapping.factor_of(d) for d in sizes)


def room(problem: MappingProblem, operand: str) -> int:
    """Words that fit the innermost memory of an operand."""
    return problem.levels(operand)[0].instance.size // precision_of(problem, operand)


def words(problem: MappingProblem, chosen: SpatialMapping, operand: str) -> int:
    """Words that the units along its dimensions work on at a time."""
    served = problem.levels(operand)[0].served_dimensions
    used = used_width(problem, operand)
    return prod(loop.size for side in served for loop in chosen.on(side) if loop.dimension in used)
