"""Steps that zeros skip: counted cycle by cycle, drawn at random, and never to anyone's loss."""

from collections.abc import Mapping, Sequence
from math import isclose, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.skipping import executed_share
from nestmap.model import CostModelEvaluation, MappingType, OperationalArray, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.search import loma
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered
from tests.costmodel.test_busy_ports import strict
from tests.costmodel.test_hops import limited
from tests.costmodel.test_sliding import windows
from tests.counting import by_reference
from tests.properties.variants import examples, with_accelerator
from tests.simulator import simulate_steps
from tests.strategies import Case, evaluated_cases
from tests.sweeps import some_of
from tests.tiny_cases import tiny_cases
from tests.zeros import with_zeros

INPUTS = st.sampled_from((("I1",), ("I2",), ("I1", "I2")))
DENSITY = st.floats(0.01, 1)


def skipping(
    case: Case, densities: Mapping[str, float], operands: Sequence[str], *, gates: bool = False
) -> Case:
    """The case with zeros that skip steps, or only gate operations."""
    sparse = with_zeros(case.spatial, densities)
    field = "zero_gating" if gates else "zero_skipping"
    array = copy_with(sparse.accelerator.array, {field: tuple(operands)})
    accelerator = copy_with(sparse.accelerator, {"array": array})
    return Case(with_accelerator(sparse, accelerator), case.temporal)


def costs(case: Case) -> CostModelEvaluation:
    """The evaluation of the case."""
    return evaluate(case.spatial, case.temporal)


def skipping_names(spatial: SpatialProblem, operands: Sequence[str]) -> list[str]:
    """The operands of the layer that skip."""
    return [name for name, carried in spatial.problem.links.items() if carried in operands]


def check_steps(case: Case, one: float, other: float, operands: Sequence[str]) -> None:
    """The expected steps are those of all cycles, one by one."""
    sparse = skipping(case, {"I": one, "W": other}, operands)
    names = skipping_names(sparse.spatial, operands)
    expected = sum(
        prod(
            1 - (1 - sparse.spatial.layer.operand(name).density) ** words
            for name, words in zip(names, step, strict=True)
        )
        for step in simulate_steps(case.spatial, case.temporal, names)
    )
    found = executed_share(flatten(sparse.spatial)) * case.temporal.cycles
    assert isclose(found, expected, rel_tol=1e-9)


@settings(max_examples=some_of(300), deadline=None)
@given(tiny_cases(), DENSITY, DENSITY, INPUTS)
def test_steps_are_those_of_the_simulator(
    case: Case, one: float, other: float, operands: Sequence[str]
) -> None:
    check_steps(case, one, other, operands)


@settings(max_examples=some_of(100), deadline=None)
@given(windows(), DENSITY, DENSITY, INPUTS)
def test_so_are_those_of_windows(
    case: Case, one: float, other: float, operands: Sequence[str]
) -> None:
    check_steps(case, one, other, operands)


LAYER = mapped(
    matmul(k=8, c=12, b=4),
    machine(memory("dram", served="D1 D2", width=2**12), sides={"D1": 2, "D2": 3}),
    {"D1": "K 2", "D2": "C 3"},
)
CASE = Case(LAYER, ordered("B 4 C 4 K 4", {"O": (3,), "W": (3,), "I": (3,)}))


LOOSE = Case(by_reference(CASE.spatial), CASE.temporal)
"""No port makes the array wait."""


def test_steps_of_tensors_drawn_at_random() -> None:
    """Of 64 steps those are skipped in which 3 inputs or 6 weights are zero."""
    random, trials, executed = np.random.default_rng(11), 2000, 0
    for _ in range(trials):
        inputs, weights = random.random((4, 12)) < 0.3, random.random((8, 12)) < 0.2
        for b, c, k in np.ndindex(4, 4, 4):
            part = slice(3 * c, 3 * c + 3)
            is_used = inputs[b, part].any() and weights[2 * k : 2 * k + 2, part].any()
            executed += bool(is_used)
    sparse = skipping(CASE, {"I": 0.3, "W": 0.2}, ("I1", "I2"))
    expected = 64 * executed_share(flatten(sparse.spatial))
    assert expected == pytest.approx(64 * (1 - 0.7**3) * (1 - 0.8**6))
    assert executed / trials == pytest.approx(expected, rel=0.01)


def test_cycles_by_hand() -> None:
    gated, skipped = (
        costs(skipping(LOOSE, {"I": 0.5}, ("I1",), gates=gates)) for gates in (True, False)
    )
    # in each of 64 steps three inputs are zero with a probability of an eighth
    assert skipped.skipped_cycles == 64 // 8
    assert gated.ideal_temporal_cycles - skipped.ideal_temporal_cycles == 8
    assert gated.latency - skipped.latency == 8
    assert (gated.ideal_cycles, skipped.ideal_cycles) == (64, 32)
    assert (gated.energy, gated.gated_macs) == (skipped.energy, skipped.gated_macs)


@settings(max_examples=some_of(400), deadline=None)
@given(evaluated_cases(2**12), DENSITY, INPUTS, st.booleans(), st.none() | st.integers(1, 64))
def test_skipping_is_never_slower_than_gating(
    case: Case, density: float, operands: Sequence[str], is_strict: bool, bandwidth: int | None
) -> None:
    case = limited(strict(case) if is_strict else case, bandwidth)
    operands = [x for x in operands if x in case.spatial.accelerator.operands]
    shares = {x.name: density for x in case.spatial.layer.operands}
    gated, skipped = (costs(skipping(case, shares, operands, gates=x)) for x in (True, False))
    assert skipped.latency <= gated.latency
    assert skipped.dynamic_energy == gated.dynamic_energy
    assert skipped.latency0 >= skipped.ideal_temporal_cycles >= skipped.ideal_cycles > 0
    ports = [port.busy or 0 for port in skipped.port_stalls]
    links = [hop.busy for hop in skipped.hop_stalls]
    assert skipped.latency >= min(gated.latency, max([0, *ports, *links]))
    if is_strict:
        assert skipped.overloaded_port is None
    spatial = skipping(case, shares, operands).spatial
    bounds = lower_bounds(spatial)
    assert bounds.latency <= skipped.latency
    assert bounds.energy <= skipped.energy * (1 + 1e-9)


@examples
@given(evaluated_cases(2**12), DENSITY, DENSITY, INPUTS)
def test_more_zeros_never_take_longer(
    case: Case, one: float, other: float, operands: Sequence[str]
) -> None:
    operands = [x for x in operands if x in case.spatial.accelerator.operands]
    names = [x.name for x in case.spatial.layer.operands]
    few, many = (
        costs(skipping(case, dict.fromkeys(names, x), operands))
        for x in (max(one, other), min(one, other))
    )
    assert many.latency <= few.latency
    assert costs(skipping(case, {}, operands)) == costs(case)


@examples
@given(evaluated_cases(2**12), DENSITY, INPUTS)
def test_rows_of_a_batch_are_those_of_single_mappings(
    case: Case, density: float, operands: Sequence[str]
) -> None:
    operands = [x for x in operands if x in case.spatial.accelerator.operands]
    names = [x.name for x in case.spatial.layer.operands]
    spatial = skipping(case, dict.fromkeys(names, density), operands).spatial
    for mappings in loma(spatial, 4, MappingType.UNEVEN):
        batch = evaluate_batch(mappings)
        single = [evaluate(spatial, mappings.row(i)).latency for i in range(len(batch))]
        assert batch.latency2.tolist() == single


def test_what_is_skipped_is_not_gated_as_well() -> None:
    array = CASE.spatial.accelerator.array
    with pytest.raises(ValueError, match="zeros of I1 gate and skip operations"):
        OperationalArray(
            sides=array.sides, unit_energy=1.0, zero_gating=("I1",), zero_skipping=("I1", "I2")
        )
    with pytest.raises(ValueError, match="zeros of O skip operations; expected different inputs"):
        OperationalArray(sides=array.sides, unit_energy=1.0, zero_skipping=("O",))
