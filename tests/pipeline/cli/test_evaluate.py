"""``nestmap evaluate``: one mapping costs what the search said it does."""

import json
from pathlib import Path
from typing import Any

import pytest

from nestmap.model import NetworkEvaluation, RunLabel
from nestmap.pipeline.explore.api import explore
from nestmap.pipeline.render.yaml.mapping import write_mapping
from nestmap.store import RunRecord, Store
from tests.pipeline.cli.inputs import Ended, Inputs, run

CUTS = ("--cut", "O=1,1,3", "--cut", "W=3", "--cut", "I=3")


def layer_json(file: Path) -> dict[str, Any]:
    """The only layer in a JSON file."""
    (layer,) = json.loads(file.read_text())["layers"]
    result: dict[str, Any] = layer
    return result


def test_an_order_is_placed_as_the_search_places_it(inputs: Inputs) -> None:
    best = explore(inputs.network, inputs.machine, inputs.mapping, search="loma").layers[0].cme
    order = ", ".join(str(loop) for loop in best.temporal_mapping.order)
    ended = run(*inputs.evaluate, "--order", order, "--json", "out.json")
    assert ended.code == 0
    layer = layer_json(Path("out.json"))
    assert (layer["energy"], layer["latency"]) == (best.energy, best.latency)
    cuts = {cuts.operand: list(cuts.positions) for cuts in best.temporal_mapping.cuts}
    assert layer["temporal_mapping"]["cuts"] == cuts


def test_cuts_are_taken_as_given(inputs: Inputs) -> None:
    ended = run(*inputs.evaluate, "--order", "C 5, B 3, K 4", *CUTS, "--json", "out.json")
    assert ended.code == 0
    cuts = layer_json(Path("out.json"))["temporal_mapping"]["cuts"]
    assert cuts == {"O": [1, 1, 3], "W": [3], "I": [3]}


@pytest.mark.parametrize("order", ["c 5,b 3,k 4", " C=5 , B = 3, K  4 ", "C 5, B 3, K 2, K 2, B 1"])
def test_orders_may_be_written_freely(inputs: Inputs, order: str) -> None:
    plain = run(*inputs.evaluate, "--order", "C 5, B 3, K 4", "--json", "plain.json")
    free = run(*inputs.evaluate, "--order", order, "--json", "free.json")
    assert (plain.code, free.code) == (0, 0)
    energies = {layer_json(Path(f"{name}.json"))["energy"] for name in ("plain", "free")}
    assert len(energies) == 1


def test_report_has_loops_parts_and_every_level(inputs: Inputs) -> None:
    out = run(*inputs.evaluate, "--order", "C 5, B 3, K 4").out
    assert "O[b][k] += W[k][c] * I[b][c]" in out
    assert "B 3, K 8, C 5: 120 MACs" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["C", "5", "reg", "buffer", "buffer"] in rows
    assert [row[:2] for row in rows if row[:1] in (["O"], ["W"], ["I"])] == [
        ["O", "reg"],
        ["O", "outlet"],
        ["O", "buffer"],
        ["W", "buffer"],
        ["I", "buffer"],
    ]


def test_parts_of_the_latency_add_up(inputs: Inputs) -> None:
    out = run(*inputs.evaluate, "--order", "C 5, B 3, K 4").out
    lines = out[out.index("Latency") : out.index("MAC utilization")].splitlines()
    total, *parts = (
        float(next(word for word in line.split() if word[0].isdigit()).replace(",", ""))
        for line in lines
    )
    assert total == sum(parts) > 0


def test_a_layer_of_a_network_by_name() -> None:
    order = "FX 11, FY 11, OX 54, OY 54, K 3"
    ended = run("evaluate", "light:alexnet", "--layer", "n0", "-a", "tpu_like", "--order", order)
    assert ended.code == 0
    assert "D1: K 32, D2: C 3" in ended.out


@pytest.fixture
def found(inputs: Inputs) -> NetworkEvaluation:
    """The best mappings, in ``found.yaml``."""
    total = explore(inputs.network, inputs.machine, inputs.mapping, search="loma").total
    write_mapping(Path("found.yaml"), total)
    return total


def replay(inputs: Inputs, *arguments: str) -> Ended:
    """Evaluates ``found.yaml``."""
    files = (inputs.network, "-a", inputs.machine, "--mapping-file", "found.yaml")
    return run("evaluate", *files, *arguments)


def test_a_mapping_file_says_how_to_run_all_layers(
    inputs: Inputs, found: NetworkEvaluation
) -> None:
    ended = replay(inputs, "--json", "out.json")
    assert (ended.code, ended.err) == (0, "Written to out.json.\n")
    layers = json.loads(Path("out.json").read_text())["layers"]
    figures = [(layer["name"], layer["energy"], layer["latency"]) for layer in layers]
    assert figures == [(x.cme.layer, x.cme.energy, x.cme.latency) for x in found.layers]
    assert [line.split()[0] for line in ended.out.splitlines() if "Gemm" in line] == [
        "first",
        "second",
    ]
    assert "2 mappings evaluated" in ended.out


def test_one_layer_of_a_mapping_file_is_reported_in_full(
    inputs: Inputs, found: NetworkEvaluation
) -> None:
    cme = found.layers[0].cme
    order = ", ".join(str(loop) for loop in cme.temporal_mapping.order)
    by_file, by_hand = replay(inputs, "--layer", "first"), run(*inputs.evaluate, "--order", order)
    assert (by_file.code, by_file.err) == (0, "")
    assert by_file.out == by_hand.out


def test_given_cuts_need_the_room_of_a_double_buffer(inputs: Inputs) -> None:
    machine = Path(inputs.machine)
    command = (*inputs.evaluate, "--order", "C 5, B 3, K 4", *CUTS)
    assert run(*command).code == 0
    double = "  reg:\n    force_double_buffering: true\n"
    machine.write_text(machine.read_text().replace("  reg:\n", double, 1))
    ended = run(*command)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: --cut: reg too small for O: needs at least 32 bit, has 16\n"


def kept(path: str = "kept.duckdb") -> tuple[RunRecord, NetworkEvaluation]:
    """The last run of a store, and its results."""
    with Store.open_read_only(Path(path)) as store:
        record = store.runs()[-1]
        return record, store.best(record.id)


def test_a_mapping_of_ones_own_is_kept_like_a_run(inputs: Inputs) -> None:
    """Of one layer: explained, plotted, compared with what a search found, and checked."""
    order = ("--order", "C 5, B 3, K 4", *CUTS)
    given = ("--store", "kept.duckdb", "--name", "mine", "--tag", "by hand")
    ended = run(*inputs.evaluate, *order, *given, "--json", "out.json")
    assert ended.code == 0, ended.err
    record, found = kept()
    assert f"Recorded in kept.duckdb as run {record.id}." in ended.err
    assert record.label == RunLabel(name="mine", tags=("by hand",))
    (result,) = found.layers
    assert json.loads(Path("out.json").read_text())["run"] == str(record.id)
    assert (result.cme.energy, result.cme.latency) == (
        layer_json(Path("out.json"))["energy"],
        layer_json(Path("out.json"))["latency"],
    )
    layer = result.cme.layer
    explained = run("explain", "mine", layer, "--store", "kept.duckdb")
    assert (explained.code, "C 5" in explained.out) == (0, True)
    assert run("db", "check", "--store", "kept.duckdb").code == 0
    assert run(*inputs.explore, "--store", "kept.duckdb").code == 0
    rows = json.loads(
        run(
            *("query", "compare", "--against", "mine", "--store", "kept.duckdb"),
            *("--format", "json"),
        ).out
    )
    (row,) = [row for row in rows if row["layer"] == layer]
    assert row["energy_before"] == result.cme.energy
    plotted = run("plot", "mine", "--what", "energy", "--store", "kept.duckdb", "-o", "energy.svg")
    assert (plotted.code, Path("energy.svg").exists()) == (0, True)
    reported = run("report", "mine", "last", "--store", "kept.duckdb", "-o", "both.html")
    assert reported.code == 0, reported.err
    assert ": mine #by hand" in Path("both.html").read_text()


def test_the_mappings_of_a_file_are_kept(inputs: Inputs) -> None:
    best = explore(inputs.network, inputs.machine, inputs.mapping, search="loma").total
    write_mapping(Path("best.yaml"), best)
    arguments = (inputs.network, "-a", inputs.machine, "--mapping-file", "best.yaml")
    ended = run("evaluate", *arguments, "--store", "kept.duckdb")
    assert ended.code == 0, ended.err
    record, found = kept()
    assert [x.cme for x in found.layers] == [x.cme for x in best.layers]
    assert record.label == RunLabel()
    for layer in found.layers:
        explained = run("explain", "last", layer.cme.layer, "--store", "kept.duckdb")
        assert explained.code == 0, explained.err


def test_a_name_needs_a_store(inputs: Inputs) -> None:
    ended = run(*inputs.evaluate, "--order", "C 5, B 3, K 4", "--name", "mine")
    assert ended.code == 2
    assert "--name cannot be combined with no --store" in ended.err
