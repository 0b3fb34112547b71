"""Mapping files of present Stream: layers with tilings by position, and fused groups."""

import re
from pathlib import Path
from typing import Final

import pytest

import nestmap
from nestmap.model import CoreMapping, InputError, Workload
from nestmap.model.errors import InputWarning
from nestmap.model.multicore.placed_tilings import resolve_names
from nestmap.model.multicore.split_options import HintLoop, Hints
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.yaml.mapping import parse_core_mapping, parse_mapping
from tests.faults.located import Fault, check_located
from tests.pipeline.frontend.onnx.build import model, node, weights

FILE: Final = """\
layers:
- name: Conv
  core_allocation: [[0, 1, 2, 3]]
  inter_core_tiling: [[{dim: D6, split: 4}]]
- name: Gemm
  core_allocation: [0, 1]
  inter_core_tiling:
  - {dim: D2, split: 2}
- name: Relu
  core_allocation: [[0, 1, 2, 3]]
  inter_core_tiling: [[{dim: D3, split: 2}]]
  kernel: {name: relu, kwargs: {utilization: 50}}
- {name: GlobalAveragePool, core_allocation: [[4]]}
fused_groups:
- name: front
  layers: [Conv, Relu]
  intra_core_tiling: [{dim: second.D2, tile: 2}]
runtime_args: {x: {}}
"""


def network() -> Workload:
    """Two convolutions with an activation between them, pooled and classified."""
    nodes = [
        node("Conv", "x w1", "a", name="first"),
        node("Relu", "a", "b", name="relu"),
        node("Conv", "b w2", "c", {"strides": [2, 2]}, name="second"),
        node("GlobalAveragePool", "c", "p", name="pool"),
        node("Flatten", "p", "f", name="flat"),
        node("Gemm", "f w3", "y", name="last"),
    ]
    stored = [weights("w1", 8, 4, 3, 3), weights("w2", 16, 8, 3, 3), weights("w3", 16, 10)]
    return parse_onnx(model(nodes, {"x": (1, 4, 20, 18)}, stored))


def resolved(tmp_path: Path, text: str, of: Workload | None = None) -> CoreMapping:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    return resolve_names(parse_core_mapping(path), of or network())


def hints(mapping: CoreMapping, of: Workload | None = None) -> dict[str, tuple[Hints, Hints]]:
    """Inter-core and intra-core tilings of every node that has one."""
    found = {x.name: mapping.of(x.name, x.operator) for x in (of or network()).nodes}
    return {name: (x.inter, x.intra) for name, x in found.items() if x.hints}


def loop(dimension: str, tiles: int | None) -> Hints:
    return (HintLoop(dimension=dimension, tiles=tiles),)


def test_positions_are_dimensions_of_each_operator(tmp_path: Path) -> None:
    """A convolution has B, OX, OY, FX, FY, C, K, G; a product rows, inner elements, columns."""
    mapping = resolved(tmp_path, FILE)
    found = hints(mapping)
    assert found["first"][0] == loop("K", 4)
    assert found["second"][0] == loop("K", 4)
    assert found["last"] == (loop("K", 2), ())
    relu = next(x for x in network().vector_nodes if x.name == "relu")
    assert relu.nest is not None
    assert found["relu"][0] == loop(relu.nest.output[3].terms[0].dimension, 2)
    assert mapping.of("pool", "GlobalAveragePool").cores == (4,)
    assert mapping.of("last", "Gemm").cores == (0, 1)


def test_a_group_cuts_its_members_along_the_axis_that_they_share(tmp_path: Path) -> None:
    """Two of eight rows of the second make four parts, also of what its rows are made of."""
    found = hints(resolved(tmp_path, FILE))
    assert found["second"][1] == loop("OY", 4)
    assert found["first"][1] == loop("OY", 4)
    assert [x.tiles for x in found["relu"][1]] == [4]
    assert "pool" not in found


def test_columns_of_a_product_are_no_columns_of_the_next(tmp_path: Path) -> None:
    text = """\
layers: [{name: Gemm, core_allocation: [[0]]}]
fused_groups:
- name: all
  layers: [left, right]
  intra_core_tiling: [{dim: left.D0, tile: 4}, {dim: right.D1, tile: 3}, {dim: right.D2, tile: 5}]
"""
    nodes = [node("Gemm", "x w1", "a", name="left"), node("Gemm", "a w2", "y", name="right")]
    stored = [weights("w1", 6, 12), weights("w2", 12, 10)]
    net = parse_onnx(model(nodes, {"x": (16, 6)}, stored))
    found = hints(resolved(tmp_path, text, net), net)
    assert found["right"][1] == (*loop("D", 4), *loop("C", 4), *loop("K", 2))
    assert found["left"][1] == (*loop("D", 4), *loop("K", 4))


def test_groups_of_operator_types_take_the_nearest_layers(tmp_path: Path) -> None:
    nodes = [
        node("Conv", "x w1", "a", name="c1"),
        node("Relu", "a", "b", name="r1"),
        node("Conv", "b w2", "c", name="c2"),
        node("Relu", "c", "y", name="r2"),
    ]
    stored = [weights("w1", 8, 4, 1, 1), weights("w2", 8, 8, 1, 1)]
    net = parse_onnx(model(nodes, {"x": (1, 4, 12, 12)}, stored))
    text = """\
layers: [{name: Conv, core_allocation: [[0]]}, {name: Relu, core_allocation: [[0]]}]
fused_groups:
- {name: one, layers: [Conv, Relu], intra_core_tiling: [{dim: c1.D2, tile: 6}]}
- {name: two, layers: [Conv, Relu], intra_core_tiling: [{dim: c2.D2, tile: 1}]}
"""
    found = hints(resolved(tmp_path, text, net), net)
    parts = {name: [x.tiles for x in intra] for name, (_, intra) in found.items()}
    assert parts == {"c1": [2], "r1": [2], "c2": [None], "r2": [None]}


def test_members_need_no_entry(tmp_path: Path) -> None:
    text = FILE[FILE.index("fused_groups") :]
    found = hints(resolved(tmp_path, f"layers: []\n{text}"))
    assert found.keys() == {"first", "relu", "second"}


def test_one_core_reads_no_constraints_from_it(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(FILE)
    assert parse_mapping(path).entries == ()


def test_it_schedules_as_the_older_format_does(tmp_path: Path) -> None:
    """The same cores and tilings, in both formats."""
    older = [
        {"name": "Conv", "core_allocation": [0, 1, 2, 3], "inter_core_tiling": ["K, 4"]},
        {"name": "Gemm", "core_allocation": [0, 1], "inter_core_tiling": ["K, 2"]},
        {"name": "GlobalAveragePool", "core_allocation": [4]},
    ]
    text = FILE.split("- name: Relu")[0] + "- {name: GlobalAveragePool, core_allocation: [[4]]}\n"
    path = tmp_path / "m.yaml"
    path.write_text(text)
    one, other = (nestmap.stream(network(), "quad_tpu", x) for x in (path, older))
    assert (one.energy, one.latency) == (other.energy, other.latency)
    assert len(one.problem.nodes) == len(other.problem.nodes) > len(network().nodes)


def test_the_first_of_two_entries_counts(tmp_path: Path) -> None:
    text = "layers:\n- {name: Conv, core_allocation: [0]}\n- {name: Conv, core_allocation: [1]}\n"
    with pytest.warns(InputWarning, match=r"m.yaml:3: .*a second entry for 'Conv'.*first counts"):
        mapping = resolved(tmp_path, text)
    assert mapping.of("first", "Conv").cores == (0,)
    again = text.replace("[1]", "[0]")
    assert resolved(tmp_path, again).of("first", "Conv").cores == (0,)


def test_dimensions_that_a_node_does_not_have_are_skipped(tmp_path: Path) -> None:
    text = FILE.replace("dim: D3", "dim: D4")
    with pytest.warns(InputWarning, match=re.escape("D4 of relu, which has D0 to D3")):
        assert hints(resolved(tmp_path, text))["relu"][0] == ()


FAULTS: Final = (
    Fault("dim: D6", "dim: K", "4: layers[0].inter_core_tiling[0][0].dim", "'K'", "such as D6"),
    Fault("split: 4", "split: 0", "4: layers[0].inter_core_tiling[0][0].split", "0", "1"),
    Fault(
        "split: 4",
        "parts: 4",
        "4: layers[0].inter_core_tiling[0][0].parts",
        "the unknown field 'parts'",
        "one of dim, split",
    ),
    Fault(
        "[[{dim: D6, split: 4}]]",
        "[[{dim: D6, split: 4}], [{dim: D6, split: 2}]]",
        "4: layers[0].inter_core_tiling",
        "2 tilings",
        "one",
    ),
    Fault("[0, 1]\n", "[0, x]\n", "6: layers[1].core_allocation[1]", "'x'", "the number of a core"),
    Fault("second.D2", "D2", "17: fused_groups[0].intra_core_tiling[0].dim", "'D2'", "node.D2"),
    Fault("tile: 2", "tile: all", "17: fused_groups[0].intra_core_tiling[0].tile", "'all'", "1"),
    Fault(
        "runtime_args",
        "- {name: front, layers: [Relu], intra_core_tiling: [{dim: a.D1, tile: 1}]}\nruntime_args",
        "18: fused_groups[1]",
        "a second group 'front'",
        "one group for each name",
    ),
    Fault("fused_groups:", "groups:", "14: groups", "unknown", "fused_groups"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=[x.new for x in FAULTS])
def test_faults_are_located(fault: Fault, tmp_path: Path) -> None:
    check_located(parse_core_mapping, FILE, fault, tmp_path / "bad.yaml")


def test_a_group_of_no_node_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        resolved(tmp_path, FILE.replace("second.D2", "secnd.D2"))
    assert caught.value.where.endswith("m.yaml:17: fused group 'front'")
    assert caught.value.found == "a tiling of node 'secnd', which the network does not have"
    assert caught.value.expected.startswith("second (one of first")
