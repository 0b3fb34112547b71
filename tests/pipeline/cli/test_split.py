"""``nestmap split``: the tables, the picture, the JSON file, and what is said of wrong options."""

import json
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from nestmap.model import Counting, InputError
from nestmap.model.multicore.split_options import HintLoop, SplitMode
from nestmap.pipeline.cli.options.multicore import SplitArguments
from nestmap.pipeline.cli.split_arguments import parse_hints, parse_split
from tests.pipeline.cli.inputs import LAYER, Inputs, run

CONV = """\
- id: %d
  name: %s
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, %d, %d, 8, 8, 3, 3]
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [8, 8]
  padding: [[1, 1], [1, 1]]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: %d, W: %d}
"""
TWO = CONV % (0, "first", 8, 3, 0, 0) + CONV % (1, "second", 16, 8, 0, 1)
HUGE = LAYER % (0, "big", "3, 4096, 8192", 0, 0)


@pytest.fixture
def command(inputs: Inputs) -> tuple[str, ...]:
    """The command over two convolutions, but for how they are split."""
    Path(inputs.network).write_text(TWO)
    return ("split", inputs.network, "--cores", "quad_tpu")


def cells(out: str, layer: str) -> list[list[str]]:
    """The words of the lines that begin with the name."""
    return [line.split() for line in out.splitlines() if line.split()[:1] == [layer]]


def test_prints_layers_totals_and_tensors(command: tuple[str, ...]) -> None:
    ended = run(*command, "--hint-loops", "OY=4")
    assert (ended.code, ended.err) == (0, "")
    first, second = cells(ended.out, "first")[0], cells(ended.out, "second")[0]
    assert " ".join(first) == "first Conv 4 1 216 B 72 B to 96 B 128 B 0 - OY 4 of 2"
    assert (
        " ".join(second) == "second Conv 4 1 1.125 KiB 192 B to 256 B 256 B 10 1.25 KiB OY 4 of 2"
    )
    assert cells(ended.out, "total")[0][1:4] == ["8", "2", "10"]
    assert (
        "Total: 8 nodes of 2 layers, 16 edges: 10 bring 1.25 KiB, 6 keep the order within a group."
        in ended.out
    )
    assert "second           W (constant)  1.125 KiB     1.125 KiB" in ended.out
    assert "Every node fits the outermost memories of all cores" in ended.out


def test_without_hints_it_is_layer_by_layer(command: tuple[str, ...]) -> None:
    ended = run(*command)
    assert ended.code == 0
    for name in ("first", "second"):
        row = cells(ended.out, name)[0]
        assert (row[2], row[-1]) == ("1", "whole")


def test_tilings_of_a_mapping_are_hints(command: tuple[str, ...], inputs: Inputs) -> None:
    Path("cores.yaml").write_text(
        "- {name: default, core_allocation: [0, 1]}\n"
        '- {name: first, core_allocation: [0], intra_core_tiling: ["OY, 2"]}\n'
    )
    said = run(*command, "--mapping", "cores.yaml")
    assert cells(said.out, "first")[0][-4:] == ["OY", "2", "of", "4"]
    given = run(*command, "--mapping", "cores.yaml", "--hint-loops", "OX=4")
    assert cells(given.out, "first")[0][-4:] == ["OX", "4", "of", "2"]


def test_says_what_is_too_large_for_which_cores(inputs: Inputs) -> None:
    Path(inputs.network).write_text(HUGE)
    ended = run("split", inputs.network, "--cores", "quad_tpu")
    row = next(line for line in ended.out.splitlines() if "tpu_like 0-3" in line)
    assert "big" in row
    assert "sram_2MB  2 MiB  O 12 KiB + I 24 KiB + W 32 MiB  W" in row
    share = run(
        *("split", inputs.network, "--cores", "quad_tpu"),
        *("--mode", "4", "--split-w-percentage", "0.5"),
    )
    assert "K 32 of 128" in share.out
    assert "Every node fits" in share.out


def test_the_reference_pads(command: tuple[str, ...]) -> None:
    exact = run(*command, "--hint-loops", "OY=3")
    assert "OY 3 of 3, last 2" in exact.out
    stream = run(*command, "--hint-loops", "OY=3", "--reference")
    assert "OY 3 of 3, padded from 8" in stream.out


def test_mode_2_gives_the_loops_within(command: tuple[str, ...]) -> None:
    ended = run(*command, "--mode", "2", "--hint-loops", "OX=all,C=all,FX=all,FY=all,OY=2,K=4")
    assert "K 2 of 4; OY 4 of 2" in ended.out
    assert "K 4 of 4; OY 4 of 2" in ended.out


@pytest.mark.parametrize(
    "hints", [("OY=2,OX=4 / K=2",), ("OY=2", "OX=4", "/", "K=2"), ("oy = 2, ox=4/k=2",)]
)
def test_mode_3_has_a_list_for_each_range(command: tuple[str, ...], hints: tuple[str, ...]) -> None:
    options = [word for hint in hints for word in ("--hint-loops", hint)]
    ended = run(*command, "--mode", "3", *options, "--layer-cutoffs", "1")
    assert "OY 2 of 4; OX 4 of 2" in ended.out
    assert "K 2 of 8" in ended.out


def test_json_has_nodes_and_edges(command: tuple[str, ...]) -> None:
    ended = run(*command, "--hint-loops", "OY=2", "--json", "out.json")
    assert ended.err == "Written to out.json.\n"
    data: dict[str, Any] = json.loads(Path("out.json").read_text())
    assert (data["nodes"], data["counting"], data["too_large"]) == (4, "exact", [])
    second = data["layers"][1]
    assert second["node"]["ranges"]["OY"] == [[0, 4], [4, 8]]
    assert second["node"]["bits"]["O"] == [4096, 4096]
    assert (second["node"]["group"], second["node"]["final"]) == ([0, 0], [True, True])
    edges = data["edges"]
    rows = sorted(zip(*(edges[x] for x in ("producer", "consumer", "bits")), strict=True))
    assert rows == [(0, 1, 0), (0, 2, 2048), (0, 3, 2048), (1, 2, 2048), (1, 3, 2048), (2, 3, 0)]
    assert edges["operand"].count("I") == 4


def test_draws_small_graphs_only(command: tuple[str, ...]) -> None:
    ended = run(*command, "--hint-loops", "OY=4", "--graph", "out.svg")
    assert (ended.code, ended.err) == (0, "Written to out.svg.\n")
    assert Path("out.svg").read_text().startswith("<svg")
    many = run(*command, "--hint-loops", "OY=all,OX=all,K=all", "--graph", "many.svg")
    assert (many.code, many.out) == (2, "")
    assert "--graph many.svg: found 1,536 computation nodes and " in many.err
    assert "expected at most 300 nodes and 3,000 edges" in many.err
    assert not Path("many.svg").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("OZ=4",), "--hint-loops: found dimension OZ, which no layer has; expected one of B, C"),
        (("OY",), "--hint-loops: found 'OY'; expected a dimension and a number of tiles or all"),
        (("4",), "--hint-loops: found '4'; expected a dimension"),
        (("OY=0",), "--hint-loops: found '0' tiles of OY; expected 1 to 2147483647, or all"),
        (("OY=-1",), "--hint-loops: found '-1' tiles of OY"),
        (("OY=2.5",), "--hint-loops: found '2.5' tiles of OY"),
        (("OY=99999999999",), "--hint-loops: found '99999999999' tiles of OY"),
        (("OY=2/K=2",), "--hint-loops: found 2 lists of loops for 0 layer cutoffs; expected 1"),
        (
            ("OY=2", "--mode", "3", "--layer-cutoffs", "1"),
            "--hint-loops: found 1 lists of loops for 1 layer cutoffs; expected 2",
        ),
        (
            ("OY=2/K=2", "--mode", "3", "--layer-cutoffs", "2"),
            "--layer-cutoffs: found 2 for a network of 2 nodes; expected 1 to 1",
        ),
        (
            ("OY=2/K=2/", "--mode", "3", "--layer-cutoffs", "5,5"),
            "--layer-cutoffs: found '5,5'; expected ascending numbers",
        ),
        (
            ("OY=2/K=2", "--mode", "3", "--layer-cutoffs", "one"),
            "--layer-cutoffs: found 'one'; expected ascending numbers",
        ),
        (("OY=2", "--layer-cutoffs", "1"), "--layer-cutoffs cannot be combined with --mode 1"),
        (
            ("OY=2", "--split-w-percentage", "0.5"),
            "--split-w-percentage cannot be combined with --mode 1",
        ),
        (
            ("OY=2", "--mode", "4", "--split-w-percentage", "1.5"),
            "--split-w-percentage: found 1.5; expected a fraction above 0 and at most 1",
        ),
        (
            ("OY=2", "--mode", "4", "--split-w-percentage", "0.000001"),
            "layer first: found constants",
        ),
        (("OY=2", "--json", "nowhere/out"), "expected a file in an existing folder"),
    ],
)
def test_says_what_is_wrong(
    command: tuple[str, ...], options: tuple[str, ...], message: str
) -> None:
    ended = run(*command, "--hint-loops", *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_unknown_cores_and_allocations_are_named(command: tuple[str, ...]) -> None:
    ended = run(*command[:2], "--cores", "quad_tpo")
    assert ended.code == 2
    assert "found 'quad_tpo'; expected a file or quad_tpu" in ended.err
    Path("cores.yaml").write_text("- {name: default, core_allocation: [9]}\n")
    ended = run(*command, "--mapping", "cores.yaml")
    assert ended.code == 2
    assert "cores.yaml:1: core_allocation[0] for 'default': found core 9" in ended.err
    Path("cores.yaml").write_text("- {name: frist, core_allocation: [0]}\n")
    ended = run(*command, "--mapping", "cores.yaml")
    assert "found neither a layer of the network nor an operator" in ended.err


def test_there_must_be_something_that_computes(inputs: Inputs) -> None:
    shape = helper.make_tensor("shape", TensorProto.INT64, [1], [6])
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"], "flat")],
        "moves",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [6])],
        [shape],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    Path("moves.onnx").write_bytes(model.SerializeToString())
    ended = run("split", "moves.onnx", "--cores", "quad_tpu", "--hint-loops", "OY=2")
    assert (ended.code, ended.out) == (2, "")
    assert "found no node to compute; expected a layer" in ended.err


@pytest.mark.parametrize("mode", [0, 5])
def test_there_are_four_modes(command: tuple[str, ...], mode: int) -> None:
    ended = run(*command, "--mode", str(mode))
    assert ended.code == 2
    assert "Invalid value for '--mode'" in ended.err


def test_options_become_a_split() -> None:
    made = parse_split(
        SplitArguments(mode=3, hint_loops=("OY=all / OX=2, K=4",), layer_cutoffs="7"),
        Counting.REFERENCE,
    )
    assert (made.mode, made.cutoffs, made.counting) == (
        SplitMode.PER_LAYER,
        (7,),
        Counting.REFERENCE,
    )
    assert made.hints == (
        (HintLoop(dimension="OY"),),
        (HintLoop(dimension="OX", tiles=2), HintLoop(dimension="K", tiles=4)),
    )


def test_an_empty_list_is_layer_by_layer() -> None:
    assert parse_hints(()) == ((),)
    assert parse_hints(("/", "OY=2", "/")) == ((), (("OY", 2),), ())
    with pytest.raises(InputError, match="tiles of OY"):
        parse_hints(("OY=2 OX=3",))
