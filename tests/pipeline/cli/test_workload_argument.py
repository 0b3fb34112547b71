"""``--dim NAME=N`` and ``--float-bits N``: read as written, errors that say what would be right."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

from nestmap.model import InputError
from nestmap.pipeline.cli.workload_argument import parse_densities, parse_dims
from nestmap.pipeline.explore.api import explore
from nestmap.pipeline.frontend.read.workload import read_workload
from tests.pipeline.cli.inputs import Inputs, run
from tests.pipeline.frontend.onnx.build import model, node, weights

OPEN = model(
    [node("MatMul", "x w", "y", name="product")], {"x": ["batch", "seq", 8]}, [weights("w", 8, 4)]
)
"""A product whose input leaves two dimensions open."""


@pytest.fixture
def network(tmp_path: Path) -> str:
    """The open network as a file."""
    file = tmp_path / "open.onnx"
    file.write_bytes(OPEN.SerializeToString())
    return str(file)


def test_a_layer_is_explored_by_itself(inputs: Inputs, tmp_path: Path) -> None:
    """As in the network, whose other layers are not searched; a run of its own."""
    file = tmp_path / "found.json"
    command = (*inputs.explore, "--store", str(tmp_path / "runs.duckdb"), "--json", str(file))
    assert run(*command).code == 0
    whole = json.loads(file.read_text())["layers"]
    for names in (["second"], ["second", "first"]):
        options = [x for name in names for x in ("--layer", name)]
        ended = run(*command, *options)
        assert ended.code == 0, ended.err
        found = json.loads(file.read_text())["layers"]
        assert [x["name"] for x in found] == sorted(names)
        costs = {x["name"]: x["energy"] for x in whole}
        assert all(x["energy"] == costs[x["name"]] for x in found)
    ended = run(*command, "--layer", "secund")
    assert ended.code == 2
    assert "layer: found 'secund'; expected second (one of first, second)" in ended.err


@given(st.dictionaries(st.text(st.characters(categories=["L", "N", "P"]), min_size=1),
                       st.integers(1, 2**31 - 1)))  # fmt: skip
def test_sizes_are_read_as_written(dims: dict[str, int]) -> None:
    assert parse_dims([f"{name}={size}" for name, size in dims.items()]) == dims
    assert parse_dims([f" {name} = {size} " for name, size in dims.items()]) == dims


def test_the_same_may_be_said_twice_and_nothing_else() -> None:
    assert parse_dims(["a=1", "a=1"]) == {"a": 1}
    with pytest.raises(InputError) as error:
        parse_dims(["a=1", "b=2", "a=3"])
    assert str(error.value) == "--dim: found a=1 and a=3; expected one size for a dimension"


@pytest.mark.parametrize(
    "text",
    ["", "batch", "batch=", "=4", "batch=0", "batch=-1", "batch=x", "batch=1.5", "batch=2147483648",
     "batch=" + "9" * 5000, "batch=1e3", "batch=\u00b2", "batch=\u0663", "batch:4"],
)  # fmt: skip
def test_what_is_no_size_is_shown(text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_dims([text])
    assert error.value.where == "--dim"
    assert error.value.found[:1000] == repr(text)[:1000]  # of long ones, the beginning
    assert error.value.expected.endswith("as in batch=1")


def test_commands_give_open_dimensions_their_sizes(network: str) -> None:
    dims = ("--dim", "batch=2", "--dim", "seq=3")
    macs = 2 * 3 * 8 * 4
    shown = run("show", network, *dims)
    assert (shown.code, shown.err) == (0, "")
    assert f"layers 1, different ones 1, MACs {macs}," in shown.out
    search = ("--search", "loma", "--lpf-limit", "3")
    explored = run("explore", network, *dims, "-a", "tpu_like", *search, "--no-store")
    assert explored.code == 0
    row = next(line for line in explored.out.splitlines() if line.startswith("product"))
    assert str(macs) in row.split()
    order = "B 2, D 3"
    layer = ("--layer", "product", "--order", order)
    evaluated = run("evaluate", network, *dims, "-a", "tpu_like", *layer)
    assert f": {macs} MACs\non tpu_like" in evaluated.out


def test_the_python_call_takes_them_too() -> None:
    result = explore(OPEN, "tpu_like", search="loma", dims={"batch": 2, "seq": 3}, lpf_limit=3)
    assert result.total.macs == 192
    assert read_workload(OPEN, {"batch": 1, "seq": 5}).macs == 160


def test_generated_networks_have_dimensions() -> None:
    name = "bert-base-block"
    short, long = (run("show", name, "--dim", f"seq={size}") for size in (128, 256))
    assert (short.code, long.code) == (0, 0)
    assert "D 128" in short.out
    assert "D 256" in long.out
    wrong = run("show", name, "--dim", "sequence=128")
    assert (wrong.code, wrong.out) == (2, "")
    assert "'sequence'" in wrong.err
    macs = read_workload(name, {"seq": 128}).macs
    assert (
        explore(name, "tpu_like", search="loma", dims={"seq": 128}, lpf_limit=2).total.macs == macs
    )


def test_a_network_must_have_the_dimension(network: str, inputs: Inputs) -> None:
    given = ("--dim", "batch=2", "--dim", "seq=3", "--dim", "sequence=4")
    wrong = run("show", network, *given)
    assert (wrong.code, wrong.out) == (2, "")
    assert "'sequence'" in wrong.err
    assert "seq" in wrong.err.partition("expected")[2]
    fixed = run("show", inputs.network, "--dim", "batch=2")
    assert (fixed.code, fixed.out) == (2, "")
    assert fixed.err == (
        f"error: --dim batch cannot be combined with {inputs.network}; all its sizes are fixed\n"
    )
    with pytest.raises(InputError, match="--dim batch cannot be combined with workload"):
        read_workload(read_workload(inputs.network), {"batch": 1})


@pytest.mark.parametrize("command", ["show", "explore", "evaluate"])
def test_a_wrong_size_ends_every_command(inputs: Inputs, command: str) -> None:
    more = {
        "show": (),
        "explore": inputs.explore[2:],
        "evaluate": (*inputs.evaluate[2:], "--order", "C 5"),
    }
    ended = run(command, inputs.network, *more[command], "--dim", "batch")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: --dim: found 'batch'; expected a name and a whole number")


@pytest.mark.parametrize("command", ["show", "explore"])
def test_floats_count_as_asked(command: str, tmp_path: Path) -> None:
    search = ("--search", "loma", "--lpf-limit", "2")
    more = {"show": (), "explore": ("-a", "tpu_like", *search, "--no-store")}[command]
    file = tmp_path / "out.json"
    ended = run(command, "light:alexnet", *more, "--float-bits", "4", "--json", str(file))
    assert ended.code == 0
    first = json.loads(file.read_text())["layers"][0]
    if command == "show":
        assert first["precision"] == {"O": 4, "W": 4, "I": 4}
    else:
        weights = next(x for x in first["levels"] if (x["operand"], x["level"]) == ("W", 0))
        assert weights["bits"] == 4 * weights["elements"]


def test_floats_of_what_is_no_onnx_model(inputs: Inputs) -> None:
    for name in (inputs.network, "bert-base"):
        ended = run("show", name, "--float-bits", "4")
        assert ended.code == 2
        assert "--float-bits 4 cannot be combined with" in ended.err


def test_densities_are_read_as_written() -> None:
    assert parse_densities(["I=0.4", " Conv.W = 1 ", "a=b.I=.5", "I=0.4"]) == {
        "I": 0.4,
        "Conv.W": 1.0,
        "a=b.I": 0.5,
    }


@pytest.mark.parametrize("text", ["I", "=0.5", "I=", "I=0", "I=1.5", "I=nan", "I=half"])
def test_other_densities_are_errors(text: str) -> None:
    with pytest.raises(InputError, match="expected a name and a share above 0 and at most 1"):
        parse_densities([text])


def test_two_densities_for_a_name_are_an_error() -> None:
    with pytest.raises(InputError, match=r"I=0\.5 and I=0\.4; expected one density for a name"):
        parse_densities(["I=0.5", "I=0.4"])


def test_densities_are_shown_and_those_given_come_first(tmp_path: Path) -> None:
    values = np.array([[0, 1, 0, 0]] * 8, np.float32)
    sparse = onnx.ModelProto.FromString(OPEN.SerializeToString())
    sparse.graph.initializer[0].CopyFrom(numpy_helper.from_array(values, "w"))
    file = tmp_path / "sparse.onnx"
    file.write_bytes(sparse.SerializeToString())
    options = ("show", str(file), "--dim", "batch=2", "--dim", "seq=3", "--measure-density")
    assert (
        "W 8 (25 % not zero), I 8 (50 % not zero), O 8" in run(*options, "--density", "I=0.5").out
    )
    assert "W 8 (75 % not zero), I 8, O 8" in run(*options, "--density", "product.W=0.75").out
