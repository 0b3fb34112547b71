"""Files that ZigZag reads and that are not quite right, and those of its former versions."""

import warnings
from pathlib import Path

import pytest
import yaml

from nestmap import explore
from nestmap.model import InputError, InputWarning, LayerConstraints, MappingConstraints, Workload
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from nestmap.pipeline.frontend.yaml.hardware.core import Core, parse_core
from nestmap.pipeline.frontend.yaml.workload import parse_workload_yaml
from nestmap.pipeline.multicore.api import read_stream
from nestmap.pipeline.multicore.pipeline import split_network
from nestmap.pipeline.multicore.plan import StreamPlan

LAYER = """\
- id: {id}
  name: {name}
  operator_type: Conv
  equation: O[b][k][oy][ox]{sum}W[k][c]*I[b][c][oy][ox]
  loop_dims: [B, K, C, OY, OX]
  loop_sizes: [1, 32, {inputs}, 8, 8]
  operand_precision: {{W: 8, I: 8, O: 16, O_final: 8}}
  operand_source: {{I: {source}, W: {id}}}
"""


def layer(
    number: int, name: str, inputs: int = 32, source: int | None = None, sign: str = "+="
) -> str:
    return LAYER.format(
        id=number, name=name, inputs=inputs, source=number if source is None else source, sum=sign
    )


def read(path: Path, *layers: str) -> Workload:
    path.write_text("".join(layers), encoding="utf-8")
    return parse_workload_yaml(path)


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    return tmp_path / "net.yaml"


def test_layers_of_one_name_get_their_ids(file: Path) -> None:
    with pytest.warns(InputWarning, match=r"net.yaml:10: \[1\].name: found a second layer 'conv'"):
        found = read(file, layer(0, "conv"), layer(1, "conv", source=0))
    assert [x.name for x in found.layers] == ["conv", "conv_1"]
    assert found.layers[1].operand("I") == found.layers[1].inputs[1]
    assert found.layers[1].inputs[1].source == "conv"
    entry = LayerConstraints(target="conv")
    constraints = MappingConstraints(entries=(entry, LayerConstraints(target="default")))
    assert [constraints.of(x) for x in found.layers] == [entry, entry]
    assert found.layers[0].anonymous == found.layers[1].anonymous


def test_a_name_that_would_be_made_twice_is_refused(file: Path) -> None:
    layers = (layer(0, "conv"), layer(1, "conv_2"), layer(2, "conv"))
    with pytest.raises(InputError, match=r"net.yaml:18: \[2\].name: found a second layer 'conv'"):
        read(file, *layers)


def test_an_input_of_another_shape_comes_from_outside(file: Path) -> None:
    with pytest.warns(InputWarning, match="16: .*; the input comes from the outermost memory"):
        found = read(file, layer(0, "enc"), layer(1, "dec", inputs=48, source=0))
    _, image = found.layers[1].inputs
    assert (image.source, image.other_source) == (None, "enc")
    assert explore(found, "tpu_like", search="loma", lpf_limit=3).energy > 0
    with pytest.raises(InputError, match="layer dec: found I from enc, which has another shape"):
        split_network(StreamPlan(), read_stream(found, "quad_tpu"))


def test_an_equal_sign_before_a_product_sums(file: Path) -> None:
    with pytest.warns(
        InputWarning, match=r"4: \[0\].equation: found .*, which sums; expected .*\+="
    ):
        found = read(file, layer(0, "conv", sign="="))
    assert found == read(file, layer(0, "conv"))


@pytest.mark.parametrize("again", ["operator_type: Conv", "loop_sizes: [1, 32, 32, 8, 8]"])
def test_a_key_with_the_same_value_again_is_a_warning(file: Path, again: str) -> None:
    with pytest.warns(InputWarning, match="which replaces the first"):
        assert read(file, layer(0, "conv"), f"  {again}\n").layers
    with pytest.raises(
        InputError, match="9: found a second operator_type; expected each name once"
    ):
        read(file, layer(0, "conv"), "  operator_type: Gemm\n")


def former(**changes: object) -> FieldValues:
    """A memory with two read ports, of which one is used, and a port for the rest."""
    memory = {
        "size": 8192,
        "r_bw": 64,
        "w_bw": 32,
        "r_cost": 1,
        "w_cost": 2,
        "area": 0,
        "r_port": 1,
        "w_port": 0,
        "rw_port": 1,
        "latency": 1,
        "min_r_granularity": 8,
        "min_w_granularity": 16,
        "operands": ["I1", "I2", "O"],
        "ports": [
            {"fh": "rw_port_1", "tl": "r_port_1"},
            {"fh": "rw_port_1", "tl": "r_port_1"},
            {"fh": "rw_port_1", "tl": "rw_port_1", "fl": "rw_port_1", "th": "rw_port_1"},
        ],
        "served_dimensions": ["D1"],
    }
    array = {
        "input_precision": [8, 8],
        "multiplier_energy": 1.5,
        "multiplier_area": 1,
        "dimensions": ["D1"],
        "sizes": [4],
    }
    return {"name": "old", "memories": {"sram": memory | changes}, "operational_array": array}


TODAY: FieldValues = {
    "name": "old",
    "memories": {
        "sram": {
            **{"size": 8192, "r_cost": 1, "w_cost": 2, "area": 0, "latency": 1},
            "operands": ["I1", "I2", "O"],
            "served_dimensions": ["D1"],
            "ports": [
                {
                    "name": "r_port_1",
                    "type": "read",
                    "bandwidth_min": 8,
                    "bandwidth_max": 64,
                    "allocation": ["I1, tl", "I2, tl"],
                },
                {
                    "name": "rw_port_1",
                    "type": "read_write",
                    "bandwidth_min": 8,
                    "bandwidth_max": 64,
                    "allocation": [*("I1, fh", "I2, fh"), *("O, fh", "O, tl", "O, fl", "O, th")],
                },
            ],
        }
    },
    "operational_array": {"unit_energy": 1.5, "unit_area": 1, "dimensions": ["D1"], "sizes": [4]},
}


def test_the_former_format_is_read_as_that_of_today(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match="ZigZag's format before February 2025") as said:
        assert read_accelerator(former()) == read_accelerator(TODAY)
    assert len(said) == 1
    file = tmp_path / "old.yaml"
    file.write_text(yaml.safe_dump(former(r_port="two")), encoding="utf-8")
    with (
        pytest.warns(InputWarning),
        pytest.raises(InputError, match=r"old.yaml:\d+: .*r_port: found"),
    ):
        parse_accelerator(file)


@pytest.mark.parametrize("kind", ["compute", "offchip"])
def test_cores_in_the_former_format_are_read(tmp_path: Path, kind: str) -> None:
    found: list[Core] = []
    for description in (former(), TODAY):
        file = tmp_path / "core.yaml"
        array = {} if kind == "compute" else {"operational_array": None}
        fields = {**description, "type": kind, **array}
        kept = {name: value for name, value in fields.items() if value is not None}
        file.write_text(yaml.safe_dump(kept, sort_keys=False), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            found.append(parse_core(file, 1))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ports": [{"fh": "rw_port_1"}]}, "found 1 of them; expected a list with the ports"),
        ({"rw_port": 0}, "found port rw_port_1; expected a port that the memory has"),
        ({"r_bw": 0}, "r_bw: found 0; expected a number of bits per cycle"),
    ],
)
def test_what_is_wrong_in_the_former_format_is_told(changes: dict[str, object], told: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        with pytest.raises(InputError, match=told):
            read_accelerator(former(**changes))
