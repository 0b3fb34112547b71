"""Models in notebooks: the figures are those of the model, names are text, tables stay small."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    MOVEMENTS,
    CostModelEvaluation,
    LayerFront,
    LayerResult,
    NetworkEvaluation,
    NetworkFront,
    VectorNode,
    Workload,
)
from nestmap.model.base import Frozen, copy_with
from nestmap.model.display import html, view
from nestmap.model.workload.equation import layer_from_equation
from nestmap.pipeline.frontend.read.accelerator import read_accelerator, read_multicore
from nestmap.pipeline.multicore.api import StreamResult
from nestmap.pipeline.render.notebook.markup import MOST_ROWS, table_html
from nestmap.pipeline.render.tables.table import Column, number_column, table
from tests.model.builders import convolution, fully_connected
from tests.notebooks.shown import Table, html_of, page_of, tables_of, text_of
from tests.pipeline.render.samples import evaluated, network, pooling
from tests.pipeline.render.text.read_explanation import bits, figure, percent
from tests.store.builders import network as network_problem
from tests.store.builders import results
from tests.sweeps import some_of

HOSTILE = "<script>alert(1)</script>&amp;\"'\n\u202e\x00</td>"
"""A name that is markup, breaks lines, turns text around and is no valid XML."""


@cache
def cme() -> CostModelEvaluation:
    return evaluated("tpu_like", 8, 64, 128)


def workload(count: int = 2) -> Workload:
    layers = [
        layer_from_equation(
            "O[k][ox]+=W[k][c][fx]*I[c][ix]",
            {"K": 4 + n, "C": 3, "OX": 5, "FX": 3},
            name=f"layer {n}",
            operator="Conv",
            relations=["ix=2*ox+1*fx"],
        )
        for n in range(count)
    ]
    return Workload.of(
        *layers, VectorNode(name="relu", operator="Relu", iterations=(3, 4)), name="net"
    )


def front(*names: str) -> NetworkFront:
    cmes = (evaluated("tpu_like", 8, 64, 128), evaluated("tpu_like", 1, 256, 64))
    fronts = (LayerFront(cmes=tuple(copy_with(x, {"layer": n}) for x in cmes)) for n in names)
    return NetworkFront(layers=tuple(fronts))


MODELS: list[Frozen] = [
    workload(),
    fully_connected(),
    read_accelerator("tpu_like"),
    read_accelerator("dimc"),
    cme().spatial_mapping,
    cme().temporal_mapping,
    cme(),
    evaluated("edge_22nm", 8, 64, 128),
    LayerResult(cme=cme()),
    network(["a", "b"], vector=True),
    front("a", "b"),
    front("a").layers[0],
    read_multicore("quad_hetero"),
]


def test_classes_with_a_view_show_themselves() -> None:
    html(None)  # loads the views
    assert StreamResult in view.registry
    hidden = [x.__name__ for x in view.registry if not hasattr(x, "_repr_html_")]
    assert hidden == ["object"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_show_themselves_and_stay_what_they_are(model: Frozen) -> None:
    before = (model.content_hash, model.model_dump_json())
    assert tables_of(model)
    assert "color" not in html_of(model)  # the notebook's own, light or dark
    assert not {x.tag for x in page_of(model).iter()} & {"script", "style", "link", "img"}
    again = type(model).model_validate_json(before[1])
    assert again == model
    assert (again.content_hash, again.model_dump_json()) == before


def test_a_workload() -> None:
    net = workload()
    shown, vectors = tables_of(net)
    assert shown.column("Layer") == ("layer 0", "layer 1")
    assert shown.column("Operator") == ("Conv", "Conv")
    assert shown.column("Dimensions") == ("K 4, C 3, OX 5, FX 3", "K 5, C 3, OX 5, FX 3")
    first = net.layers[0]
    for cell in shown.column("Bits of an element"):
        bits, _, sums = cell.partition(" (sums ")
        said = dict(part.split() for part in bits.split(", "))
        assert sums == f"{first.output.partial_precision})"
        assert said == {x.name: str(x.precision) for x in first.operands}
    assert [figure(cell).value for cell in shown.column("MACs")] == [180, 225]
    assert (shown.total[0], figure(shown.total[2]).value) == ("total", net.macs)
    assert vectors.row("Relu")["Operations"] == "12"


def test_a_layer() -> None:
    layer = convolution()
    (shown,) = tables_of(layer)
    assert layer.equation in shown.caption
    for operand in layer.operands:
        row = shown.row(operand.name)
        elements = layer.elements(operand.name)
        assert figure(row["Elements"]).value == elements
        assert row["Bits an element"] == str(operand.precision)
        assert bits(row["Size"]).tells(elements * operand.precision)


@pytest.mark.parametrize("name", ["tpu_like", "dimc", "edge_22nm"])
def test_an_accelerator(name: str) -> None:
    machine = read_accelerator(name)
    shown, ports = tables_of(machine)
    assert name in shown.caption
    for side in machine.array.sides:
        assert f"{side.name} {side.size}" in shown.caption
    assert shown.column("Memory") == tuple(level.name for level in machine.memories)
    for level in machine.memories:
        row, instance = shown.row(level.name), level.instance
        assert tuple(row["Holds"].split(", ")) == level.operands
        assert bits(row["Size"]).tells(instance.size)
        assert figure(row["Instances"]).value == machine.instances_of(level)
        assert float(row["Read pJ"]) == pytest.approx(instance.read_energy, rel=1e-3)
        assert float(row["Write pJ"]) == pytest.approx(instance.write_energy, rel=1e-3)
        for port in instance.ports:
            (width,) = (x[3] for x in ports.rows if x[:2] == (level.name, port.name))
            assert width.endswith(f"{port.width_max:,}")


def test_several_cores() -> None:
    machine = read_multicore("quad_hetero")
    kinds, channels, *memories = tables_of(machine)
    assert kinds.column("Cores")[:2] == ("0, 1", "2")
    assert "bus 0, 1, 2, 3, 4, 5, 6" in channels.column("Channel")
    alone = tables_of(machine.compute_cores[0].accelerator)[0]
    assert memories[0].rows == alone.rows
    assert len(memories) == len(kinds.rows) - 1  # one kind only stores


def check_costs(shown: Table, found: CostModelEvaluation) -> None:
    """That the parts of a cost are those of the evaluation."""
    said = {name.strip("\N{EM SPACE}"): cell for name, cell, _ in shown.rows}
    joules = {"Energy": found.energy, "MACs": found.mac_energy, "memories": found.memory_energy}
    for name, picojoules in joules.items():
        assert figure(said[name]).tells(picojoules * 1e-12)
    cycles = {
        "Latency": found.latency,
        "ideal": found.ideal_cycles,
        "stall": found.stall,
        "on-loading": found.onloading,
        "off-loading": found.offloading,
        "drain": found.drain,
    }
    for name, exact in cycles.items():
        assert figure(said[name]).tells(exact)
    assert percent(said["MAC utilization"]).tells(found.utilization)
    for entry in found.static_energies:
        assert entry.part in said


@pytest.mark.parametrize("machine", ["tpu_like", "edge_22nm", "dimc"])
def test_the_cost_of_a_mapping(machine: str) -> None:
    found = evaluated(machine, 8, 64, 128)
    parts, levels, spatial, temporal = tables_of(LayerResult(cme=found))
    assert [parts, levels, spatial, temporal] == tables_of(found)
    check_costs(parts, found)
    for entry, row in zip(found.levels, levels.rows, strict=True):
        assert row[:2] == (entry.operand, entry.memory)
        cells = dict(zip(levels.columns, row, strict=True))
        moved = zip(MOVEMENTS, entry.costs.accesses, strict=True)
        assert bits(cells["Holds"]).tells(entry.bits)
        assert percent(cells["Memory used"]).tells(entry.utilization)
        assert figure(cells["Words read"]).tells(sum(n for x, n in moved if x.reads))
        assert figure(cells["Energy"]).tells(entry.costs.energy * 1e-12)
    assert figure(levels.total[-1]).tells(found.memory_energy * 1e-12)
    assert len(temporal.rows) == len(found.temporal_mapping.order)
    for unrolling in found.spatial_mapping.unrollings:
        cells = spatial.row(unrolling.array_dimension)
        assert cells["Units used"] == str(unrolling.factor)
        assert cells["Loops"].split() == [x for loop in unrolling.loops for x in str(loop).split()]


def test_each_loop_names_the_memory_that_its_operands_are_in() -> None:
    mapping = cme().temporal_mapping
    *_, nest = tables_of(cme())
    (numbered,) = tables_of(mapping)
    assert nest.column("Loop") == tuple(str(loop) for loop in reversed(mapping.order))
    for cuts in mapping.cuts:
        for n, row in enumerate(reversed(nest.rows)):
            level = next(i for i, cut in enumerate(cuts.positions) if cut > n)
            at = nest.columns.index(f"{cuts.operand} in")
            assert row[at] == cme().level(cuts.operand, level).memory
            assert numbered.rows[-1 - n][at] == f"level {level}"


def test_a_network() -> None:
    evaluation = network(["a", "b", "a again"])
    results = (*evaluation.layers[:2], copy_with(evaluation.layers[0], {"repeats": "a"}))
    found = NetworkEvaluation(layers=results, vector=(pooling(),))
    (shown,) = tables_of(found)
    assert shown.column("Times")[:2] == ("2", "1")
    for result in found.layers[:2]:
        row = shown.row(result.cme.layer)
        assert figure(row["Energy"]).tells(result.cme.energy * 1e-12)
        assert figure(row["Latency cycles"]).tells(result.cme.latency)
        assert percent(row["MAC util."]).tells(result.cme.utilization)
    assert "not in the totals" in text_of(found)
    total = dict(zip(shown.columns, shown.total, strict=True))
    assert total["Times"] == "3"
    assert figure(total["Energy"]).tells(found.energy * 1e-12)
    assert figure(total["Latency cycles"]).tells(found.latency)
    (counted,) = tables_of(copy_with(found, {"vector_counted": True}))
    vector = counted.row("vector operators")
    assert figure(vector["Energy"]).tells(found.vector_energy * 1e-12)


def test_a_front() -> None:
    found = front("a", "b")
    (shown,) = tables_of(found)
    assert shown.column("Layer") == ("a", "a", "b", "b")
    cmes = [x for layer in found.layers for x in layer.cmes]
    for cme, energy, latency in zip(
        cmes, shown.column("Energy"), shown.column("Latency cycles"), strict=True
    ):
        assert figure(energy).tells(cme.energy * 1e-12)
        assert figure(latency).tells(cme.latency)
    repeated = copy_with(found.layers[0], {"repeats": "z"})
    assert [x.rows for x in tables_of(repeated)] == [shown.rows[:2]]


@pytest.mark.parametrize("count", [MOST_ROWS, MOST_ROWS + 1, 720])
def test_large_networks_are_cut_and_say_so(count: int) -> None:
    for model in (workload(count), network([f"layer {n}" for n in range(count)])):
        shown = tables_of(model)[0]
        assert len(shown.rows) == min(count, MOST_ROWS)
        macs = dict(zip(shown.columns, shown.total, strict=True))["MACs"]
        assert figure(macs).tells(model.macs)  # the total is that of all
        note = f"{count:,} rows; the first {MOST_ROWS} are shown." in text_of(model)
        assert note is (count > MOST_ROWS)
        assert len(html_of(model)) < 100_000


def test_large_fronts_are_cut_and_say_so() -> None:
    (shown,) = tables_of(front(*(f"layer {n}" for n in range(100))))
    assert len(shown.rows) == MOST_ROWS
    assert f"200 rows; the first {MOST_ROWS} are shown." in text_of(
        front(*(f"layer {n}" for n in range(100)))
    )


def hostile() -> list[Frozen]:
    found = copy_with(cme(), {"layer": HOSTILE, "operator": HOSTILE, "accelerator": HOSTILE})
    result = LayerResult(cme=found)
    layer = copy_with(fully_connected(), {"name": HOSTILE, "operator": HOSTILE})
    vector = VectorNode(name="v", operator=HOSTILE, iterations=(1,))
    return [
        found,
        layer,
        Workload.of(layer, vector, name=HOSTILE),
        NetworkEvaluation(layers=(result,)),
        NetworkFront(layers=(LayerFront(cmes=(found,)),)),
        copy_with(read_accelerator("tpu_like"), {"name": HOSTILE}),
    ]


@pytest.mark.parametrize("model", hostile(), ids=lambda model: type(model).__name__)
def test_names_are_text(model: Frozen) -> None:
    assert "<script" not in html_of(model)
    said = text_of(model)
    assert "<script>alert(1)</script>&amp;\"'\\n\\u202e\\x00</td>" in said
    assert "\u202e" not in said


@settings(max_examples=some_of(25))
@given(results(network_problem()), st.text(min_size=1))
def test_any_results_can_be_shown(found: NetworkEvaluation, name: str) -> None:
    assert len(tables_of(found)) == 1
    renamed = copy_with(found.layers[0].cme, {"layer": name})
    (parts, *_) = tables_of(renamed)
    assert all(c.isprintable() for c in parts.caption)
    assert tables_of(NetworkFront(layers=(LayerFront(cmes=(renamed,)),)))


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5), st.text())
def test_any_text_fits_into_a_table(rows: list[tuple[str, str]], caption: str) -> None:
    columns = (Column("name"), number_column("number", "unit"))

    class Shown:
        def _repr_html_(self) -> str:
            return table_html(table(columns, rows, caption=caption))

    (shown,) = tables_of(Shown())
    assert len(shown.rows) == len(rows)
    for (name, _), row in zip(rows, shown.rows, strict=True):
        if name.isprintable():
            assert row[0] == name
