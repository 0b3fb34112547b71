"""``nestmap explore``: the table, the JSON file, the record, and what is said about them."""

import json
from pathlib import Path
from typing import Any

import pytest

from nestmap.model import NetworkEvaluation, Objective, Recording
from nestmap.model.evaluation.recording import RECORD_LIMIT
from nestmap.pipeline.explore.api import explore
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.render.tables.network import layer_table
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.store import Store
from tests.pipeline.cli.inputs import Inputs, run
from tests.pipeline.frontend.onnx.build import model, node, weights


def explored(inputs: Inputs, objective: Objective = Objective.LATENCY) -> NetworkEvaluation:
    """What the Python call gives for the same files."""
    return explore(
        inputs.network, inputs.machine, inputs.mapping, search="loma", objective=objective
    ).total


def loaded(file: Path) -> dict[str, Any]:
    """A JSON file."""
    value: dict[str, Any] = json.loads(file.read_text())
    return value


def test_prints_the_table_of_the_python_call(inputs: Inputs) -> None:
    ended = run(*inputs.explore, "--no-store")
    assert ended.code == 0
    lines = table_lines(layer_table(explored(inputs), read_workload(inputs.network).layers))
    assert "\n".join(line.text for line in lines) in ended.out
    assert "\x1b" not in ended.out


def test_totals_have_units(inputs: Inputs) -> None:
    total = explored(inputs)
    out = run(*inputs.explore, "--no-store").out
    assert f"latency {total.latency:,.0f} cycles" in out
    assert f"energy {total.energy:.1f} pJ" in out
    assert f"{total.evaluations} mappings evaluated" in out


def test_skipped_orders_are_explained(inputs: Inputs) -> None:
    assert (
        "9 of 12 orders of layer first skipped: "
        "outlet too small for O: needs at least 32 bit, has 16."
        in run(*inputs.explore, "--no-store").out
    )


def test_reduced_unrollings_are_told_and_written(inputs: Inputs, tmp_path: Path) -> None:
    network = Path(inputs.network)
    network.write_text(network.read_text().replace("[3, 6, 8]", "[3, 1, 8]"))
    for pareto in ([], ["--pareto"]):
        file = tmp_path / "found.json"
        ended = run(*inputs.explore, "--no-store", "--json", str(file), *pareto)
        assert "D1 asks for K 2, layer second uses 1." in " ".join(ended.out.split())
        assert loaded(file)["reduced_unrollings"] == [
            {"layer": "second", "array_dimension": "D1", "dimension": "K", "asked": 2, "used": 1}
        ]


def test_padded_layers_are_told_and_written(inputs: Inputs, tmp_path: Path) -> None:
    network, file = Path(inputs.network), tmp_path / "found.json"
    alone = network.read_text().replace("{I: 0, W: 1}", "{I: 1, W: 1}")
    network.write_text(alone.replace("[3, 6, 8]", "[31, 62, 31]"))
    command = ("explore", inputs.network, "-a", "tpu_like", "-m", inputs.mapping, "--no-store")
    for pareto in ([], ["--pareto"]):
        ended = run(*command, "--pad", "5", "--json", str(file), *pareto)
        assert (
            "Layer second is padded: K 62 -> 64 "
            "(3.2% more multiply-accumulates, in all figures of the layer)."
        ) in " ".join(ended.out.split())
        second = loaded(file)["layers"][1]
        (macs,) = {
            chosen["macs"]
            for chosen in (second["front"] if pareto else [second])
            if chosen["padding"] == [{"dimension": "K", "size": 62, "padded": 64}]
        }
        assert macs == 31 * 64 * 31


def test_mapping_files_have_no_padded_sizes(inputs: Inputs, tmp_path: Path) -> None:
    ended = run(*inputs.explore, "--pad", "5", "--save-mapping", str(tmp_path / "found.yaml"))
    assert ended.code != 0
    assert ended.err.strip() == (
        "error: --save-mapping cannot be combined with --pad; "
        "a mapping file has no sizes of padded loops; --json has them"
    )


@pytest.mark.parametrize("percent", ["-1", "0", "101"])
def test_padding_is_a_positive_share(inputs: Inputs, percent: str) -> None:
    ended = run(*inputs.explore, "--no-store", "--pad", percent)
    assert ended.code != 0
    assert "pad" in ended.err or "percent" in ended.err


def test_says_which_operators_nobody_knows(tmp_path: Path) -> None:
    nodes = [node("MatMul", "x w", "y"), node("Magic", "y", "z", domain="acme")]
    file = tmp_path / "magic.onnx"
    file.write_bytes(model(nodes, {"x": (2, 8)}, [weights("w", 8, 8)]).SerializeToString())
    out = run("explore", str(file), "-a", "tpu_like", "--search", "loma", "--no-store").out
    assert "Unrecognized operators, kept in the graph at no cost: acme.Magic (1)." in out
    assert "Operators that cost nothing here" not in out


def test_says_which_operators_cost_nothing(inputs: Inputs) -> None:
    search = ("--search", "loma", "--lpf-limit", "2")
    out = run("explore", "light:squeezenet", "-a", "tpu_like", *search, "--no-store").out
    assert out.count("Operators that cost nothing here: ") == 1
    assert "Concat (8)" in out
    assert "Relu (26)" not in out
    assert "cost nothing" not in run(*inputs.explore, "--no-store").out


@pytest.mark.parametrize("objective", list(Objective))
def test_json_has_everything_known_of_each_layer(inputs: Inputs, objective: Objective) -> None:
    file = inputs.folder / "out.json"
    ended = run(*inputs.explore, "--no-store", "--objective", objective.value, "--json", str(file))
    assert "Written to" in ended.err
    total, data = explored(inputs, objective), loaded(file)
    assert data["total"]["energy"] == total.energy
    assert data["total"]["latency"] == total.latency
    assert [layer["name"] for layer in data["layers"]] == ["first", "second"]
    for layer, result in zip(data["layers"], total.layers, strict=True):
        order = [[x.dimension, x.size] for x in result.cme.temporal_mapping.order]
        assert layer["temporal_mapping"]["order"] == order
        assert len(layer["levels"]) == len(result.cme.levels)


@pytest.mark.parametrize("pareto", [(), ("--pareto",)])
def test_json_of_a_run_that_is_not_recorded_is_the_same_every_time(
    inputs: Inputs, pareto: tuple[str, ...]
) -> None:
    for name in ("first.json", "second.json"):
        assert run(*inputs.explore, "--no-store", "--json", name, *pareto).code == 0
    first, second = Path("first.json"), Path("second.json")
    assert first.read_bytes() == second.read_bytes()
    assert loaded(first)["run"] is None


@pytest.mark.parametrize("pareto", [(), ("--pareto",)])
def test_json_of_recorded_runs_differs_in_one_field(
    inputs: Inputs, pareto: tuple[str, ...]
) -> None:
    texts: list[str] = []
    for name in ("a", "b"):
        files = ("--store", f"{name}.duckdb", "--json", f"{name}.json")
        assert run(*inputs.explore, *files, *pareto).code == 0
        text = Path(f"{name}.json").read_text()
        texts.append(text.replace(str(loaded(Path(f"{name}.json"))["run"]), "the run", 1))
    assert texts[0] == texts[1]


def test_options_reach_the_search(inputs: Inputs) -> None:
    few = run(*inputs.explore, "--no-store", "--lpf-limit", "2").out
    even = run(*inputs.explore, "--no-store", "--mapping-type", "even").out
    assert "9 of 12" not in few
    total = explore(
        inputs.network, inputs.machine, inputs.mapping, search="loma", mapping_type="even"
    ).total
    assert f"{total.evaluations} mappings evaluated" in even


def test_every_mapping_is_recorded_and_the_suggested_query_works(inputs: Inputs) -> None:
    ended = run(*inputs.explore, "--json", "out.json")
    assert ended.code == 0
    data = loaded(Path("out.json"))
    assert f"Recorded in nestmap.duckdb as run {data['run']}" in ended.err
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        (count,) = store.query("SELECT count(*) AS n FROM evaluations").rows()
    assert count["n"] == data["total"]["evaluations"]
    sql = ended.err.partition('nestmap query "')[2].partition('"')[0]
    answer = run("query", sql)
    assert answer.code == 0
    assert "first" in answer.out


@pytest.mark.parametrize(
    ("options", "limit"),
    [((), RECORD_LIMIT), (("--record-limit", "1"), 1), (("--record-limit", "none"), None)],
)
def test_the_record_of_a_search_has_a_limit(
    inputs: Inputs, options: tuple[str, ...], limit: int | None
) -> None:
    assert run(*inputs.explore, *options).code == 0
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        assert store.info(store.find_run("last")).recording == Recording(limit=limit)


def test_another_store_is_named_in_the_suggested_query(inputs: Inputs) -> None:
    err = run(*inputs.explore, "--store", "my results.duckdb").err
    assert "--store 'my results.duckdb'" in err
    assert (inputs.folder / "my results.duckdb").exists()
    assert not (inputs.folder / "nestmap.duckdb").exists()


def test_no_store_leaves_no_file(inputs: Inputs) -> None:
    before = sorted(inputs.folder.iterdir())
    assert "Recorded" not in run(*inputs.explore, "--no-store").err
    assert sorted(inputs.folder.iterdir()) == before


def test_says_what_the_bundled_mapping_fixes(inputs: Inputs) -> None:
    command = ("explore", inputs.network, "-a", "tpu_like", "--no-store", "--search", "loma")
    count = len(read_workload(inputs.network).layers)
    told = " ".join(run(*command).out.split())
    assert (
        f"The mapping bundled with tpu_like fixes the spatial mapping of {count} of {count} "
        in told
    )
    assert "--mapping free searches all spatial mappings" in told
    for mapping in ("free", "tpu_like"):
        assert "The mapping bundled" not in run(*command, "--mapping", mapping).out


def test_json_into_a_pipe_is_not_replaced_by_a_file(inputs: Inputs) -> None:
    ended = run(*inputs.explore, "--no-store", "--json", "/dev/null")
    assert ended.code == 0
    assert Path("/dev/null").is_char_device()


def unbalanced(inputs: Inputs) -> None:
    """Makes the second layer of the network fit nowhere: its sums have 32 bit."""
    network = Path(inputs.network)
    first, second = network.read_text().split("- id: 1")
    network.write_text(f"{first}- id: 1{second.replace('O: 16', 'O: 32')}")


@pytest.mark.parametrize("pareto", [[], ["--pareto"]])
def test_a_layer_that_fits_nowhere_ends_neither_the_run_nor_the_report(
    inputs: Inputs, tmp_path: Path, pareto: list[str]
) -> None:
    unbalanced(inputs)
    file, page = tmp_path / "found.json", tmp_path / "report.html"
    ended = run(*inputs.explore, "--json", str(file), *pareto)
    assert ended.code == 3
    said = " ".join(ended.out.split())
    assert (
        "No mapping fits: layer second: the memory allocation of this search found no place for "
        "any loop order on tiny: reg too small for O: needs at least 32 bit (sums of 32 bit: "
        "--sum-bits), has 16 ("
    ) in said
    found = loaded(file)
    assert [x["name"] for x in found["layers"]] == ["first"]
    (failed,) = found["infeasible_layers"]
    assert (failed["name"], failed["operator"], failed["repeats"]) == ("second", "Gemm", None)
    assert failed["reason"] in said
    assert list(failed["infeasible"]) == [
        "reg too small for O: needs at least 32 bit (sums of 32 bit: --sum-bits), has 16"
    ]
    assert run("report", "last", "--output", str(page)).code == 0
    assert "No mapping fits: layer second: " in page.read_text()
    assert "total without 1 of 2" in page.read_text()


def test_totals_without_a_layer_say_so(inputs: Inputs) -> None:
    unbalanced(inputs)
    ended = run(*inputs.explore, "--no-store")
    assert "Total without 1 of 2 layers (second): energy " in ended.out
    assert "no mapping fits" in ended.out


def test_no_mapping_of_any_layer_is_an_error(inputs: Inputs) -> None:
    machine = Path(inputs.machine)
    machine.write_text(machine.read_text().replace("size: 16\n", "size: 8\n"))
    ended = run(*inputs.explore, "--no-store")
    assert (ended.code, ended.out) == (2, "")
    assert "(and no mapping fits the 1 other layer)" in " ".join(ended.err.split())


def test_a_limit_is_one_of_all_layers(inputs: Inputs, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    ended = run(*inputs.explore, "--at-most", "latency=1.1x", "--no-store", "--json", str(file))
    said = " ".join(ended.out.split())
    assert ended.code == 0
    assert "together have the lowest energy with at most latency=1.1x" in said
    assert "Latency at most " in said
    limit = loaded(file)["total"]["at_most"]
    assert limit["value"] == pytest.approx(1.1 * limit["least"])
    assert limit["quantity"] == "latency"


def test_a_front_has_no_limit(inputs: Inputs) -> None:
    ended = run(*inputs.explore, "--at-most", "latency=1.1x", "--pareto", "--no-store")
    assert ended.code == 2
    assert "at_most cannot be combined with a search for fronts" in " ".join(ended.err.split())


def test_the_fastest_mapping_is_said_of_what_is_explored_for_energy(inputs: Inputs) -> None:
    named = ("-a", "eyeriss_like", "-m", "free", "--objective", "energy")
    command = ("explore", inputs.network, *named)
    first, again = run(*command), run(*command)
    assert "times the cycles of its fastest mapping" in " ".join(first.out.split())
    assert "its fastest mapping" not in again.out  # which would be searched
