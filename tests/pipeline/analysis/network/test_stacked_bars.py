"""The numbers of charts are those of the evaluations."""

from collections.abc import Iterable

import pytest

from nestmap.model import CostModelEvaluation, InputError, LayerResult, NetworkEvaluation
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.roofline import bytes_moved, ceilings, peak, points
from nestmap.pipeline.analysis.network.stacked_bars import (
    energy_bars,
    latency_bars,
    memory_bars,
    share_bars,
)
from nestmap.pipeline.render.charts.roofline import roofline_chart
from tests.pipeline.render.samples import evaluated, machine, network

MACHINES = ("tpu_like", "aimc", "dimc", "edge_22nm", "eyeriss_like")
NAMES = ("a", "b", "c", "d", "e")


def same(found: Iterable[float], expected: Iterable[float]) -> bool:
    return list(found) == pytest.approx(list(expected), rel=1e-12)


def cmes(evaluation: NetworkEvaluation) -> list[CostModelEvaluation]:
    return [result.cme for result in evaluation.layers]


@pytest.mark.parametrize("accelerator", MACHINES)
def test_parts_are_those_of_the_evaluation(accelerator: str) -> None:
    evaluation = network(("a",), accelerator)
    (cme,) = cmes(evaluation)
    parts = {part.label: part.values[0] for part in energy_bars(evaluation).parts}
    labels = ARRAY_LABELS - {entry.memory for entry in cme.levels}
    array = sum(value for label, value in parts.items() if label in labels)
    assert array == pytest.approx(cme.mac_energy, rel=1e-12)
    assert parts.get("leakage", 0.0) == pytest.approx(cme.static_energy, rel=1e-12)
    cycles = {
        part.label: part.values[0] for part in latency_bars(network(("a",), accelerator)).parts
    }
    assert cycles["ideal"] == cme.ideal_cycles
    assert cycles.get("stall", 0) == cme.stall
    assert cycles.get("on-loading", 0) == cme.onloading
    assert cycles.get("off-loading", 0) == cme.offloading
    assert cycles.get("drain", 0) == cme.drain


ARRAY_LABELS = {
    "MACs",
    "cells (array)",
    "DACs",
    "ADCs",
    "multipliers",
    "bit lines",
    "adder trees",
    "place adders",
    "accumulators",
}


@pytest.mark.parametrize("accelerator", ["tpu_like", "aimc", "edge_22nm"])
def test_bars_of_memories_are_all_energy(accelerator: str) -> None:
    evaluation = network(NAMES, accelerator)
    bars = memory_bars(cmes(evaluation))
    assert sum(bars.totals) == pytest.approx(evaluation.energy, rel=1e-12)
    dram = sum(
        entry.costs.energy
        for cme in cmes(evaluation)
        for entry in cme.levels
        if entry.memory == "dram"
    )
    assert bars.totals[-1] == pytest.approx(dram, rel=1e-12)


def test_vector_operators_have_a_bar_where_they_count() -> None:
    counted, not_counted = network(NAMES, vector=True), network(NAMES)
    assert energy_bars(counted).names == (*NAMES, "vector operators")
    assert sum(energy_bars(counted).totals) == pytest.approx(counted.energy)
    assert sum(latency_bars(counted).totals) == pytest.approx(counted.latency)
    assert energy_bars(not_counted).names == NAMES


def test_shares_add_up_and_ideal_is_the_utilization() -> None:
    evaluation = network(NAMES)
    bars = share_bars(evaluation)
    assert same(bars.totals, (1.0 for _ in NAMES))
    assert same(bars.parts[0].values, (cme.utilization for cme in cmes(evaluation)))


def test_traffic_is_accesses_times_width() -> None:
    cme, accelerator = evaluated("tpu_like", 8, 64, 128), machine("tpu_like")
    moved = bytes_moved(cme, accelerator)
    dram = [entry for entry in cme.levels if entry.memory == "dram"]
    assert moved["dram"] == sum(sum(entry.costs.accesses) for entry in dram) * 64 / 8
    assert {x.memory: x.width for x in ceilings(accelerator)} == {
        "rf_128B": 1024 * 2 * 8 / 8,
        "rf_2B": 1024 * 4 * 16 / 8,
        "sram_2MB": 2 * 2048 / 8,
        "dram": 64 / 8,
    }
    assert peak(accelerator) == 1024


def test_a_roofline_needs_the_accelerator_of_the_evaluation() -> None:
    told = r"layer a on tpu_like: found memory .* which aimc lacks; expected the accelerator of its"
    with pytest.raises(InputError, match=told):
        roofline_chart(network(("a",)), machine("aimc"))
    (cme,) = cmes(network(("a",)))
    unlinked = copy_with(cme, {"links": ()})
    with pytest.raises(InputError, match="found no link of operand O; expected its memory operand"):
        bytes_moved(unlinked, machine("tpu_like"))


def test_a_roofline_has_each_different_layer_once() -> None:
    cme = evaluated("tpu_like", 8, 64, 128)
    again = copy_with(cme, {"layer": "again"})
    evaluation = NetworkEvaluation(
        layers=(LayerResult(cme=cme), LayerResult(cme=again, repeats=cme.layer))
    )
    found = points(evaluation, machine("tpu_like"))
    assert {point.layer for point in found} == {cme.layer}
    (binding,) = (point for point in found if point.binding)
    widths = {x.memory: x.width for x in ceilings(machine("tpu_like"))}
    highest = {point.memory: point.intensity * widths[point.memory] for point in found}
    assert binding.memory == min(highest, key=highest.__getitem__) == "dram"
    assert binding.weight == 2 * cme.latency
    assert {point.performance for point in found} == {cme.macs / cme.latency}
