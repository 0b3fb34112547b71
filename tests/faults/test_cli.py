"""Bad input on the command line: one clear message, the right exit code, never a traceback."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from nestmap.pipeline.explore import api
from nestmap.store import RunStatus, Store
from tests.faults.forks import Forks
from tests.faults.interrupts import CTRL_C
from tests.pipeline.cli.inputs import Inputs, program, run, run_process, written


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


MAPPED = ["explore", "net.yaml", "-a", "tiny.yaml", "-m", "mapping.yaml"]
EXPLORE = {
    "no such network": (["explore", "nope.onnx", "-a", "tiny.yaml"], ["nope.onnx", "no such file"]),
    "no such workload": (["explore", "nope.yaml", "-a", "tiny.yaml"], ["nope.yaml"]),
    "no such name": (
        ["explore", "light:resnet51", "-a", "tiny.yaml"],
        ["workload: found 'light:resnet51'", "light:resnet50"],
    ),
    "no such machine": (["explore", "net.yaml", "-a", "tpu_lik"], ["accelerator", "tpu_like"]),
    "a machine as network": (
        ["explore", "tiny.yaml", "-a", "tiny.yaml"],
        ["tiny.yaml:1: found an accelerator with a single core; expected a network"],
    ),
    "a network as machine": (
        ["explore", "net.yaml", "-a", "net.yaml"],
        ["net.yaml:1: found a network; expected an accelerator with a single core"],
    ),
    "a network as mapping": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "-m", "net.yaml"],
        ["net.yaml:1: found a network; expected a mapping file"],
    ),
    "a network as design space": (
        ["sweep", "net.yaml"],
        ["net.yaml:1: found a network; expected a design space"],
    ),
    "a network as cores": (
        ["stream", "net.yaml", "-c", "net.yaml"],
        ["net.yaml:1: found a network; expected an accelerator with several cores"],
    ),
    "no such mapping": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "-m", "nope"],
        ["mapping: found 'nope'", "tpu_like"],
    ),
    "a mapping for another machine": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "-m", "tpu_like"],
        ["D1", "at most the 2 units"],
    ),
    "json in no folder": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--json", "no/where.json"],
        ["no/where.json", "no folder no"],
    ),
    "json is a folder": (["explore", "net.yaml", "-a", "tiny.yaml", "--json", "."], ["a folder"]),
    "json in a file": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--json", "net.yaml/x"],
        ["net.yaml/x", "expected a file in an existing folder"],
    ),
    "json with a long name": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--json", "x" * 254],
        ["xxx", "too long"],
    ),
    "json over the network": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--json", "./net.yaml"],
        ["--json net.yaml", "a different file"],
    ),
    "json over the store": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--json", "nestmap.duckdb"],
        ["--json nestmap.duckdb", "a different file"],
    ),
    "a mapping saved over the network": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--save-mapping", "./net.yaml"],
        ["--save-mapping net.yaml", "net.yaml, which is used already", "a different file"],
    ),
    "a mapping saved over the machine": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--save-mapping", "tiny.yaml"],
        ["--save-mapping tiny.yaml", "a different file"],
    ),
    "a mapping saved over the mapping": (
        [*MAPPED, "--save-mapping", "mapping.yaml"],
        ["--save-mapping mapping.yaml", "a different file"],
    ),
    "a mapping saved over the store": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--save-mapping", "nestmap.duckdb"],
        ["--save-mapping nestmap.duckdb", "a different file"],
    ),
    "a mapping saved over the json": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--json", "out", "--save-mapping", "./out"],
        ["--save-mapping out", "out, which is used already", "a different file"],
    ),
    "a mapping saved in no folder": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--save-mapping", "no/where.yaml"],
        ["no/where.yaml", "no folder no"],
    ),
    "a front of what pruning leaves": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--pareto", "--prune"],
        ["prune cannot be combined with a search for fronts"],
    ),
    "store in no folder": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--store", "no/where.duckdb"],
        ["store no/where.duckdb", "does not exist"],
    ),
    "store is the network": (
        ["explore", "net.yaml", "-a", "tiny.yaml", "--store", "net.yaml"],
        ["store net.yaml", "not a DuckDB database"],
    ),
    "no store to ask": (
        ["query", "SELECT 1", "--store", "no.duckdb"],
        ["store no.duckdb", "no such file"],
    ),
    "a question to no store": (["query", "SELECT 1", "--store", "net.yaml"], ["store net.yaml"]),
}


@pytest.mark.parametrize(("arguments", "told"), EXPLORE.values(), ids=EXPLORE)
def test_wrong_input_is_told_before_anything_is_done(
    inputs: Inputs, arguments: list[str], told: list[str]
) -> None:
    before = {path: path.read_bytes() for path in inputs.folder.iterdir()}
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    for text in told:
        assert text in ended.err
    assert {path: path.read_bytes() for path in inputs.folder.iterdir()} == before


CUT = ["--order", "C 5, B 3, K 4", "--cut"]
EVALUATE = {
    "unknown dimension": (["--order", "Q 3"], ["--order: found dimension Q", "B, K, C"]),
    "too many iterations": (
        ["--order", "C 5, B 3, K 8"],
        ["8 iterations of K", "expected 4 (K has size 8 and is unrolled 2 times)", "B 3, K 4, C 5"],
    ),
    "a dimension left out": (["--order", "C 5, B 3"], ["1 iterations of K", "expected 4"]),
    "a loop without a size": (["--order", "C 5, B"], ["'B'", "a dimension and a size"]),
    "no loop": (["--order", ""], ["''", "a dimension and a size"]),
    "size 0": (["--order", "C 0"], ["'C 0'"]),
    "a huge size": (["--order", "C 99999999999"], ["'C 99999999999'"]),
    "too many loops": (["--order", ",".join(["B 1"] * 200)], ["200 loops", "at most 128"]),
    "an order that does not fit": (
        ["--order", "B 3, C 5, K 4"],
        ["outlet too small for O: needs at least 32 bit, has 16"],
    ),
    "a cut of an unknown operand": ([*CUT, "X=1"], ["operand X", "O, W, I"]),
    "a cut that is none": ([*CUT, "O:1"], ["'O:1'", "O=1,3,3"]),
    "operands without a cut": ([*CUT, "O=1,1,3"], ["cuts of O only", "W and I"]),
    "an operand cut twice": ([*CUT, "I=3", "--cut", "I=3"], ["2 cuts of operand I"]),
    "too few memories": (
        [*CUT, "O=1,3", "--cut", "W=3", "--cut", "I=3"],
        ["O=1,3", "a number for each memory of O: reg, outlet, buffer"],
    ),
    "loops left over": (
        [*CUT, "O=1,1,2", "--cut", "W=3", "--cut", "I=3"],
        ["cuts (1, 1, 2) of operand O do not end with all 3 loops"],
    ),
    "cuts that go down": (
        [*CUT, "O=2,1,3", "--cut", "W=3", "--cut", "I=3"],
        ["cuts (2, 1, 3) of operand O decrease"],
    ),
    "cuts that do not fit": (
        [*CUT, "O=2,2,3", "--cut", "W=3", "--cut", "I=3"],
        ["--cut: reg too small for O: needs at least 48 bit, has 16"],
    ),
}


@pytest.mark.parametrize(("arguments", "told"), EVALUATE.values(), ids=EVALUATE)
def test_wrong_mappings_are_told(inputs: Inputs, arguments: list[str], told: list[str]) -> None:
    ended = run(*inputs.evaluate, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    for text in told:
        assert text in ended.err


def test_an_unknown_layer_is_told_with_those_there_are(inputs: Inputs) -> None:
    ended = run(*inputs.evaluate[:-1], "firs", "--order", "C 5, B 3, K 4")
    assert ended.code == 2
    assert ended.err == "error: --layer: found 'firs'; expected first (one of first, second)\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["explore", "net.yaml"], "--accelerator"),
        (["explore", "-a", "tiny.yaml"], "WORKLOAD"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--lpf-limit", "0"], "--lpf-limit"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--lpf-limit", "few"], "--lpf-limit"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--objective", "power"], "'edp'"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--mapping-type", "odd"], "'even'"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--frob"], "--frob"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--search", "random"], "'salsa'"),
        (
            ["explore", "net.yaml", "-a", "tiny.yaml", "--spatial-mappings", "0"],
            "--spatial-mappings",
        ),
        (
            ["explore", "net.yaml", "-a", "tiny.yaml", "--spatial-mappings", "some"],
            "--spatial-mappings",
        ),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--rank", "speed"], "'bound'"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--seed", "-1"], "--seed"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--seed", "0.5"], "--seed"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--workers", "0"], "--workers"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--workers", "many"], "--workers"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--mixed=yes"], "--mixed"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--keep-on-chip=yes"], "--keep-on-chip"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--prune=yes"], "--prune"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--pareto=yes"], "--pareto"),
        (["explore", "net.yaml", "-a", "tiny.yaml", "--save-mapping"], "--save-mapping"),
        (["query", "SELECT 1", "--format", "xml"], "'json'"),
        (["query"], "SQL"),
        (["frob"], "frob"),
    ],
)
def test_wrong_options_are_told(inputs: Inputs, arguments: list[str], told: str) -> None:
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("sql", ["", ";", "SELEC 1", "SELECT * FROM nothing", "SELECT ? + 1"])
def test_questions_that_are_not_valid_are_told(inputs: Inputs, sql: str) -> None:
    Store.open(Path("nestmap.duckdb")).close()
    ended = run("query", sql)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: query: ")
    assert "Traceback" not in ended.err


def test_a_layer_that_fits_nowhere_is_told_by_a_process(forks: Forks, inputs: Inputs) -> None:
    machine = Path(inputs.machine)
    machine.write_text(machine.read_text().replace("size: 16\n", "size: 8\n"))
    ended = forks.run(*inputs.explore, "--no-store")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[-1].startswith(
        "error: layer first: the memory allocation of this search found no place for any loop "
        "order on tiny: reg too small for O: needs at least 16 bit (sums of 16 bit: --sum-bits), "
        "has 8 (12 orders)"
    )
    assert "Traceback" not in ended.err


def test_a_missing_file_is_told_by_a_process(inputs: Inputs) -> None:
    ended = run_process("explore", "nope.onnx", "-a", inputs.machine)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: nope.onnx: found no such file")
    assert ended.err.count("\n") == 1


def test_ctrl_c_ends_the_run_as_interrupted(forks: Forks, inputs: Inputs) -> None:
    ended = forks.run(*inputs.explore, setup=CTRL_C)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in ended.err
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        assert [record.status for record in store.runs()] == [RunStatus.INTERRUPTED]


def test_a_reader_that_leaves_ends_it_quietly(inputs: Inputs) -> None:
    Store.open(Path("nestmap.duckdb")).close()
    command = [*program(), "query", "SELECT * FROM range(100000)", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("query", "SELECT 1"), ("--help",), ("sweep", "--help")])
def test_a_full_disk_is_told(inputs: Inputs, words: tuple[str, ...], unbuffered: str) -> None:
    Store.open(Path("nestmap.duckdb")).close()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*program(), *words],
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "error: [Errno 28] No space left on device\n"


def test_a_bug_shows_where_it_is(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: str, dims: Mapping[str, int] | None) -> None:
        raise ZeroDivisionError(path, dims)

    monkeypatch.setattr(api, "read_workload", broken)
    ended = run(*inputs.explore)
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert "ZeroDivisionError" in ended.err
    assert "Please report it" in ended.err.splitlines()[-1]


def test_a_failed_exploration_leaves_no_json(inputs: Inputs) -> None:
    machine = Path(inputs.machine)
    machine.write_text(machine.read_text().replace("size: 16\n", "size: 8\n"))
    assert run(*inputs.explore, "--no-store", "--json", "out.json").code == 2
    assert not [path for path in inputs.folder.iterdir() if "json" in path.name]
