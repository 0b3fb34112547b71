"""Poolings and additions of hand-written workloads: skipped on IMC arrays, and said so."""

from pathlib import Path

import pytest

from nestmap.model import (
    InputError,
    Layer,
    MappingConstraints,
    NetworkProblem,
    UnrollingHint,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore, explore_network, read_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import SearchUnusedMemoryStage, WorkloadStage
from nestmap.pipeline.stages.mapping.layers import mapped_layers, skipped_note
from nestmap.store import Store
from tests.loma import with_loma
from tests.pipeline.cli.inputs import run

WORKLOAD = """\
- id: 0
  name: conv
  operator_type: Conv
  equation: O[k][ox]+=W[k][c]*I[c][ox]
  loop_dims: [K, C, OX]
  loop_sizes: [8, 16, 4]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0, W: 0}
- id: 1
  name: pool
  operator_type: Pooling
  equation: O[k][ox]+=W[fx]*I[k][ix]
  dimension_relations: [ix=2*ox+1*fx]
  loop_dims: [K, OX, FX]
  loop_sizes: [8, 2, 2]
  operand_precision: {W: 0, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0, W: 1}
- id: 2
  name: next
  operator_type: Conv
  equation: O[k][ox]+=W[k][c]*I[c][ox]
  loop_dims: [K, C, OX]
  loop_sizes: [8, 8, 2]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 1, W: 2}
- id: 3
  name: sum
  operator_type: Add
  equation: O[k][ox]=W[k][ox]+I[k][ox]
  loop_dims: [K, OX]
  loop_sizes: [8, 2]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {W: 1, I: 2}
"""
NOTE = "Layers that an IMC array skips, at no cost here: Add 1, Pooling 1."


def pooling(operator: str) -> Layer:
    """A layer without weights."""
    equation, sizes = "O[k]+=A[fx]*I[k][fx]", {"K": 4, "FX": 2}
    return layer_from_equation(equation, sizes, name="pool", operator=operator)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The workload as a file."""
    path = tmp_path / "small.yaml"
    path.write_text(WORKLOAD)
    return path


@pytest.mark.parametrize(
    ("accelerator", "layers"),
    [
        ("dimc", ["conv", "next"]),
        ("aimc", ["conv", "next"]),
        ("tpu_like", ["conv", "pool", "next", "sum"]),
    ],
)
def test_imc_arrays_skip_them(file: Path, accelerator: str, layers: list[str]) -> None:
    network = read_network(file, accelerator)
    assert [problem.layer.name for problem in WorkloadStage()(network)] == layers
    assert [layer.name for layer in mapped_layers(network)] == layers


@pytest.mark.parametrize(("operator", "mapped"), [("Pooling", 0), ("MaxPool", 1), ("pooling", 1)])
def test_only_these_two_operators_are_skipped(operator: str, mapped: int) -> None:
    accelerator = read_network(Workload.of(pooling("Conv")), "dimc", "free").accelerator
    network = NetworkProblem(workload=Workload.of(pooling(operator)), accelerator=accelerator)
    assert len(mapped_layers(network)) == mapped


def test_what_is_skipped_costs_nothing(file: Path, tmp_path: Path) -> None:
    found = explore(file, "dimc", search="loma", spatial_mappings=3, lpf_limit=2)
    alone = WORKLOAD[: WORKLOAD.index("- id: 1")] + WORKLOAD[
        WORKLOAD.index("- id: 2") : WORKLOAD.index("- id: 3")
    ].replace("I: 1", "I: 2")  # from outside
    (tmp_path / "convolutions.yaml").write_text(alone)
    assert (
        found.layers
        == explore(
            tmp_path / "convolutions.yaml", "dimc", search="loma", spatial_mappings=3, lpf_limit=2
        ).layers
    )


def test_what_stays_on_chip_is_found_for_the_whole_network(file: Path) -> None:
    network = SearchUnusedMemoryStage()(read_network(file, "dimc"))
    assert [x.layer for x in network.top_levels] == ["conv", "pool", "next", "sum"]
    reader = network.workload.layers[2]
    tops = {x.operand: x.memory for x in network.top_levels_of(reader)}
    assert tops["I1"] == "dram"  # what the pooling writes has two readers
    assert tops["O"] == "dram"  # the addition reads something else, too
    first = {x.operand: x.memory for x in network.top_levels_of(network.workload.layers[0])}
    assert first["O"] == "sram_256KB"  # whoever does the pooling reads it there
    found = explore_network(
        read_network(file, "dimc"), SearchPlan.of(with_loma(keep_on_chip=True, lpf_limit=2))
    )
    assert [result.cme.layer for result in found.layers] == ["conv", "next"]


def test_nothing_left_is_an_error() -> None:
    only = Workload.of(pooling("Pooling"), name="only")
    expected = (
        "workload only: found no layer that the array computes, only layers that an IMC array "
        "skips: Pooling 1; expected at least one convolution or matrix product"
    )
    with pytest.raises(InputError) as raised:
        explore(only, "dimc", search="loma", spatial_mappings=3)
    assert str(raised.value) == expected
    accelerator = read_network(Workload.of(pooling("Conv")), "dimc", "free").accelerator
    network = NetworkProblem(workload=only, accelerator=accelerator)
    for stage in (WorkloadStage(), SearchUnusedMemoryStage()):
        with pytest.raises(InputError, match="skips: Pooling 1"):
            stage(network)


def test_hints_for_what_is_skipped_are_not_checked(file: Path) -> None:
    network = read_network(file, "dimc")
    (entry, *_) = network.constraints.entries
    hints = (UnrollingHint(array_dimension="D1", dimensions=("G",)),)
    addition = copy_with(entry, {"target": "Add", "spatial_hints": hints})
    constraints = MappingConstraints(entries=(addition,))
    assert read_network(file, "dimc", constraints).constraints == constraints
    with pytest.raises(InputError, match="loop dimension G"):
        read_network(file, "tpu_like", constraints)


def test_results_are_recorded(file: Path, tmp_path: Path) -> None:
    found = explore(
        file,
        "dimc",
        search="loma",
        spatial_mappings=3,
        lpf_limit=2,
        store=tmp_path / "store.duckdb",
    )
    with Store.open_read_only(tmp_path / "store.duckdb") as store:
        assert store.best(found.run) == found.total
        assert [x.layer for x in store.pareto(found.run).layers] == ["conv", "next"]


def test_the_command_says_what_it_skips(file: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "found.yaml"
    common = (str(file), "--accelerator", "dimc")
    search = ("--search", "loma", "--spatial-mappings", "3", "--lpf-limit", "2")
    options = (*search, "--no-store")
    explored = run("explore", *common, *options, "--save-mapping", str(mapping))
    assert explored.code == 0
    assert NOTE in explored.out
    assert NOTE in run("explore", *common, *options, "--pareto").out
    evaluated = run("evaluate", *common, "--mapping-file", str(mapping))
    assert evaluated.code == 0
    assert NOTE in evaluated.out
    assert "skips" not in run("explore", str(file), "-a", "tpu_like", *options).out


def test_where_nothing_is_skipped_there_is_no_note(file: Path) -> None:
    network = read_network(file, "tpu_like")
    found = explore_network(network, SearchPlan.of(with_loma(lpf_limit=2)))
    assert skipped_note(network.workload.layers, found.total) == ""
