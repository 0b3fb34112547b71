"""Words that units hand on: counted by the simulator, and nothing else changes."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.reprice import reprice
from nestmap.model import CostModelEvaluation
from nestmap.model.base import copy_with
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered
from tests.costmodel.test_sliding import windows, with_reuse
from tests.properties.variants import examples, with_accelerator
from tests.simulator import simulate
from tests.strategies import Case, evaluated_cases, subsets
from tests.sweeps import some_of
from tests.tiny_cases import BITS, tiny_cases
from tests.zeros import with_zeros


def with_hops(case: Case, hop_energy: float) -> Case:
    """The case on an array that spends energy on hops."""
    accelerator = case.spatial.accelerator
    array = copy_with(accelerator.array, {"hop_energy": hop_energy})
    spatial = with_accelerator(case.spatial, copy_with(accelerator, {"array": array}))
    return Case(spatial, case.temporal)


def costs(case: Case) -> CostModelEvaluation:
    """The evaluation of the case."""
    return evaluate(case.spatial, case.temporal)


@settings(max_examples=some_of(300), deadline=None)
@given(tiny_cases())
def test_hops_are_those_of_the_simulator(case: Case) -> None:
    hops = sum(simulate(case.spatial, case.temporal).handed_on.values())
    assert costs(with_hops(case, 0.25)).hop_energy == hops * BITS * 0.25


@settings(max_examples=some_of(100), deadline=None)
@given(windows(), subsets(("m0", "m1")))
def test_so_are_those_of_windows_that_slide(case: Case, names: tuple[str, ...]) -> None:
    steps = {index.steps[-1] for index in case.spatial.layer.operand("I").indices}
    assume(steps == {1})  # tiles are exact without dilation
    reuse = with_reuse(case, names)
    hops = sum(simulate(reuse.spatial, reuse.temporal).handed_on.values())
    assert costs(with_hops(reuse, 0.25)).hop_energy == hops * BITS * 0.25


@examples
@given(evaluated_cases(2**12), st.floats(0, 100))
def test_only_the_energy_of_the_array_changes(case: Case, hop_energy: float) -> None:
    plain, found = costs(case), costs(with_hops(case, hop_energy))
    assert (plain.hop_energy, costs(with_hops(case, 0.0))) == (0.0, plain)
    assert found.hop_energy >= 0
    expected: dict[str, object] = {
        "hop_energy": found.hop_energy,
        "mac_energy": plain.mac_energy + found.hop_energy,
    }
    assert found == copy_with(plain, expected)


SPATIAL = mapped(
    matmul(k=8, c=6, b=2),
    machine(
        memory("rf", size=64, operands="I2"),
        memory("dram", served="D1 D2"),
        sides={"D1": 2, "D2": 3},
    ),
    {"D1": "K 2", "D2": "C 3"},
)
CASE = Case(SPATIAL, ordered("B 2 C 2 K 4", {"O": (3,), "W": (1, 3), "I": (3,)}))


def test_a_case_by_hand() -> None:
    # Two units of D1 share each input: 16 times 3 inputs of 8 bit go one hop. Three units of D2 add
    # to a sum: 16 times 2 sums of 16 bit go two hops. Weights are different everywhere.
    assert costs(with_hops(CASE, 0.5)).hop_energy == (16 * 3 * 1 * 8 + 16 * 2 * 2 * 16) * 0.5


def test_words_of_gated_operations_do_not_hop() -> None:
    gated = Case(with_zeros(SPATIAL, {"I": 0.5}, gating=("I1",)), CASE.temporal)
    whole, rest = (costs(with_hops(x, 0.5)).hop_energy for x in (CASE, gated))
    assert 0 < rest < whole


def test_other_energies_leave_the_hops() -> None:
    case = with_hops(CASE, 0.5)
    array = copy_with(case.spatial.accelerator.array, {"unit_energy": 0.3})
    after = copy_with(case.spatial.accelerator, {"array": array})
    expected = evaluate(with_accelerator(case.spatial, after), case.temporal)
    assert reprice(costs(case), case.spatial.accelerator, after) == expected
