"""``nestmap explain``: a layer of a run explained, from the store alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from nestmap.model import FusedSegment
from nestmap.pipeline.explore.explanation import Explanation, explain
from nestmap.pipeline.explore.resume import recorded_problem
from nestmap.store import Store
from tests.pipeline.cli.inputs import LAYER, MACHINE, Inputs, explored, run, run_process
from tests.pipeline.render.text.read_explanation import figure, loops, part

STORE = Path("nestmap.duckdb")
FSRCNN = Path(__file__).parents[3] / "benchmarks" / "data" / "depfin" / "fsrcnn.yaml"
LEAKING = (
    MACHINE.replace("unit_energy: 0.5,", "unit_energy: 0.5, clock_period: 1.25,")
    .replace("r_cost: 10", "leakage: 2.5\n    r_cost: 10")
)  # fmt: skip


def expected(layer: str) -> Explanation:
    """The explanation of the last run's layer, made in Python."""
    with Store.open_read_only(STORE) as store:
        last = store.find_run("last")
        (result,) = (x for x in store.best(last).layers if x.cme.layer == layer)
        assert result.bound is not None
        problem = recorded_problem(store.problem(last), result.cme)
        return explain(problem, result.cme, result.bound)


@pytest.mark.parametrize("options", [(), ("--keep-on-chip",), ("--objective", "energy")])
def test_what_is_printed_and_written(inputs: Inputs, options: tuple[str, ...]) -> None:
    explored(inputs, *options)
    for layer, named in (("first", ("last", "first")), ("second", ("second",))):
        ended = run("explain", *named, "--json", "out.json")
        assert (ended.code, ended.err) == (0, "Written to out.json.\n")
        found = expected(layer)
        assert ended.out == f"{found.text()}\n"
        assert "\x1b" not in ended.out
        assert Explanation.model_validate_json(Path("out.json").read_text()) == found


def test_a_layer_in_tiles_is_explained_by_its_segment() -> None:
    """Which layers run together, what they hold, and why no more of them do."""
    options = ("--fuse", "--fuse-depth", "2", "--objective", "energy")
    assert run("explore", str(FSRCNN), "--accelerator", "tpu_like", *options).code == 0
    ended = run("explain", "map2", "--json", "out.json")
    assert (ended.code, ended.err) == (0, "Written to out.json.\n")
    segment = FusedSegment.model_validate_json(Path("out.json").read_text())
    assert "map2" in segment.nodes
    said = " ".join(ended.out.split())
    assert f"Together run {segment.nodes[0]} to {segment.nodes[-1]} (2 nodes)" in said
    assert "Beside the mapping of each layer, they take" in said
    assert said.count("runs apart: together they have 4 layers, and at most 2 are tried.") == 2


def test_json_has_the_figures_of_the_store(inputs: Inputs) -> None:
    explored(inputs)
    assert run("explain", "last", "first", "--json", "out.json").code == 0
    data: dict[str, Any] = json.loads(Path("out.json").read_text())
    question = "SELECT * FROM best WHERE layer = 'first'"
    with Store.open_read_only(STORE) as store:
        (row,) = store.query(question).rows()
    assert data["latency"]["total"] == row["latency"]
    assert sum(step["cycles"] for step in data["latency"]["steps"]) == row["latency"]
    assert data["energy"]["total"] == row["energy"]
    assert data["cme"]["stall"] == max(0, *(port["stall"] for port in data["ports"]))


def test_the_text_of_a_small_layer(inputs: Inputs) -> None:
    explored(inputs)
    out = run("explain", "last", "first").out
    lines = out.splitlines()
    assert lines[:3] == [
        "first (Gemm): O[b][k] += W[k][c] * I[b][c]",
        "B 3, K 8, C 5: 120 MACs",
        "on tiny: D1 (2 units) K 2",
    ]
    nest = loops(part(out, "LOOP NEST"))
    assert [str(loop) for loop, side in nest if side == "D1"] == ["K 2"]
    last = part(out, "LATENCY")[-1].split()
    assert last[0] == "latency"
    assert f"{last[1]} cycles, " in lines[5]
    titles = ("WHY", "LOOP NEST", "LATENCY", "ENERGY", "PORTS", "ACCESSES", "WHAT IF")
    assert [line for line in lines if line in titles] == list(titles)


def test_a_layer_that_repeats_another(inputs: Inputs) -> None:
    twins = LAYER % (0, "one", "3, 8, 5", 0, 0) + LAYER % (1, "two", "3, 8, 5", 1, 1)
    Path(inputs.network).write_text(twins)
    explored(inputs)
    one, two = run("explain", "last", "one"), run("explain", "last", "two")
    assert (one.code, two.code) == (0, 0)
    note, heading, *rest = two.out.splitlines()
    assert note == "Identical to one, whose result is reused."
    assert heading.startswith("two (Gemm): ")
    assert rest == one.out.splitlines()[1:]


def test_leakage_is_a_part(inputs: Inputs) -> None:
    Path(inputs.machine).write_text(LEAKING)
    explored(inputs, "--static-energy")
    out = run("explain", "last", "first").out
    rows = {line.split()[0]: line.split() for line in part(out, "ENERGY")}
    found = expected("first").cme
    assert found.static_energy > 0
    assert figure(" ".join(rows["leakage"][1:3])).tells(found.static_energy * 1e-12)
    assert found.clock_period == 1.25
    assert f"{found.latency:,.0f} cycles (" in out


def test_an_array_that_computes_in_memory(inputs: Inputs) -> None:
    search = ("--search", "loma", "--spatial-mappings", "3", "--lpf-limit", "3")
    ended = run("explore", inputs.network, "-a", "aimc", "-m", "free", *search)
    assert ended.code == 0, ended.err
    out = run("explain", "last", "second").out
    names = [line.split()[0] for line in part(out, "ENERGY")]
    assert names[:3] == ["array", "dacs", "adcs"]


def test_names_from_files_cannot_move_the_cursor(inputs: Inputs) -> None:
    Path(inputs.network).write_text(LAYER % (0, '"a\\eb\\n"', "3, 8, 5", 0, 0))
    explored(inputs)
    for name in ("a\x1bb\n", "a\\x1bb\\n"):
        ended = run("explain", "last", name)
        assert ended.code == 0, ended.err
        assert ended.out.startswith("a\\x1bb\\n (Gemm): ")
        assert "\x1b" not in ended.out
    assert "\x1b" not in run("explain", "last", "c").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("last", "frist"),
            "error: layer to explain: found 'frist'; expected first (one of first,",
        ),
        (("last", ""), "error: layer to explain: found ''; expected one of first, second"),
        (("ffffffff", "first"), "error: run 'ffffffff': found no such run; expected last"),
        (("last", "first", "second"), "error: explain: found 3 names; expected a layer, or a run"),
        (("last", "first", "--store", "none.duckdb"), "error: store none.duckdb: no such file"),
        (
            ("last", "first", "--json", "nowhere/x.json"),
            "error: nowhere/x.json: found no folder nowhere",
        ),
        (("last", "first", "--json", "nestmap.duckdb"), "error: --json nestmap.duckdb: found "),
    ],
)
def test_what_is_wrong(inputs: Inputs, arguments: tuple[str, ...], said: str) -> None:
    explored(inputs)
    ended = run("explain", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(said)


def test_what_the_array_does_not_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    search = ("--search", "loma", "--lpf-limit", "1", "--spatial-mappings", "1")
    assert run("explore", "light:alexnet", "-a", "tpu_like", *search).code == 0
    ended = run("explain", "last", "n1")
    assert ended.code == 2
    assert ended.err.startswith("error: layer to explain: found 'n1', which the array does not")
    assert run("explain", "last", "n0").code == 0


def test_a_run_without_results(inputs: Inputs) -> None:
    explored(inputs)
    with Store.open(STORE) as store:
        info = store.info(store.find_run("last"))
        begun = store.start_run(info)
        ended = run("explain", str(begun.id), "first")
        assert "found no results, it is running; expected a run that is done" in ended.err


def test_a_pipe_gets_all_of_it(inputs: Inputs) -> None:
    explored(inputs)
    ended = run_process("explain", "last", "first")
    assert (ended.code, ended.out) == (0, f"{expected('first').text()}\n")
