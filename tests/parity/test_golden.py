"""Recorded layers and networks cost the same when nestmap evaluates their mappings."""

import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import CostModelEvaluation
from tests.parity.golden import RecordedLayer, RecordedRun, recorded_runs
from tests.parity.reference import ReferenceEvaluation, reference_evaluation

RUNS = recorded_runs()
LAYERS = [
    pytest.param(run, layer, id=f"{name}-{layer.names[0]}")
    for name, run in RUNS.items()
    for layer in run.layers
]


def same(value: object) -> object:
    """Equal to a relative 1e-9."""
    return pytest.approx(value, rel=1e-9, abs=0)


def same_totals(found: CostModelEvaluation | ReferenceEvaluation, layer: RecordedLayer) -> None:
    recorded = layer.costs
    assert found.mac_energy == same(recorded.mac_energy)
    assert found.memory_energy == same(recorded.mem_energy)
    assert found.energy == same(recorded.energy_total)
    assert found.ideal_cycles == recorded.ideal_cycle
    assert found.ideal_temporal_cycles == recorded.ideal_temporal_cycle
    assert found.stall == recorded.stall_slack_comb
    assert found.onloading == same(recorded.data_onloading_cycle)
    assert found.offloading == same(recorded.data_offloading_cycle)
    assert found.drain == recorded.systolic_drain_cycle
    assert found.latency0 == recorded.latency_total0
    assert found.latency1 == same(recorded.latency_total1)
    assert found.latency2 == same(recorded.latency_total2)
    assert found.spatial_utilization == same(recorded.mac_spatial_utilization)
    assert found.utilizations == same(
        (recorded.mac_utilization0, recorded.mac_utilization1, recorded.mac_utilization2)
    )


@pytest.mark.parametrize(("run", "layer"), LAYERS)
def test_totals_are_those_recorded(run: RecordedRun, layer: RecordedLayer) -> None:
    same_totals(evaluate(layer.spatial(run.accelerator), layer.temporal), layer)


@pytest.mark.parametrize(("run", "layer"), LAYERS)
def test_levels_are_those_recorded(run: RecordedRun, layer: RecordedLayer) -> None:
    cme = evaluate(layer.spatial(run.accelerator), layer.temporal)
    for operand, levels in layer.levels.items():
        for i, recorded in enumerate(levels):
            found = cme.level(operand, i)
            assert found.memory == recorded.memory
            assert found.costs.accesses == recorded.accesses
            assert found.costs.energies == same(recorded.energies)
            assert found.utilization == same(recorded.utilization)
            assert found.shared_utilization == same(recorded.shared_utilization)
            effective = found.effective_shared_utilization
            assert effective == same(recorded.effective_shared_utilization)
            assert found.double_buffered == recorded.double_buffered
    assert len(cme.levels) == sum(len(levels) for levels in layer.levels.values())


@pytest.mark.parametrize("name", RUNS)
def test_network_totals_are_those_recorded(name: str) -> None:
    run, energy, latency = RUNS[name], 0.0, 0.0
    for layer in run.layers:
        cme = evaluate(layer.spatial(run.accelerator), layer.temporal)
        energy += cme.energy * len(layer.names)
        latency += cme.latency * len(layer.names)
    assert energy == same(run.energy)
    assert latency == same(run.latency)


@pytest.mark.parametrize("name", RUNS)
def test_reference_driver_gives_what_the_package_gave_in_its_own_run(name: str) -> None:
    run = RUNS[name]
    for layer in run.layers:
        found = reference_evaluation(layer.spatial(run.accelerator), layer.temporal)
        same_totals(found, layer)
        for operand, levels in layer.levels.items():
            for i, recorded in enumerate(levels):
                assert found.level(operand, i).accesses == recorded.accesses
                assert found.level(operand, i).energies == recorded.energies
