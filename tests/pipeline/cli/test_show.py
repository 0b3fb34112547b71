"""``nestmap show``: the table, the picture, the JSON file, and what is said about them."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from onnx import TensorProto, helper

from nestmap.costmodel.area_leakage import total_area
from nestmap.costmodel.imc.array import array_areas, peak_energies, peak_performance
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.render.svg.workload import graph_svg
from tests.pipeline.cli.inputs import LAYER, Inputs, run, run_process

TWINS = LAYER % (0, "one", "3, 8, 5", 0, 0) + LAYER % (1, "two", "3, 8, 5", 1, 1)


def rows(out: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in out.splitlines()]


def test_prints_layers_totals_and_definitions(inputs: Inputs) -> None:
    ended = run("show", inputs.network)
    assert (ended.code, ended.err) == (0, "")
    names = [row[0] for row in rows(ended.out) if "Gemm" in row]
    assert names == ["first", "second"]
    assert "Total: layers 2, different ones 2, MACs 264, weights 88 B;" in ended.out
    assert "MACs per byte (arithmetic intensity): multiply-accumulates per byte" in ended.out
    assert "\x1b" not in ended.out


def times(out: str, operator: str) -> dict[str, int]:
    """How many layers of an operator each row stands for."""
    head = next(line for line in out.splitlines() if "Times" in line)
    end = head.index("Times") + len("Times")
    lines = [line[:end].split() for line in out.splitlines() if f" {operator} " in line[:end]]
    return {words[0]: int(words[-1]) for words in lines}


def test_identical_layers_are_one_row_unless_all_are_wanted(inputs: Inputs) -> None:
    Path(inputs.network).write_text(TWINS)
    few, every = run("show", inputs.network), run("show", inputs.network, "--all")
    assert times(few.out, "Gemm") == {"one": 2}
    assert times(every.out, "Gemm") == {"one": 1, "two": 1}
    for out in (few.out, every.out):
        assert "Total: layers 2, different ones 1, MACs 240," in out


def test_a_network_without_layers_says_so(tmp_path: Path) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"], name="relu")
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 8]) for n in ("x", "y")]
    graph = helper.make_graph([relu], "net", values[:1], values[1:])
    file = tmp_path / "relu.onnx"
    file.write_bytes(helper.make_model(graph).SerializeToString())
    ended = run("show", str(file))
    assert ended.code == 0
    assert "No layer that the array computes." in ended.out
    assert ["Relu", "1", "8"] in [row[:3] for row in rows(ended.out)]


def test_a_network_of_the_onnx_package() -> None:
    workload, ended = read_workload("light:squeezenet"), run("show", "light:squeezenet")
    assert ended.code == 0
    counts = times(ended.out, "Conv").values()
    assert (len(counts), sum(counts)) == (18, 26)
    assert sum(layer.macs for layer in workload.layers) == workload.macs == 349_151_936
    assert "MACs 349.2 M," in ended.out
    assert ["Relu", "26"] in [row[:2] for row in rows(ended.out)]
    assert "Unrecognized operators" not in ended.out


@pytest.mark.parametrize("option", [(), ("--all",)])
def test_json_has_the_rows_of_the_table(inputs: Inputs, option: tuple[str, ...]) -> None:
    Path(inputs.network).write_text(TWINS)
    ended = run("show", inputs.network, *option, "--json", "out.json")
    assert ended.err == "Written to out.json.\n"
    data: dict[str, Any] = json.loads(Path("out.json").read_text())
    names = [layer["names"] for layer in data["layers"]]
    assert names == ([["one"], ["two"]] if option else [["one", "two"]])
    assert (data["total"]["macs"], data["total"]["different_layers"]) == (240, 1)


def test_draws_the_graph(inputs: Inputs) -> None:
    ended = run("show", inputs.network, "--graph", "out.svg")
    assert (ended.code, ended.err) == (0, "Written to out.svg.\n")
    text = Path("out.svg").read_text()
    assert text == graph_svg(read_workload(inputs.network))
    assert ET.fromstring(text).tag.endswith("svg")


def test_targets_are_checked_before_anything_is_done(inputs: Inputs) -> None:
    for option in ("--graph", "--json"):
        ended = run("show", inputs.network, option, "nowhere/out")
        assert (ended.code, ended.out) == (2, "")
        assert "nowhere" in ended.err
        assert "expected a file in an existing folder" in ended.err
        own = run("show", inputs.network, option, inputs.network)
        assert own.err.startswith(f"error: {option} {inputs.network}: found ")
    same = run("show", inputs.network, "--graph", "out", "--json", "out")
    assert same.err == "error: --graph out: found out, which is used already; " + (
        "expected a different file\n"
    )
    assert not Path("out").exists()


def test_names_from_files_cannot_move_the_cursor(inputs: Inputs) -> None:
    Path(inputs.network).write_text(LAYER % (0, '"a\\eb"', "3, 8, 5", 0, 0))
    ended = run("show", inputs.network, "--graph", "out.svg")
    assert ended.code == 0
    assert "a\\x1bb" in ended.out
    assert "a\\x1bb" in Path("out.svg").read_text()


def test_unknown_names_and_files(inputs: Inputs) -> None:
    assert "light:resnet50" in run("show", "light:resnet51").err
    missing = run("show", str(inputs.folder / "missing.onnx"))
    assert (missing.code, missing.out) == (2, "")
    assert missing.err.startswith("error: ")


def test_the_picture_is_the_same_each_time(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = range(0, 15, 3)  # each of two layers that a third one multiplies
    leaves = [
        LAYER % (i + n, f"leaf{i + n}", "8, 8, 8", i + n, i + n) for i in trees for n in (1, 2)
    ]
    roots = [LAYER % (i, f"root{i}", "8, 8, 8", i + 1, i + 2) for i in trees]
    Path(inputs.network).write_text("".join((*leaves, *roots)))
    pictures: set[str] = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        file = inputs.folder / f"{seed}.svg"
        assert run_process("show", inputs.network, "--graph", str(file)).code == 0
        pictures.add(file.read_text())
    assert len(pictures) == 1


def test_an_accelerator_with_what_its_memories_cost() -> None:
    ended = run("show", "--accelerator", "edge_22nm")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("edge_22nm: 256 MACs (D1 16 x D2 16)\n")
    shown = {row[0]: row for row in rows(ended.out) if row}
    for level in read_accelerator("edge_22nm").memories:
        instance = level.instance
        costs = (instance.read_energy, instance.write_energy, instance.area, instance.leakage)
        assert shown[level.name][-4:] == [f"{figure:.4g}" for figure in costs]
    assert shown["accumulators"][1:6] == ["O", "64", "B", "16", "32"]
    assert float(shown["weights"][-1]) > 0


def test_an_array_that_computes_in_memory_with_its_parts() -> None:
    ended = run("show", "--accelerator", "dimc")
    assert ended.code == 0
    machine = read_accelerator("dimc")
    peak = peak_performance(machine)
    text = " ".join(ended.out.split())
    assert "Computes in memory, digital: 128 columns x 128 rows x 1 bank" in text
    assert f"peak {peak.tops:.4g} TOPS, {peak.tops_per_watt:.4g} TOPS/W" in text
    parts, _ = ended.out.split("Memory   ")
    shown = {row[0]: row for row in rows(parts) if row}
    for area, energy in zip(array_areas(machine)[1:], peak_energies(machine), strict=False):
        assert shown[area.part][1] == f"{area.area:.4g}"
        assert shown[energy.part][3] == f"{energy.energy:.4g}"
    assert sum(float(shown[x.part][1]) for x in array_areas(machine)) == pytest.approx(
        total_area(machine), rel=1e-3
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "nestmap show: found nothing to show; expected a network, or --accelerator"),
        (("-a", "tpu_like", "net.yaml"), "--accelerator cannot be combined with a network or an"),
        (("-a", "tpu_like", "--all"), "--accelerator cannot be combined with a network or an"),
        (
            ("-a", "tpu_like", "--json", "x.json"),
            "--accelerator cannot be combined with a network or an",
        ),
    ],
)
def test_a_network_or_an_accelerator(arguments: tuple[str, ...], told: str) -> None:
    ended = run("show", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {told}")


def test_several_cores_are_shown_by_their_kinds() -> None:
    """Equal cores are one row, and so are the two directions of a link."""
    ended = run("show", "--accelerator", "quad_tpu")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "quad_tpu: 7 cores, of which 6 compute; core 6 is off the chip."
    assert [x.split()[:2] for x in lines[4:8]] == [
        ["0-3", "tpu_like"],
        ["4", "pooling"],
        ["5", "simd"],
        ["6", "offchip"],
    ]
    assert "Add and " in lines[6]
    channels = [x for x in lines if "<->" in x]
    assert len(channels) == 12
    assert channels[0].split() == ["0", "<->", "1", "32", "0", "0"]
    assert [x for x in lines if x.startswith("Core")][1:] == [
        "Cores 0-3, tpu_like: 1,024 MACs (D1 32 x D2 32)",
        "Core 4, pooling: 72 MACs (D1 3 x D2 3 x D3 8)",
        "Core 5, simd: 64 MACs (D1 64)",
    ]
