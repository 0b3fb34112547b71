"""The figures of a page are those of the store, to the last digit."""

import pytest

from nestmap.model import MOVEMENTS, LayerResult
from nestmap.pipeline.analysis.network.stacked_bars import energy_bars, latency_bars
from nestmap.pipeline.explore.explanation import explain
from nestmap.pipeline.explore.resume import recorded_problem
from nestmap.pipeline.pages.report.run import ReportedRun
from tests.pipeline.pages.report.dom import Element, Grid, captioned, grid
from tests.pipeline.pages.report.samples import PROBLEMS, Page, front_page, page

KINDS = pytest.mark.parametrize("kind", list(PROBLEMS))


def layers(found: Page) -> Grid:
    """The table of layers."""
    return grid(found.tree.by_id(f"{found.run.anchor}-table"))


def pane(found: Page, layer: str) -> Element:
    """Where a layer is explained."""
    return found.tree.by_id(f"{found.run.anchor}-layer-{found.run.positions[layer]}")


def alone(run: ReportedRun) -> list[LayerResult]:
    """The results of layers that do not repeat another one."""
    return [result for result in run.evaluation.layers if result.repeats is None]


def key_figures(part: Element) -> dict[str, float]:
    """The first list of figures."""
    facts = next(part.with_class("key"))
    names = [name.text for name in facts.every("dt")]
    return dict(zip(names, [value.value for value in facts.every("b")], strict=True))


@KINDS
def test_totals(kind: str) -> None:
    found = page(kind)
    total, shown = found.run.evaluation, key_figures(found.tree)
    assert shown["Energy"] == total.energy
    assert shown["Latency"] == total.latency
    assert shown["EDP"] == total.edp
    assert shown["MAC utilization"] == total.utilization
    assert shown["MACs"] == total.macs
    assert shown["Mappings"] == total.evaluations
    assert shown.get("Leakage", 0.0) == total.static_energy
    period = total.clock_period
    assert shown.get("Time") == (None if period is None else total.latency * period * 1e-9)
    if kind in ("leaking", "imc"):
        assert shown["Area"] == total.area


@KINDS
def test_layers(kind: str) -> None:
    found = page(kind)
    total, table = found.run.evaluation, layers(found)
    count = len(total.layers)
    cmes = [result.cme for result in total.layers]
    extra = total.vector_counted
    assert table.texts("Layer")[:count] == [cme.layer for cme in cmes]
    assert table.values("Energy") == [x.energy for x in cmes] + [total.vector_energy] * extra
    latencies = [x.latency for x in cmes] + [float(total.vector_latency)] * extra
    assert table.values("Latency cycles") == latencies
    assert [x.value for x in table.column("MAC util.")[:count]] == [x.utilization for x in cmes]
    assert [x.value for x in table.column("MACs")[:count]] == [x.macs for x in cmes]
    assert table.last("Energy") == total.energy
    assert table.last("Latency cycles") == total.latency
    assert table.last("MACs") == total.macs
    energies = [x / total.energy for x in table.values("Energy")]
    assert table.values("Share") == energies
    assert table.values("Share", 1) == [x / total.latency for x in latencies]


@KINDS
def test_parts_of_the_network(kind: str) -> None:
    found = page(kind)
    energy = captioned(found.tree, "Energy of the network by part")
    latency = captioned(found.tree, "Cycles of the network by cause")
    total = found.run.evaluation
    assert energy.values("Energy") == [sum(x.values) for x in energy_bars(total).parts]
    assert latency.values("Cycles") == [sum(x.values) for x in latency_bars(total).parts]
    assert sum(energy.values("Energy")) == pytest.approx(total.energy)
    assert sum(latency.values("Cycles")) == pytest.approx(total.latency)


@KINDS
def test_each_layer_is_explained(kind: str) -> None:
    found = page(kind)
    for result in alone(found.run):
        cme, part = result.cme, pane(found, result.cme.layer)
        explanation = explain(recorded_problem(found.run.network, cme), cme)
        latency = captioned(part, "Latency of")
        assert latency.values("Cycles") == [x.cycles for x in explanation.latency.steps]
        assert latency.last("Cycles") == cme.latency
        energy = captioned(part, "Energy of")
        assert energy.last("Energy") == cme.energy
        told = [x.energy for x in explanation.energy.parts]
        details = len(cme.array_energies) + len(cme.static_energies)
        assert len(energy.rows) == len(told) + details
        outer = [
            cell.value
            for cell, name in zip(energy.column("Energy"), energy.texts("Part"), strict=True)
            if not name.startswith("\u203a")
        ]
        assert outer == told
        for sentence in explanation.why():
            assert sentence.replace(" uJ", " µJ").replace(" us", " µs") in part.text


@KINDS
def test_the_accesses_of_each_layer(kind: str) -> None:
    found = page(kind)
    for result in alone(found.run):
        table = captioned(pane(found, result.cme.layer), "Accesses of")
        for titles, movement in zip(table.titles[5:9], MOVEMENTS, strict=True):
            expected = [x.costs.accesses_of(movement) for x in result.cme.levels]
            assert table.values(titles) == expected
        assert table.values("Energy") == [x.costs.energy for x in result.cme.levels]
        assert table.values("Tile bit") == [x.bits for x in result.cme.levels]
        assert table.texts("Memory") == [x.memory for x in result.cme.levels]
        assert table.last("Energy") == result.cme.memory_energy


@KINDS
def test_the_ports_of_each_layer(kind: str) -> None:
    found = page(kind)
    for result in alone(found.run):
        table = captioned(pane(found, result.cme.layer), "Ports that")
        stalls = {(x.memory, x.port): x.stall for x in result.cme.port_stalls}
        names = zip(table.texts("Memory"), table.texts("Port"), strict=True)
        assert table.values("Stall cycles") == [stalls[name] for name in names]


@KINDS
def test_what_if(kind: str) -> None:
    found = page(kind)
    for result in alone(found.run):
        cme = result.cme
        table = captioned(pane(found, cme.layer), "What if")
        answers = explain(recorded_problem(found.run.network, cme), cme).what_ifs
        known = {(x.latency, x.energy) for x in answers} | {(cme.latency, cme.energy)}
        shown = zip(table.values("Latency cycles"), table.values("Energy"), strict=True)
        assert set(shown) <= known
        for latency, change in list(
            zip(table.values("Latency cycles"), table.column("Change"), strict=True)
        )[1:]:
            assert change.value == (latency / cme.latency - 1 if latency != cme.latency else 0)


def test_the_nest_is_code() -> None:
    found = page("blocks")
    for result in alone(found.run):
        explanation = explain(recorded_problem(found.run.network, result.cme), result.cme)
        (nest,) = pane(found, result.cme.layer).with_class("nest")
        lines = nest.raw().splitlines()
        loops = [line.split()[1] for line in lines if line.split()[0] == "for"]
        assert loops == [x.dimension for x in reversed(explanation.nest.order)]
        assert lines[-1].strip() == explanation.nest.statement


def test_imc_parts_and_areas() -> None:
    found = page("imc")
    accelerator = found.run.network.accelerator
    assert captioned(found.tree, "Parts of the array").titles == (
        "Part",
        "Area mm2",
        "Delay ns",
        "Peak pJ/cycle",
    )
    areas = captioned(found.tree, f"Areas of {accelerator.name}")
    assert sum(areas.values("Area a.u.")) == pytest.approx(found.run.evaluation.area)
    for result in alone(found.run):
        energy = captioned(pane(found, result.cme.layer), "Energy of")
        parts = dict(zip(energy.texts("Part"), energy.values("Energy"), strict=True))
        for entry in result.cme.array_energies:
            assert parts[f"\u203a {entry.part.value}"] == entry.energy


def test_leakage() -> None:
    found = page("leaking")
    for result in alone(found.run):
        energy = captioned(pane(found, result.cme.layer), "Energy of")
        parts = dict(zip(energy.texts("Part"), energy.values("Energy"), strict=True))
        assert parts["leakage"] == result.cme.static_energy
        for entry in result.cme.static_energies:
            assert parts[f"\u203a {entry.part}"] == entry.energy


def test_vector_operators() -> None:
    found = page("vector")
    total = found.run.evaluation
    by_type = captioned(found.tree, "Vector operators by type")
    assert by_type.last("Energy") == total.vector_energy
    assert by_type.last("Latency cycles") == total.vector_latency
    nodes = captioned(found.tree, "All vector operators")
    assert nodes.values("Energy") == [x.energy for x in total.vector]
    assert nodes.texts("Node") == [x.node for x in total.vector]


def test_memories_and_ports_of_the_machine() -> None:
    found = page("blocks")
    levels = found.run.network.accelerator.memories
    memories = captioned(found.tree, "Memories of")
    assert memories.texts("Memory") == [x.name for x in levels]
    assert memories.values("Size") == [x.instance.size for x in levels]
    assert memories.values("Read pJ") == [x.instance.read_energy for x in levels]
    ports = captioned(found.tree, "Ports of")
    widths = [port.width_max for x in levels for port in x.instance.ports]
    assert ports.values("Width bit/cycle") == widths
    (drawing,) = found.tree.with_class("machine")
    assert found.run.network.accelerator.name in drawing.attributes["aria-label"]


def test_fronts() -> None:
    found = front_page()
    for layer in [result.cme.layer for result in alone(found.run)]:
        cmes = found.run.fronts[layer].cmes
        table = captioned(pane(found, layer), f"Pareto front of the mappings found for {layer}")
        assert table.values("Energy") == [x.energy for x in cmes]
        assert table.values("Latency cycles") == [x.latency for x in cmes]
