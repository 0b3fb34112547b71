"""``--count-vector``: what is printed of vector operators, with the option and without."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.store import Store
from tests.pipeline.cli.inputs import MACHINE, run

RESNET = ("explore", "light:resnet50", "-a", "tpu_like", "--search", "loma", "--lpf-limit", "2")
NOTE = re.compile(r"Vector operators: (\d+) nodes \(.*(Relu \d+).*\), .* M operations, .* traffic")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is left in a folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("counted", [False, True])
def test_a_bundled_network(counted: bool) -> None:
    option = ("--count-vector",) if counted else ()
    ended = run(*RESNET, *option, "--json", "out.json")
    assert ended.code == 0, ended.err
    found = NOTE.search(ended.out)
    assert found is not None
    nodes = read_workload("light:resnet50").vector_nodes
    assert int(found[1]) == len(nodes)
    assert found[2] == f"Relu {sum(node.operator == 'Relu' for node in nodes)}"
    assert ("not in the totals (--count-vector counts them)" in ended.out) is not counted
    alone = "cycles (traffic alone: the accelerator has no vector unit); "
    assert (alone + "counted in the totals." in ended.out) is counted
    assert (alone + "not in the totals" in ended.out) is not counted
    data = json.loads(Path("out.json").read_text())
    assert [entry["node"] for entry in data["vector"]["nodes"]] == [node.name for node in nodes]
    latency = sum(layer["latency"] for layer in data["layers"])
    added = data["vector"]["latency"] if counted else 0
    assert data["total"]["latency"] == latency + added
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        (row,) = store.query("SELECT energy, latency, vector_energy FROM totals").rows()
    total = (data["total"]["energy"], data["total"]["latency"], data["vector"]["energy"])
    assert (row["energy"], row["latency"], row["vector_energy"]) == total


def test_a_front_tells_of_vector_operators() -> None:
    ended = run(*RESNET, "--no-store", "--pareto")
    assert ended.code == 0, ended.err
    assert NOTE.search(ended.out)


def test_a_machine_with_a_vector_unit_pays_for_operations() -> None:
    unit = "vector_unit: {lanes: 4, operation_energy: 1.5, memory: sram_2MB}\n"
    bundled = (
        files("nestmap.pipeline.frontend").joinpath("data/accelerators/tpu_like.yaml").read_text()
    )
    Path("machine.yaml").write_text(bundled + unit)
    machine = ("-a", "machine.yaml", "-m", "tpu_like", "--search", "loma", "--lpf-limit", "2")
    ended = run("explore", "light:squeezenet", *machine, "--no-store", "--json", "out.json")
    assert ended.code == 0, ended.err
    assert "cycles; not in the totals" in ended.out
    for entry in json.loads(Path("out.json").read_text())["vector"]["nodes"]:
        assert entry["memory"] == "sram_2MB"
        assert entry["operation_energy"] == 1.5 * entry["operations"] > 0
        assert entry["compute_cycles"] == -(-entry["operations"] // 4)
        assert entry["words_read"] >= entry["bits_read"] / 2048 > 0


def test_a_wrong_unit_is_one_line() -> None:
    Path("tiny.yaml").write_text(MACHINE + "vector_unit: {lanes: 0, operation_energy: 1}\n")
    ended = run("explore", "light:alexnet", "-a", "tiny.yaml", "--no-store")
    assert (ended.code, ended.out) == (2, "")
    assert "tiny.yaml:40: vector_unit.lanes: found 0; expected a positive number" in ended.err
