"""The numbers of figures are those of the evaluations."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from nestmap.model import CostModelEvaluation, InputError, LayerResult, NetworkEvaluation
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.roofline import bytes_moved, ceilings, peak, points
from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.analysis.network.stacked_bars import energy_bars, latency_bars, share_bars
from nestmap.pipeline.render.figures import (
    comparison_figure,
    layers_figure,
    memories_figure,
    roofline_figure,
    utilization_figure,
)
from tests.pipeline.render.figures.samples import evaluated, machine, network

MACHINES = ("tpu_like", "aimc", "dimc", "edge_22nm", "eyeriss_like")
NAMES = ("a", "b", "c", "d", "e")


def lengths(axes: Axes) -> list[float]:
    """The lengths of the stacked bars of a chart, from the top down."""
    rows: dict[float, float] = {}
    for bars in axes.collections:
        for path in bars.get_paths():
            box = Bbox.null()
            box.update_from_path(path)
            middle = round((box.y0 + box.y1) / 2, 6)
            rows[middle] = rows.get(middle, 0.0) + box.width
    return [rows[middle] for middle in sorted(rows)]


def same(found: Iterable[float], expected: Iterable[float]) -> bool:
    return list(found) == pytest.approx(list(expected), rel=1e-12)


def cmes(evaluation: NetworkEvaluation) -> list[CostModelEvaluation]:
    return [result.cme for result in evaluation.layers]


@pytest.mark.parametrize("accelerator", MACHINES)
def test_bars_of_layers_are_as_long_as_what_they_cost(accelerator: str) -> None:
    evaluation = network(NAMES, accelerator)
    energy, latency = layers_figure(evaluation).axes
    assert same(lengths(energy), (cme.energy for cme in cmes(evaluation)))
    assert same(lengths(latency), (cme.latency for cme in cmes(evaluation)))


def test_bars_of_many_layers_are_in_several_panels() -> None:
    evaluation = network([f"layer {i}" for i in range(150)])
    panels = layers_figure(evaluation).axes
    assert len(panels) == 6
    found = [length for axes in panels[::2] for length in lengths(axes)]
    assert same(found, (cme.energy for cme in cmes(evaluation)))
    limits = {axes.get_xlim() for axes in panels[1::2]}
    assert len(limits) == 1


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
    energy, *stalls = memories_figure(evaluation).axes
    assert sum(lengths(energy)) == pytest.approx(evaluation.energy, rel=1e-12)
    dram = sum(
        entry.costs.energy
        for cme in cmes(evaluation)
        for entry in cme.levels
        if entry.memory == "dram"
    )
    assert lengths(energy)[-1] == pytest.approx(dram, rel=1e-12)
    assert bool(stalls) is any(cme.stall for cme in cmes(evaluation))
    for stall in stalls:
        assert max(lengths(stall)) == sum(cme.stall for cme in cmes(evaluation))


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
    (axes,) = utilization_figure(evaluation).axes
    assert same(lengths(axes), (1.0 for _ in NAMES))


def test_runs_are_compared_in_all_and_by_layer() -> None:
    first, second = network(NAMES, vector=True), network(NAMES[1:], "aimc")
    figure = comparison_figure([NamedRun("one", first), NamedRun("two", second)])
    energy, latency, by_energy, by_latency = axes_of(figure)
    assert same(lengths(energy), (first.energy, second.energy))
    assert same(lengths(latency), (first.latency, second.latency))
    expected = {cme.layer: cme for cme in cmes(second)}
    assert same(lengths(by_energy)[::2], (cme.energy for cme in cmes(first)))
    assert same(lengths(by_energy)[3::2], (expected[name].energy for name in NAMES[1:]))
    assert lengths(by_latency)[1] == 0.0


def axes_of(figure: Figure) -> list[Axes]:
    return list(figure.axes)


def test_comparing_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no run to compare"):
        comparison_figure([])


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
        roofline_figure(network(("a",)), machine("aimc"))
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
