"""What cannot be scheduled on several cores is told with its place, never with a traceback."""

import re
from pathlib import Path
from typing import Final

import pytest

from nestmap.pipeline.frontend.bundled import resolve_accelerator
from nestmap.store import RunStatus, Store
from nestmap.store.maintenance.check import check_store
from tests.pipeline.cli.inputs import LAYER, Ended, run
from tests.pipeline.cli.test_split import TWO

CORE: Final = """\
name: small
type: compute
operational_array: {dimensions: [D1], sizes: [4], unit_energy: 1, unit_area: 1}
memories:
  sram:
    size: 65536
    r_cost: 1
    w_cost: 1
    area: 0
    latency: 1
    operands: [I1, I2, O]
    served_dimensions: [D1]
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 8
        bandwidth_max: 64
        allocation: ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]
"""
MACHINE: Final = """\
name: pair
cores:
  0: small.yaml
  1: small.yaml
  2: offchip.yaml
offchip_core_id: 2
unit_energy_cost: 0
core_connectivity:
  - {type: link, cores: [0, 1], bandwidth: 32}
  - {type: bus, cores: [0, 1, 2], bandwidth: 64}
"""
SHORT: Final = ("--individuals", "4", "--generations", "1", "--lpf-limit", "3", "--workers", "1")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network and a machine of two equal cores in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("net.yaml").write_text(TWO)
    Path("small.yaml").write_text(CORE)
    Path("pair.yaml").write_text(MACHINE)


def streamed(*options: str, workload: str = "net.yaml") -> Ended:
    """The command, with few allocations to look at."""
    return run("stream", workload, "--cores", "pair.yaml", *SHORT, *options)


def told(ended: Ended) -> str:
    """The one line that says what is wrong; there is nothing else."""
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    return ended.err


def changed(name: str, old: str, new: str) -> None:
    """Changes a file."""
    text = Path(name).read_text()
    assert old in text
    Path(name).write_text(text.replace(old, new, 1))


def test_it_is_good_before_the_change() -> None:
    ended = streamed("--no-store")
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bandwidth: 32", "bandwidth: 0", "pair.yaml:9: core_connectivity[0].bandwidth: found 0"),
        ("bandwidth: 64", "bandwidth: -1", "core_connectivity[1].bandwidth: found -1; expected"),
        ("[0, 1, 2]", "[0, 2]", None),
        ("  - {type: bus, cores: [0, 1, 2], bandwidth: 64}\n", "", "no path from core 2 to core 0"),
        ("[0, 1, 2], b", "[0, 7], b", "core 7; expected an existing core"),
        ("1: small.yaml", "1: smal.yaml", "cores.1: found 'smal.yaml'"),
    ],
)
def test_machines_that_cannot_be(old: str, new: str, message: str | None) -> None:
    """A core that only another one can reach is no fault: data passes through that."""
    changed("pair.yaml", old, new)
    ended = streamed("--no-store")
    if message is None:
        assert ended.code == 0, ended.err
    else:
        assert message in told(ended)


def test_a_machine_with_a_single_core_leads_to_explore() -> None:
    by_name = told(run("stream", "net.yaml", "--cores", "tpu_like", "--no-store"))
    assert "cores: found 'tpu_like', which has a single core; expected one of" in by_name
    assert "for a single core use nestmap explore" in by_name
    Path("one.yaml").write_text(resolve_accelerator("tpu_like").read_text())
    by_file = told(run("stream", "net.yaml", "--cores", "one.yaml", "--no-store"))
    assert re.search(
        r"one.yaml:\d+: operational_array: found a single core; expected several", by_file
    )


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("- {name: Conv, core_allocation: [2]}", "found storage core 2; expected a compute core"),
        ("- {name: Conv, core_allocation: [9]}", "found core 9; expected a compute core"),
        ("- {name: first, core_allocation: [0, 1], core_allocation_is_fixed: true}", "first"),
        ("- {name: thrid, core_allocation: [0]}", "found neither a layer of the network nor an op"),
    ],
)
def test_mappings_that_cannot_be(mapping: str, message: str) -> None:
    Path("cores.yaml").write_text(mapping + "\n")
    assert message in told(streamed("--mapping", "cores.yaml", "--no-store", "--hint-loops", "K=4"))


def test_no_core_runs_the_operator() -> None:
    changed("small.yaml", "type: compute\n", "type: compute\noperator_types: [Gemm]\n")
    message = told(streamed("--no-store"))
    assert (
        "accelerator pair: found no core that runs Conv (layer 'first'); expected a core" in message
    )


def test_no_core_has_memories_for_all_operands() -> None:
    """The mapping of an array needs one for each operand."""
    changed("small.yaml", "[I1, I2, O]", "[I1, O]")
    changed("small.yaml", '"I2, fh", "I2, tl", ', "")
    message = told(streamed("--store", "out.duckdb"))
    assert "first" in message
    assert "small has memories for" in message
    with Store.open_read_only(Path("out.duckdb")) as store:
        (record,) = store.runs()
        assert record.status is RunStatus.FAILED
        assert record.reason is not None
        assert "first" in record.reason


def test_what_the_array_works_on_fits_nowhere() -> None:
    changed("small.yaml", "size: 65536", "size: 16")
    message = told(streamed("--store", "out.duckdb"))
    assert "first" in message
    assert "sram" in message
    assert check_store(Path("out.duckdb")).problems == ()


def test_constants_fit_no_memory_however_split() -> None:
    message = told(streamed("--no-store", "--mode", "4", "--split-w-percentage", "0.00001"))
    assert "layer first: found constants" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--individuals", "0"), "Invalid value for '--individuals'"),
        (("--individuals", "many"), "Invalid value for '--individuals'"),
        (("--generations", "-1"), "Invalid value for '--generations'"),
        (("--patience", "0"), "Invalid value for '--patience'"),
        (("--rule", "quick"), "Invalid value for '--rule'"),
        (("--engine", "magic"), "Invalid value for '--engine'"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
        (("--workers", "0"), "Invalid value for '--workers'"),
        (("--objective", "speed"), "error: --objective: found 'speed'; expected one of latency"),
        (
            ("--objective", "edp", "--objective", "edp"),
            "error: --objective: found edp, edp; expected each objective once",
        ),
        (("--prefetch", "Q"), "error: --prefetch: found operand Q, which is not a constant"),
        (("--hint-loops", "OZ=2"), "error: --hint-loops: found dimension OZ, which no layer has"),
        (("--json", "nowhere/out"), "expected a file in an existing folder"),
        (("--trace", "net.yaml"), "net.yaml, which is used already"),
        (("--json", "x", "--trace", "x"), "x, which is used already"),
        (("--store", "nowhere/s.duckdb"), "folder nowhere does not exist"),
    ],
)
def test_options_that_cannot_be(options: tuple[str, ...], message: str) -> None:
    ended = streamed(*options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_a_tiling_of_a_dimension_that_no_layer_has_is_skipped() -> None:
    Path("tilings.yaml").write_text(
        '[{name: default, intra_core_tiling: ["OY, 2", "H, all"]}]', encoding="utf-8"
    )
    plain = run("split", "net.yaml", "-c", "pair.yaml", "--hint-loops", "OY=2")
    ended = run("split", "net.yaml", "-c", "pair.yaml", "--mapping", "tilings.yaml")
    assert (ended.code, ended.out) == (0, plain.out)
    told = "warning: tilings.yaml:1: default: found a tiling of H, which no layer has; expected "
    assert ended.err.startswith(told)


def test_a_machine_with_several_cores_leads_to_stream() -> None:
    for name in ("quad_tpu", "pair.yaml"):
        message = told(run("explore", "net.yaml", "-a", name, "--no-store"))
        assert "nestmap stream" in message
        assert "nestmap split" in message


def test_commands_for_runs_of_one_core_say_so() -> None:
    assert streamed("--store", "out.duckdb").code == 0
    assert "Traceback" not in run("explain", "last", "first", "--store", "out.duckdb").err
    message = told(run("reprice", "last", "-a", "tpu_like", "--store", "out.duckdb"))
    assert "found a multi-core run; expected a single-core run" in message
    ended = run("resume", "last", "--store", "out.duckdb")
    assert "it is done; expected one that was interrupted or failed" in told(ended)
    ended = run("resume", "last", "--store", "out.duckdb", "--save-mapping", "m.yaml")
    assert "--save-mapping cannot be combined with a run on several cores" in told(ended)


def test_a_workload_without_what_computes_is_told() -> None:
    Path("gemm.yaml").write_text(LAYER % (0, "big", "3, 8, 4", 0, 0))
    changed("small.yaml", "type: compute\n", "type: compute\noperator_types: [Conv]\n")
    assert "no core that runs Gemm" in told(streamed("--no-store", workload="gemm.yaml"))
