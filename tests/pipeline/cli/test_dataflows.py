"""Dataflows on the command line."""

from pathlib import Path

import pytest

from tests.faults.test_bad_stream import CORE, MACHINE, SHORT
from tests.pipeline.cli.inputs import Inputs, run
from tests.pipeline.cli.test_split import TWO


def test_the_command_line_reads_it_from_a_mapping_file(inputs: Inputs) -> None:
    mapping = inputs.folder / "mapping.yaml"
    mapping.write_text(mapping.read_text() + "  dataflow: output_stationary\n")
    assert run(*inputs.explore).code == 0
    ended = run("explain", "last", "first")
    assert ended.code == 0
    assert "LOOP NEST\n# output stationary" in ended.out


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("output_stationery", "'output_stationery'; expected output_stationary (one of weight_"),
        ("[K]", "a list; expected one of weight_stationary, input_stationary, output_stationary,"),
    ],
)
def test_an_unknown_one_is_wrong_input(inputs: Inputs, value: str, found: str) -> None:
    mapping = inputs.folder / "mapping.yaml"
    mapping.write_text(mapping.read_text() + f"  dataflow: {value}\n")
    ended = run(*inputs.explore)
    assert ended.code == 2
    assert f"mapping.yaml:4: [0].dataflow: found {found}" in ended.err


def test_an_array_without_room_is_wrong_input(inputs: Inputs) -> None:
    mapping = inputs.folder / "mapping.yaml"
    mapping.write_text("- {name: default, dataflow: row_stationary}\n")
    network = inputs.folder / "net.yaml"
    network.write_text(
        network.read_text()
        .replace("C]", "C, FY]", 1)
        .replace("3, 8, 5", "3, 8, 5, 7", 1)
        .replace("W[k][c]", "W[k][c][fy]", 1)
        .replace("I[b][c]", "I[b][c][fy]", 1)
    )
    ended = run("explore", inputs.network, "-a", inputs.machine, "-m", str(mapping))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "error: dataflow row_stationary for layer first: found no spatial mapping that unrolls FY "
        "7 times; expected room for them on the array, within the spatial_mapping and the hints\n"
    )


def test_several_cores_obey_it(inputs: Inputs) -> None:
    Path(inputs.network).write_text(TWO)
    Path("small.yaml").write_text(CORE)
    Path("pair.yaml").write_text(MACHINE)
    mapping = inputs.folder / "mapping.yaml"
    command = ("stream", inputs.network, "-c", "pair.yaml", "-m", str(mapping), *SHORT)
    mapping.write_text("- {name: default, dataflow: weight_stationary}\n")
    assert run(*command, "--no-store").code == 0
    mapping.write_text("- {name: second, dataflow: row_stationary}\n")
    ended = run(*command, "--no-store")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "error: layer second (Conv), group 0: no core can run it: cores 0, 1: dataflow "
        "row_stationary for layer second: found no spatial mapping that unrolls FY 3 times and OY "
        "2 times; expected room for them on the array, within the spatial_mapping and the hints\n"
    )
