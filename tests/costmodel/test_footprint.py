"""What memories hold, against counting the elements that the loops below touch."""

from itertools import product

import pytest
from hypothesis import given

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import AffineIndex, Layer, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.model.workload.layer import Operand
from tests.costmodel.machines import convolution, loops, machine, mapped, matmul, memory, ordered
from tests.properties.variants import examples
from tests.strategies import Case, evaluated_cases


def iterations(case: Case, operand: str, level: int) -> dict[str, int]:
    """Iterations of each dimension in the loops and units below one instance of a memory."""
    memories = case.spatial.problem.levels(operand)[: level + 1]
    served = {side for memory_level in memories for side in memory_level.served_dimensions}
    unrolled = [loop for side in served for loop in case.spatial.spatial_mapping.on(side)]
    below = case.temporal.order[: case.temporal.cuts_of(operand)[level]]
    sizes = dict.fromkeys(case.spatial.layer.sizes, 1)
    for loop in (*below, *unrolled):
        sizes[loop.dimension] *= loop.size
    return sizes


def touched(layer: Layer, operand: Operand, sizes: dict[str, int]) -> int:
    """Elements of the operand that loops of these sizes touch, counted one by one."""
    count = 1
    for index in operand.indices:
        whole = tuple(layer.sizes[d] for d in index.dimensions)
        count *= min(len(positions(index, sizes)), axis(index, whole))
    return count


def positions(index: AffineIndex, sizes: dict[str, int]) -> set[int]:
    ranges = [range(0, sizes[t.dimension] * t.coefficient, t.coefficient) for t in index.terms]
    return {sum(steps) for steps in product(*ranges)}


def axis(index: AffineIndex, whole: tuple[int, ...]) -> int:
    return whole[0] if len(whole) == 1 else index.axis_length(whole)


def is_exact(spatial: SpatialProblem) -> bool:
    """Whether unrollings divide, and strides cannot leave gaps (see ``distinct_values``)."""
    mapping, layer = spatial.spatial_mapping, spatial.layer
    divides = all(size % mapping.factor_of(d) == 0 for d, size in layer.sizes.items())
    indices = [index for operand in layer.operands for index in operand.indices]
    return divides and all(set(index.steps) == {1} for index in indices)


@examples
@given(evaluated_cases(2**10).filter(lambda case: is_exact(case.spatial)))
def test_elements_are_those_that_loops_touch(case: Case) -> None:
    spatial = case.spatial
    cme = evaluate(spatial, case.temporal)
    for operand in spatial.layer.operands:
        for level in range(len(spatial.problem.levels(operand.name))):
            sizes = iterations(case, operand.name, level)
            expected = touched(spatial.layer, operand, sizes)
            assert cme.level(operand.name, level).elements == expected


def two_levels(layer: Layer) -> SpatialProblem:
    return mapped(layer, machine(memory("inner", served="D1"), memory("outer", served="D1")))


@pytest.mark.parametrize(
    ("order", "elements", "bits"),
    [
        ("K 2 K 2 C 2", (2, 4), (2 * 16, 4 * 8)),  # C still runs above: partial sums
        ("K 4 C 2", (4, 4), (4 * 8, 4 * 8)),  # all stay where they are while C runs
        ("C 2 K 4", (1, 4), (1 * 8, 4 * 8)),  # C is done below
        ("B 3 K 4", (3, 12), (3 * 8, 12 * 8)),  # nothing to add up
    ],
)
def test_outputs_are_partial_while_a_reduction_runs_above(
    order: str, elements: tuple[int, int], bits: tuple[int, int]
) -> None:
    sizes = {loop.dimension: loop.size for loop in loops(order)}
    layer = matmul(k=4, c=sizes.get("C", 1), b=sizes.get("B", 1))
    cuts = dict.fromkeys("OWI", (1, len(loops(order))))
    cme = evaluate(two_levels(layer), ordered(order, cuts))
    assert tuple(cme.level("O", level).elements for level in (0, 1)) == elements
    assert tuple(cme.level("O", level).bits for level in (0, 1)) == bits


def test_no_memory_holds_more_of_an_axis_than_there_is() -> None:
    layer = convolution({"K": 1, "C": 1, "OX": 4, "FX": 3})
    short = AffineIndex(name="IX", terms=layer.inputs[1].indices[1].terms, padding=(1, 1))
    padded = copy_with(
        layer,
        {
            "inputs": (
                layer.inputs[0],
                copy_with(layer.inputs[1], {"indices": (layer.inputs[1].indices[0], short)}),
            )
        },
    )
    temporal = ordered("OX 4 FX 3", dict.fromkeys("OWI", (1, 2)))
    assert evaluate(two_levels(layer), temporal).level("I", 1).elements == 4 + 3 - 1
    cme = evaluate(two_levels(padded), temporal)
    assert [cme.level("I", level).elements for level in (0, 1)] == [4, 4 + 3 - 1 - 2]


def test_ragged_unrollings_hold_what_they_do_on_average() -> None:
    # 7 over 4 units takes 2 rounds of 3.5
    spatial = mapped(
        matmul(k=7, c=2), machine(memory("m", served="D1"), sides={"D1": 4}), {"D1": "K 4"}
    )
    cme = evaluate(spatial, ordered("K 2 C 2", dict.fromkeys("OWI", (2,))))
    assert cme.level("W", 0).elements == 14
    assert cme.level("O", 0).elements == 7
