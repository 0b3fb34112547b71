"""Totals are the sums of their parts, and nothing is faster than ideal."""

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import MOVEMENTS, LayerResult, NetworkEvaluation
from nestmap.model.base import copy_with
from tests.properties.variants import examples, with_accelerator
from tests.strategies import Case, evaluated_cases


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-12, abs=1e-9)


@examples
@given(evaluated_cases())
def test_energy_adds_up(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    accelerator = case.spatial.accelerator
    assert cme.mac_energy == close(case.spatial.layer.macs * accelerator.array.unit_energy)
    assert cme.memory_energy == close(sum(level.costs.energy for level in cme.levels))
    assert cme.energy == close(cme.mac_energy + cme.memory_energy)
    memories = {memory.name: memory.instance for memory in accelerator.memories}
    for level in cme.levels:
        instance = memories[level.memory]
        for movement in MOVEMENTS:
            each = instance.read_energy if movement.reads else instance.write_energy
            expected = level.costs.accesses_of(movement) * each
            assert level.costs.energy_of(movement) == close(expected)


@examples
@given(evaluated_cases())
def test_latency_adds_up(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    assert cme.latency0 == cme.ideal_temporal_cycles + cme.stall
    assert cme.latency1 == cme.latency0 + cme.onloading
    assert cme.latency2 == cme.latency1 + cme.offloading + cme.drain
    assert cme.latency == cme.latency2
    assert cme.stall == max(0, *(port.stall for port in cme.port_stalls))
    assert cme.ideal_temporal_cycles == case.temporal.cycles


@examples
@given(evaluated_cases())
def test_memory_utilization_adds_up(case: Case) -> None:
    cme = evaluate(case.spatial, case.temporal)
    sizes = {memory.name: memory.instance.size for memory in case.spatial.accelerator.memories}
    shared: dict[str, float] = defaultdict(float)
    for level in cme.levels:
        shared[level.memory] += level.utilization
        assert level.utilization == close(level.bits / sizes[level.memory])
        assert 0 <= level.effective_utilization <= level.utilization
    for level in cme.levels:
        assert level.shared_utilization == close(shared[level.memory])


@examples
@given(evaluated_cases(), st.sampled_from((0.25, 1.0, 1.5, 8.0)))
def test_nothing_is_faster_than_ideal(case: Case, cycles_per_operation: float) -> None:
    accelerator = case.spatial.accelerator
    array = copy_with(accelerator.array, {"cycles_per_operation": cycles_per_operation})
    spatial = with_accelerator(case.spatial, copy_with(accelerator, {"array": array}))
    cme = evaluate(spatial, case.temporal)
    steps = (cme.ideal_cycles, cme.ideal_temporal_cycles, cme.latency0, cme.latency1, cme.latency2)
    assert all(faster <= slower for faster, slower in pairwise(steps))
    assert 0 < cme.utilization <= cme.spatial_utilization <= 1
    assert all(0 < utilization <= 1 for utilization in cme.utilizations)


@examples
@given(evaluated_cases(), evaluated_cases())
def test_a_network_is_the_sum_of_its_layers(one: Case, other: Case) -> None:
    cmes = [evaluate(case.spatial, case.temporal) for case in (one, other)]
    network = NetworkEvaluation(layers=tuple(LayerResult(cme=cme) for cme in cmes))
    assert network.energy == close(cmes[0].energy + cmes[1].energy)
    assert network.latency == cmes[0].latency + cmes[1].latency
    assert network.macs == cmes[0].macs + cmes[1].macs
    assert network.edp == close(network.energy * network.latency)
    assert network.utilization == close(network.ideal_cycles / network.latency)
    assert 0 < network.utilization <= 1
