"""Pre-charging bit lines that several weights share."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.imc.layer import precharge_energy
from nestmap.model import InMemoryCompute, TemporalMapping
from tests.costmodel.imc.machines import (
    MACRO,
    arithmetic,
    cells_of,
    convolution,
    digital,
    imc_machine,
)
from tests.costmodel.machines import mapped, ordered


def test_word_line_and_the_cells_on_the_bit_line_are_charged_for_each_bit() -> None:
    machine = imc_machine(digital(), cells=cells_of(4 * 8))
    assert precharge_energy(machine) == pytest.approx(8 * (0.35e-3 + 4 * 0.35e-3) * 0.9**2)


@given(imc=arithmetic())
def test_a_weight_of_its_own_bit_line_needs_none(imc: InMemoryCompute) -> None:
    assert precharge_energy(imc_machine(imc)) == 0


@given(imc=arithmetic(), weights=st.integers(1, 64))
def test_more_weights_on_a_bit_line_take_more(imc: InMemoryCompute, weights: int) -> None:
    fewer, more = (
        precharge_energy(imc_machine(imc, cells=cells_of(n * imc.weight_precision)))
        for n in (weights, weights + 1)
    )
    assert fewer < more


def weights_taken(temporal: TemporalMapping) -> int:
    """How often a multiplier gets another weight, cycle after cycle."""
    outermost_first = temporal.order[::-1]
    taken, before = 0, None
    for iteration in product(*(range(loop.size) for loop in outermost_first)):
        here = [
            i
            for i, x in zip(iteration, outermost_first, strict=True)
            if x.dimension in ("FX", "FY")
        ]
        taken += here != before
        before = here
    return taken


@pytest.mark.parametrize(
    "order", ["OX 4 FX 3 OY 4 FY 3", "FX 3 FY 3 OX 4 OY 4", "OY 4 OX 2 FX 3 FY 3 OX 2"]
)
@pytest.mark.parametrize("in_cells", [0, 2, 4])
def test_bit_lines_are_charged_for_each_weight_that_the_array_gets(
    order: str, in_cells: int
) -> None:
    own, shared = (imc_machine(digital(), MACRO, cells_of(n * 8)) for n in (1, 4))
    loops = len(order.split()) // 2
    temporal = ordered(order, {"O": (loops,), "W": (in_cells, loops), "I": (loops,)})
    without, found = (
        evaluate(mapped(convolution(), machine, {"D1": "K 16", "D2": "C 8"}), temporal)
        for machine in (own, shared)
    )
    charged = 16 * 8 * weights_taken(temporal) * precharge_energy(shared)
    assert found.energy - without.energy == pytest.approx(charged, rel=1e-6)
