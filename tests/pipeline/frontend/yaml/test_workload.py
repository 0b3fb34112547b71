"""Workload files: layers, sources, precisions and padding as ZigZag's users write them."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import (
    AffineIndex,
    InputError,
    InputWarning,
    Layer,
    LayerNode,
    Loop,
    NoCostNode,
    Term,
    Workload,
)
from nestmap.model.workload.access import Shift
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml

NETWORK = """\
- id: 0
  name: stem
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 64, 3, 112, 100, 7, 5]
  operand_precision: {W: 4, I: 8, O: 16, O_final: 6}
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [200, 224]
  padding: [[2, 1], [3, 2]]
  operand_source: {I: 0, W: 0}

- id: 7
  name:
  operator_type: Pooling
  equation: O[b][g][oy][ox]+=W[fx][fy]*I[b][g][iy][ix]
  dimension_relations: [ix=2*ox+fx, iy=2*oy + fy]
  loop_dims: [B, G, OY, OX, FX, FY]
  loop_sizes: [1, 64, 56, 50, 3, 3]
  operand_precision: {I: 6, W: 0, O: 16, O_final: 8}
  pr_loop_dims: [IY]
  padding: [[1, 0]]
  operand_source: {I: 0, W: 7}

- id: 3
  operator_type: Add
  equation: O[b][g][oy][ox]=W[b][g][oy][ox]+I[b][g][oy][ox]
  loop_dims: [b, g, oy, ox]
  loop_sizes: [1, 64, 56, 50]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {W: 7, I: 7}
"""


def parsed(folder: Path, text: str) -> Workload:
    """The workload of a text, called ``net``."""
    file = folder / "net.yaml"
    file.write_text(text)
    return parse_workload_yaml(file)


@pytest.fixture
def network(tmp_path: Path) -> Workload:
    """The sample network."""
    return parsed(tmp_path, NETWORK)


def test_names_and_order(network: Workload) -> None:
    assert network.name == "net"
    assert [node.name for node in network.nodes] == ["stem", "Layer7", "Layer3"]
    assert [layer.operator for layer in network.layers] == ["Conv", "Pooling", "Add"]
    assert set(network.graph().edges) == {("stem", "Layer7"), ("Layer7", "Layer3")}


def test_loops_and_indices(network: Workload) -> None:
    stem = network.layers[0]
    assert stem.sizes == {"B": 1, "K": 64, "C": 3, "OY": 112, "OX": 100, "FY": 7, "FX": 5}
    assert list(stem.sizes) == ["B", "K", "C", "OY", "OX", "FY", "FX"]
    assert [str(index) for index in stem.operand("I").indices] == ["b", "c", "2*oy+fy", "2*ox+fx"]
    assert stem.operand("I").indices[2] == AffineIndex(
        name="IY",
        terms=(Term(dimension="OY", coefficient=2), Term(dimension="FY")),
        size=224,
        padding=(3, 2),
    )
    assert network.layers[2].loops[1] == Loop(dimension="G", size=64)


def test_axes_without_a_given_length_follow_from_loops_and_padding(network: Workload) -> None:
    pooling = network.layers[1].operand("I").indices
    assert (pooling[2].size, pooling[2].padding) == (None, (1, 0))
    assert (pooling[3].size, pooling[3].padding) == (None, (0, 0))
    assert network.layers[1].elements("I") == 64 * (2 * 55 + 2 + 1 - 1) * (2 * 49 + 2 + 1)


def test_precisions(network: Workload) -> None:
    bits = [
        (
            *(operand.precision for operand in layer.inputs),
            layer.output.partial_precision,
            layer.output.precision,
        )
        for layer in network.layers
    ]
    assert bits == [(4, 8, 16, 6), (0, 6, 16, 8), (8, 8, 16, 8)]


def test_densities(tmp_path: Path) -> None:
    text = NETWORK.replace("O_final: 6}", "O_final: 6}\n  operand_density: {I: 0.25, O: 1}")
    stem, *others = parsed(tmp_path, text).layers
    assert [x.density for x in stem.operands] == [1.0, 1.0, 0.25]
    assert {x.density for layer in others for x in layer.operands} == {1.0}


def test_sources_and_constants(network: Workload) -> None:
    sources = [{x.name: (x.source, x.constant) for x in layer.inputs} for layer in network.layers]
    assert sources == [
        {"W": (None, True), "I": (None, False)},
        {"W": (None, True), "I": ("stem", False)},
        {"W": ("Layer7", False), "I": ("Layer7", False)},
    ]


def test_what_may_be_left_out(tmp_path: Path) -> None:
    text = """
- id: 0
  operator_type: Gemm
  equation: O[d0][d1] += I[d0][d2] * W[d2][d1]
  loop_dims: [D0, D1, D2]
  loop_sizes: [4, 5, 6]
  operand_precision: {W: 8, I: 8, O: 32}
"""
    (layer,) = parsed(tmp_path, text).layers
    assert (layer.name, layer.operator, layer.macs) == ("Layer0", "Gemm", 120)
    assert (layer.output.partial_precision, layer.output.precision) == (32, 32)
    assert [(x.name, x.source, x.constant) for x in layer.inputs] == [
        ("I", None, False),
        ("W", None, True),
    ]


def test_an_input_without_indices_is_one_element(tmp_path: Path) -> None:
    text = """
- id: 0
  operator_type: Mul
  equation: O[b][k]=I[b][k]*W[]
  loop_dims: [B, K]
  loop_sizes: [2, 3]
  operand_precision: {W: 8, I: 8, O: 8, O_final: 8}
"""
    (layer,) = parsed(tmp_path, text).layers
    assert (layer.elements("W"), layer.elements("I"), layer.macs) == (1, 6, 6)


@st.composite
def chains(draw: st.DrawFn) -> tuple[list[dict[str, object]], list[Layer]]:
    """A chain of matrix products in any order of ids: as text and as layers."""
    ids = draw(st.lists(st.integers(-5, 99), min_size=1, max_size=5, unique=True))
    texts: list[dict[str, object]] = []
    layers: list[Layer] = []
    b, k = draw(st.integers(1, 64)), draw(st.integers(1, 64))
    for position, number in enumerate(ids):
        c, k = k, draw(st.integers(1, 64))
        bits = draw(st.integers(1, 32))
        before = ids[position - 1] if position else number
        texts.append(
            {
                "id": number,
                "operator_type": "Gemm",
                "equation": "O[b][k]+=W[k][c]*I[b][c]",
                "loop_dims": ["B", "K", "C"],
                "loop_sizes": [b, k, c],
                "operand_precision": {"W": bits, "I": 8, "O": 24, "O_final": 8},
                "operand_source": {"I": before, "W": number},
            }
        )
        layers.append(_product(f"Layer{number}", (b, k, c), bits, f"Layer{before}", position > 0))
    return texts, layers


def _product(
    name: str, sizes: tuple[int, int, int], bits: int, source: str, has_source: bool
) -> Layer:
    def operand(operand: str, dimensions: str, precision: int) -> dict[str, object]:
        indices = [{"terms": [{"dimension": d}]} for d in dimensions]
        return {"name": operand, "indices": indices, "precision": precision}

    loops = [{"dimension": d, "size": n} for d, n in zip("BKC", sizes, strict=True)]
    image = operand("I", "BC", 8) | {"source": source if has_source else None}
    text = {
        "name": name,
        "operator": "Gemm",
        "loops": loops,
        "output": operand("O", "BK", 8) | {"partial_precision": 24},
        "inputs": [operand("W", "KC", bits) | {"constant": True}, image],
    }
    return Layer.model_validate(text, strict=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to write to, again and again."""
    return tmp_path_factory.mktemp("workloads")


@pytest.mark.filterwarnings("ignore:.*narrower than")
@settings(deadline=None)
@given(chain=chains())
def test_what_is_written_is_read(
    folder: Path, chain: tuple[list[dict[str, object]], list[Layer]]
) -> None:
    texts, layers = chain
    workload = parsed(folder, yaml.safe_dump(texts, sort_keys=False))
    assert workload.nodes == tuple(LayerNode(layer=layer) for layer in layers)
    assert Workload.model_validate_json(workload.model_dump_json()) == workload


def joined(tmp_path: Path, sources: str, channels: int = 48) -> Workload:
    """Two layers of 32 and 16 output channels, and one that reads ``sources``."""
    layer = (
        "- {{id: {id}, name: {name}, operator_type: Conv, loop_dims: [B, K, C, OY, OX],\n"
        "   equation: 'O[b][k][oy][ox]+=W[k][c]*I[b][c][oy][ox]', "
        "loop_sizes: [1, {outputs}, {inputs}, 8, 8],\n"
        "   operand_precision: {{W: 8, I: 8, O: 16, O_final: 8}}, operand_source: {sources}}}\n"
    )
    path = tmp_path / "joined.yaml"
    path.write_text(
        layer.format(id=0, name="enc", outputs=32, inputs=16, sources="{}")
        + layer.format(id=1, name="skip", outputs=16, inputs=16, sources="{}")
        + layer.format(id=2, name="dec", outputs=8, inputs=channels, sources=sources)
    )
    return parse_workload_yaml(path)


def test_a_list_of_sources_is_a_concatenation(tmp_path: Path) -> None:
    workload = joined(tmp_path, "{I: [0, 1]}")
    concat = workload.nodes[2]
    assert isinstance(concat, NoCostNode)
    assert (concat.name, concat.operator, concat.sources) == ("dec/I", "Concat", ("enc", "skip"))
    assert concat.outputs[0].sizes == (1, 48, 8, 8)
    assert [x.steps for x in concat.routes or ()] == [
        (Shift(axis=1, start=0, size=32),),
        (Shift(axis=1, start=-32, size=16),),
    ]
    assert workload.layers[2].inputs[1].source == "dec/I"
    assert workload.readers["enc"] == workload.readers["skip"] == ("dec",)


def test_sources_that_no_axis_joins_come_from_outside(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match=r"I of 'dec' from 'enc', 'skip', which no axis joins"):
        workload = joined(tmp_path, "{I: [0, 1]}", channels=40)
    assert [node.name for node in workload.nodes] == ["enc", "skip", "dec"]
    assert workload.layers[2].inputs[1].other_source == "enc"


def test_parts_of_another_precision_are_warnings(tmp_path: Path) -> None:
    """As a single source is."""
    joined(tmp_path, "{I: [0, 1]}")
    path = tmp_path / "joined.yaml"
    first, second, third = path.read_text().split("\n- ")
    other = second.replace("O_final: 8", "O_final: 16")
    path.write_text("\n- ".join((first, other, third)))
    with pytest.warns(InputWarning, match="from O of 'skip' with 16") as caught:
        parse_workload_yaml(path)
    assert len(caught) == 1


def test_a_layer_is_no_part_of_what_it_reads(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ids of other layers, of which the input is the"):
        joined(tmp_path, "{I: [0, 2]}")


def test_states_of_spiking_layers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "spiking.yaml"
    path.write_text(NETWORK.replace("- id: 0\n", "- id: 0\n  is_hidden: [I]\n", 1))
    with pytest.warns(InputWarning, match=r":2: \[0\].is_hidden: found states of spiking"):
        assert len(parse_workload_yaml(path).layers) == len(parsed(tmp_path, NETWORK).layers)
