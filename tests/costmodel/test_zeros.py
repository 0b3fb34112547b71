"""Zeros: expected sizes of compressed tensors, and what gated operations save."""

from math import ceil, isclose, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.reprice import reprice
from nestmap.costmodel.zeros import stored_bits
from nestmap.model import Compression, Movement
from nestmap.model.arrays import Flags
from nestmap.model.base import copy_with
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.costmodel.machines import machine, mapped, matmul, memory, ordered
from tests.simulator import simulate_gating
from tests.strategies import Case, evaluated_cases
from tests.sweeps import some_of
from tests.tiny_cases import tiny_cases
from tests.zeros import bitmask, run_length, with_zeros

DENSITIES = (0.03, 0.25, 0.5, 0.9)
SPARSE = {"W": 0.5, "I": 0.25, "O": 0.4}


def encoded_bits(stored: Flags, precision: int, compression: Compression) -> int:
    """The size of a tensor that is written element by element; others than ``stored`` are zero."""
    if compression.run_bits is None:
        return sum(1 + (precision if is_stored else 0) for is_stored in stored.tolist())
    longest, zeros, total = 2**compression.run_bits - 1, 0, 0
    for is_stored in stored.tolist():
        if is_stored or zeros == longest:
            total += compression.run_bits + precision
            zeros = 0
        else:
            zeros += 1
    return total


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("compression", [bitmask("I1"), *(run_length("I1", n) for n in (1, 2, 5))])
def test_sizes_are_those_of_tensors_written_out(density: float, compression: Compression) -> None:
    drawn = np.random.default_rng(7).random(200_000) < density
    size = encoded_bits(drawn, 16, compression) / len(drawn)
    assert stored_bits(16, density, compression) == pytest.approx(min(size, 16.0), rel=0.02)


def test_a_tensor_that_would_grow_is_stored_as_it_is() -> None:
    assert stored_bits(8, 1.0, bitmask("I1")) == 8
    assert stored_bits(8, 1.0, run_length("I1", 5)) == 8
    assert stored_bits(8, 0.9, run_length("I1", 5)) == 8
    assert stored_bits(8, 0.25, None) == 8
    assert stored_bits(8, 0.25, bitmask("I1")) == 3


def test_a_memory_that_compresses_moves_and_holds_fewer_bits() -> None:
    plain = mapped(
        matmul(k=4, c=4), machine(memory("buffer", size=2**16, width=64), memory("top", width=16))
    )
    order = ordered("C 4 K 4", {"O": (1, 2), "W": (2, 2), "I": (2, 2)})
    whole = evaluate(plain, order)
    small = with_zeros(plain, {"W": 0.25}, formats={"top": (bitmask("I2"),)})
    packed = evaluate(small, order)
    # 16 weights of 8 bit from the top, by 16 bit: 8 words; of 1 + 0.25 * 8 = 3 bit: 3 words
    assert whole.level("W", 1).costs.accesses_of(Movement.RD_TO_LOW) == 8
    assert packed.level("W", 1).costs.accesses_of(Movement.RD_TO_LOW) == 3
    assert (whole.level("W", 1).bits, packed.level("W", 1).bits) == (128, 48)
    assert packed.level("W", 0) == whole.level("W", 0)
    assert packed.level("I", 1).costs == whole.level("I", 1).costs
    assert packed.onloading < whole.onloading


def test_sums_are_compressed_once_they_are_finished() -> None:
    plain = mapped(matmul(k=4, c=4), machine(memory("buffer", size=2**16), memory("top")))
    small = with_zeros(plain, {"O": 0.25}, formats={"top": (bitmask("O"),)})
    at_top = Movement.WR_BY_LOW
    finished = ordered("C 4 K 4", {"O": (2, 2), "W": (2, 2), "I": (2, 2)})
    # 4 outputs of 8 bit; of 1 + 0.25 * 8 = 3 bit
    assert evaluate(plain, finished).level("O", 1).costs.accesses_of(at_top) == 4
    assert evaluate(small, finished).level("O", 1).costs.accesses_of(at_top) == 2
    unfinished = ordered("C 2 K 4 C 2", {"O": (1, 3), "W": (1, 3), "I": (1, 3)})
    whole, packed = evaluate(plain, unfinished), evaluate(small, unfinished)
    assert packed.level("O", 1).costs == whole.level("O", 1).costs


@settings(max_examples=some_of(200), deadline=None)
@given(evaluated_cases(), st.sampled_from(DENSITIES))
def test_zeros_never_cost(case: Case, density: float) -> None:
    formats = {
        level.name: tuple(run_length(x, 3) for x in level.operands)
        for level in case.spatial.problem.accelerator.memories
    }
    operands = [x.name for x in case.spatial.layer.operands]
    dense = evaluate(case.spatial, case.temporal)
    unused = with_zeros(case.spatial, dict.fromkeys(operands, density))
    assert evaluate(unused, case.temporal) == dense
    full = with_zeros(case.spatial, {}, gating=("I1",), formats=formats)
    assert evaluate(full, case.temporal) == dense
    used = with_zeros(
        case.spatial, dict.fromkeys(operands, density), gating=("I1",), formats=formats
    )
    found, bounds = evaluate(used, case.temporal), lower_bounds(used)
    assert bounds.energy <= found.energy * (1 + 1e-9)
    assert bounds.latency <= found.latency
    assert found.energy <= dense.energy
    for ours, theirs in zip(found.levels, dense.levels, strict=True):
        assert ours.bits <= theirs.bits
        pairs = zip(ours.costs.accesses, theirs.costs.accesses, strict=True)
        assert all(a <= b for a, b in pairs)
    is_gated = "I1" in case.spatial.problem.links.values()
    assert isclose(found.gated_macs, dense.macs * (1 - density) * is_gated)


@settings(max_examples=some_of(400), deadline=None)
@given(tiny_cases(), st.sampled_from((("I1",), ("I2",), ("I1", "I2"))), st.booleans())
def test_gated_accesses_are_those_of_operations_counted_cycle_by_cycle(
    case: Case, gating: tuple[str, ...], holds: bool
) -> None:
    problem = case.spatial.problem
    array = copy_with(problem.accelerator.array, {"holds_inputs": holds})
    machine = copy_with(problem.accelerator, {"array": array})
    plain = copy_with(case.spatial, {"problem": copy_with(problem, {"accelerator": machine})})
    gates = [x for x in problem.layer.operands if problem.links[x.name] in gating]
    spatial = with_zeros(plain, SPARSE, gating=gating)
    dense, found = evaluate(plain, case.temporal), evaluate(spatial, case.temporal)
    for operand in problem.layer.operands:
        others = [x.name for x in gates if x is not operand]
        active = prod(SPARSE[x] for x in others)
        served = simulate_gating(plain, case.temporal, operand.name, others)
        share = sum(1 - (1 - active) ** n for n in served) / len(served)
        ours, whole = found.level(operand.name, 0).costs, dense.level(operand.name, 0).costs
        for movement in (Movement.RD_TO_LOW, Movement.WR_BY_LOW):
            expected = whole.accesses_of(movement) * share
            assert ceil(expected - 1e-6) <= ours.accesses_of(movement) <= ceil(expected + 1e-6)
        for movement in (Movement.RD_TO_HIGH, Movement.WR_BY_HIGH):
            assert ours.accesses_of(movement) == whole.accesses_of(movement)
    active = prod(SPARSE[x.name] for x in gates)
    assert found.gated_macs == pytest.approx(dense.macs * (1 - active))
    assert found.mac_energy == pytest.approx(dense.mac_energy * active)
    assert (found.latency, found.stall) == (dense.latency, dense.stall)


def test_gated_energies_are_repriced() -> None:
    plain = mapped(matmul(k=4, c=4), machine(memory("w", size=64, operands="I2"), memory("top")))
    spatial = with_zeros(plain, SPARSE, gating=("I1",), formats={"top": (bitmask("I2"),)})
    order = ordered("C 4 K 4", {"O": (2,), "W": (1, 2), "I": (2,)})
    before = spatial.problem.accelerator
    array = copy_with(before.array, {"unit_energy": 0.3})
    after = copy_with(before, {"array": array})
    problem = copy_with(spatial.problem, {"accelerator": after})
    again = evaluate(copy_with(spatial, {"problem": problem}), order)
    assert reprice(evaluate(spatial, order), before, after) == again
