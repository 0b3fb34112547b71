"""``nestmap stream``: the tables, the files, the store, and going on."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from nestmap.pipeline.cli import stream as stream_command
from nestmap.store import Store
from tests.faults.test_bad_stream import CORE, MACHINE
from tests.pipeline.cli.inputs import Inputs, run
from tests.pipeline.cli.test_split import TWO

SMALL: Final = (
    *("--lpf-limit", "3", "--individuals", "4", "--generations", "2", "--workers", "1"),
    *("--hint-loops", "OY=2", "--hint-loops", "K=2"),
)


@pytest.fixture
def command(inputs: Inputs) -> tuple[str, ...]:
    """The command over two convolutions on two cores."""
    Path(inputs.network).write_text(TWO)
    Path("small.yaml").write_text(CORE)
    Path("pair.yaml").write_text(MACHINE)
    return ("stream", inputs.network, "--cores", "pair.yaml", *SMALL)


def rows(out: str, first: str) -> list[list[str]]:
    """The words of the lines that begin so."""
    return [line.split() for line in out.splitlines() if line.startswith(first)]


def test_prints_front_and_schedule(command: tuple[str, ...]) -> None:
    ended = run(*command, "--no-store", "--json", "out.json")
    assert ended.code == 0, ended.err
    data: dict[str, Any] = json.loads(Path("out.json").read_text())
    best = data["best"]
    assert (
        "net on pair: the Pareto front of allocations to cores in latency and energy" in ended.out
    )
    assert f"The allocation with the lowest latency: {best['latency']:,} cycles, " in ended.out
    (core,) = (
        row for line in ended.out.splitlines() if (row := line.split())[:2] == ["0", "small"]
    )
    assert core[2] == str(best["cores"][0]["nodes"])
    assert rows(ended.out, "total")[0][-2] == "100.0%"  # a bar follows
    assert "8 computation nodes of 2 layers, " in ended.out
    assert "4 groups, 4 with a choice of cores: 16 allocations." in ended.out
    assert "kinds of nodes on cores, scheduled" in ended.err
    assert "Written to out.json." in ended.err
    assert not Path("nestmap.duckdb").exists()


def test_json_of_a_run_that_is_not_recorded_is_the_same_every_time(
    command: tuple[str, ...],
) -> None:
    for name in ("first.json", "second.json"):
        assert run(*command, "--no-store", "--json", name).code == 0
    first, second = Path("first.json"), Path("second.json")
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(first.read_text())["run"] is None


def test_json_says_what_the_schedule_is(command: tuple[str, ...]) -> None:
    assert run(*command, "--no-store", "--json", "out.json", "--compare-lbl").code == 0
    data: dict[str, Any] = json.loads(Path("out.json").read_text())
    best, layers = data["best"], data["layer_by_layer"]
    assert (data["workload"], data["accelerator"]) == ("net", "pair")
    assert data["problem"]["nodes"] == 8
    assert sum(x["nodes"] for x in best["cores"]) == sum(x["nodes"] for x in best["layers"]) == 8
    assert sum(best["energies"].values()) == pytest.approx(best["energy"])
    assert best["latency"] == min(x["latency"] for x in data["front"])
    assert max(x["ends"] for x in best["layers"]) <= best["latency"]
    assert [len(x["allocation"]) for x in data["front"]] == [4] * len(data["front"])
    assert len(layers["allocation"]) == 2
    assert all(x["peak"] <= x["size"] for x in best["memories"])
    alone = data["single_core"]
    assert set(alone["schedule"]["allocation"]) == {alone["core"]}
    assert alone["schedule"]["latency"] >= best["latency"]


def test_compares_with_layer_by_layer(command: tuple[str, ...]) -> None:
    ended = run(*command, "--compare-lbl")
    assert ended.code == 0, ended.err
    (one,), (other,) = rows(ended.out, "this one"), rows(ended.out, "layer by layer")
    assert (one[2], other[3]) == ("8", "2")
    assert "Against layer by layer: latency x " in ended.out
    assert "alone: latency x " in ended.out
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        sql = "SELECT nodes FROM streams JOIN runs ON id = run ORDER BY started"
        assert [x["nodes"] for x in store.query(sql)] == [2, 8]


def test_is_recorded_and_asked(command: tuple[str, ...]) -> None:
    first = run(*command)
    again = run(*command)
    assert first.code == again.code == 0
    assert first.out == again.out
    assert "Recorded in nestmap.duckdb as run " in first.err
    assert "nestmap query stream_layers_of --run last" in first.err
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        for query in store.named_queries():
            if query.name.startswith("stream_"):
                ended = run("query", query.name, "--run", "last", "--format", "json")
                assert ended.code == 0, ended.err
                assert json.loads(ended.out)


def test_runs_have_names_and_tags(command: tuple[str, ...]) -> None:
    assert run(*command, "--name", "two cores", "--tag", "bus").code == 0
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        (record,) = store.runs()
        assert store.stream_info(record.id).label == record.label
        assert (record.label.name, record.label.tags) == ("two cores", ("bus",))
        assert store.find_run("two cores") == record.id
    ended = run("report", "two cores", "-o", "report.html")
    assert ended.code == 0, ended.err
    assert ": two cores #bus</h1>" in Path("report.html").read_text()
    refused = run(*command, "--no-store", "--tag", "bus")
    assert (refused.code, "--tag cannot be combined with --no-store" in refused.err) == (2, True)


def test_engines_give_bounds(command: tuple[str, ...]) -> None:
    for engine in ("constraint", "both"):
        ended = run(*command, "--engine", engine, "--no-store")
        assert ended.code == 0, ended.err
        assert "By constraints: " in ended.out


@pytest.mark.parametrize("rule", ["latency", "memory", "critical"])
def test_rules_and_objectives(command: tuple[str, ...], rule: str) -> None:
    given = ("--rule", rule, "--objective", "memory", "--prefetch", "W", "--reference")
    ended = run(*command, *given, "--no-store")
    assert ended.code == 0, ended.err
    assert "the Pareto front of allocations to cores in memory\n" in ended.out


def test_writes_the_whole_schedule(command: tuple[str, ...]) -> None:
    ended = run(*command, "--no-store", "--json", "out.json", "--schedule", "schedule.json")
    assert ended.code == 0, ended.err
    assert "Written to schedule.json." in ended.err
    schedule: dict[str, Any] = json.loads(Path("schedule.json").read_text())
    short: dict[str, Any] = json.loads(Path("out.json").read_text())
    assert schedule["format"] == "nestmap schedule"
    assert f'"latency": {schedule["latency"]}' in json.dumps(short)
    assert max(schedule["nodes"]["end"]) <= schedule["latency"]


@pytest.mark.parametrize("other", ["--json", "--trace"])
def test_does_not_write_two_results_to_one_file(command: tuple[str, ...], other: str) -> None:
    ended = run(*command, "--no-store", other, "out.json", "--schedule", "out.json")
    assert (ended.code, ended.out) == (2, "")
    assert "out.json" in ended.err
    assert not Path("out.json").exists()


def test_writes_a_trace(command: tuple[str, ...]) -> None:
    assert run(*command, "--no-store", "--trace", "trace.json").code == 0
    trace: dict[str, Any] = json.loads(Path("trace.json").read_text())
    assert trace["traceEvents"]


def test_an_interrupted_run_says_how_to_go_on(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(*command, "--no-store")
    observe = stream_command.StreamBar.observe

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stream_command.StreamBar, "observe", stop)
    ended = run(*command)
    assert (ended.code, ended.out) == (130, "")
    assert "To resume: nestmap resume " in ended.err
    monkeypatch.setattr(stream_command.StreamBar, "observe", observe)
    again = run("resume", "last", "--json", "out.json")
    assert (again.code, again.out) == (0, whole.out), again.err
    assert "Written to out.json." in again.err
