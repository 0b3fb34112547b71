"""Ctrl-C: what was found is kept, the user is told how to go on, and that works."""

import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest

from nestmap.store import RunStatus, Store
from nestmap.store.connection.connect import connect
from nestmap.store.maintenance.check import check_store
from tests.faults.forks import Forks
from tests.faults.interrupts import START
from tests.pipeline.cli.inputs import Inputs, run, written
from tests.pipeline.sweep.spaces import write_space

AT_THE_SECOND_LAYER = f"""
{START}
from nestmap.pipeline.cli.progress import ExplorationBar
observe = ExplorationBar.observe
def interrupted(bar, batch):
    observe(bar, batch)
    if batch.mappings.problem.layer.name == "second":
        os.kill(os.getpid(), signal.SIGINT)
ExplorationBar.observe = interrupted
"""

IN_A_TRANSACTION = f"""
{START}
from nestmap.store.record import run as writer
writer.MAX_COMMIT_INTERVAL = 0  # commits at once
write = writer.Run._write
def interrupted(*arguments):
    write(*arguments)
    writer.Run._write = write
    os.kill(os.getpid(), signal.SIGINT)
writer.Run._write = interrupted
"""

AGAIN_AT_THE_END = f"""
{AT_THE_SECOND_LAYER}
from nestmap.store.record import run as writer
write = writer.Run._write
def impatient(*arguments):
    write(*arguments)
    os.kill(os.getpid(), signal.SIGINT)
writer.Run._write = impatient
"""

WAIT_FOR_IT = f"""
{START}
import time
from nestmap.pipeline.cli.progress import ExplorationBar
def slow(bar, batch):
    if batch.mappings.problem.layer.name == "second":
        print("now", flush=True)
        time.sleep(60)
ExplorationBar.observe = slow
"""


AT_THE_SECOND_DESIGN = f"""
{START}
from nestmap.pipeline.cli.sweep import SweepBar
explored = SweepBar.explored
def interrupted(bar, points, front):
    explored(bar, points, front)
    if points[0].number % 2:
        os.kill(os.getpid(), signal.SIGINT)
SweepBar.explored = interrupted
"""


IN_THE_THIRD_RUN = f"""
{START}
from nestmap.store.record import run as writer
writer.MAX_COMMIT_INTERVAL = 0  # commits at once
write, runs = writer.Run._write, []
def interrupted(run, *arguments):
    write(run, *arguments)
    runs.append(run.id) if run.id not in runs else None
    if len(runs) == 3:
        os.kill(os.getpid(), signal.SIGINT)
writer.Run._write = interrupted
"""


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """The files of a small exploration, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


@pytest.mark.parametrize(
    ("setup", "options"),
    [
        (AT_THE_SECOND_LAYER, ("--store", "my results.duckdb")),
        (AT_THE_SECOND_LAYER, ("--pareto",)),
        (IN_A_TRANSACTION, ()),
    ],
)
def test_an_interrupted_run_is_gone_on_with_as_it_is_told(
    forks: Forks, inputs: Inputs, setup: str, options: tuple[str, ...]
) -> None:
    alone = run(*inputs.explore, *(x for x in options if x == "--pareto"), "--no-store")
    ended = forks.run(*inputs.explore, *options, setup=setup)
    assert (ended.code, ended.out) == (130, "")
    path = Path("my results.duckdb" if "--store" in options else "nestmap.duckdb")
    told, last = ended.err.splitlines()[-2:]
    assert last == "interrupted"
    found = re.fullmatch(r"To resume: nestmap resume (\S+)(.*)", told)
    assert found is not None
    assert found[2] == (" --store 'my results.duckdb'" if "--store" in options else "")
    with Store.open_read_only(path) as store:
        (record,) = store.runs()
        assert (str(record.id), record.status) == (found[1], RunStatus.INTERRUPTED)
        assert record.reason == "KeyboardInterrupt"
    again = run("resume", "last", "--store", str(path))
    assert (again.code, again.out) == (0, alone.out), again.err
    assert f"as run {found[1]}" in again.err
    with Store.open_read_only(path) as store:
        assert [x.status for x in store.runs()] == [RunStatus.DONE]
    assert check_store(path).problems == ()
    done = run("resume", found[1], "--store", str(path))
    assert (done.code, done.out) == (2, "")
    assert "it is done; expected one that was interrupted or failed" in done.err


def test_who_interrupts_twice_loses_nothing_that_was_committed(
    forks: Forks, inputs: Inputs
) -> None:
    alone = run(*inputs.explore, "--no-store")
    ended = forks.run(*inputs.explore, setup=AGAIN_AT_THE_END)
    assert (ended.code, ended.out) == (130, "")
    assert "Traceback" not in ended.err
    again = run("resume", "last")
    assert (again.code, again.out) == (0, alone.out)


def test_a_resumed_run_is_interrupted_and_gone_on_with(forks: Forks, inputs: Inputs) -> None:
    alone = run(*inputs.explore, "--no-store")
    for command in (inputs.explore, ("resume", "last")):
        ended = forks.run(*command, setup=AT_THE_SECOND_LAYER)
        assert (ended.code, ended.out) == (130, "")
        assert "nestmap resume" in ended.err
    again = run("resume", "last")
    assert (again.code, again.out) == (0, alone.out)
    with Store.open_read_only(Path("nestmap.duckdb")) as store:
        assert [(x.status, x.resumed) for x in store.runs()] == [(RunStatus.DONE, 2)]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_ended_from_outside_is_gone_on_with(
    forks: Forks, inputs: Inputs, number: signal.Signals
) -> None:
    alone = run(*inputs.explore, "--no-store")
    fork = forks.start(*inputs.explore, setup=WAIT_FOR_IT)
    assert fork.out.readline() == "now\n"
    busy = run("resume", "last")
    assert (busy.code, busy.out) == (2, "")
    assert f"process {fork.pid} is still running it; expected one that was" in busy.err
    os.kill(fork.pid, number)
    assert fork.end().code == (130 if number == signal.SIGINT else -number)
    again = run("resume", "last")
    assert (again.code, again.out) == (0, alone.out)


def test_a_run_of_another_machine_is_resumed_by_force(forks: Forks, inputs: Inputs) -> None:
    alone = run(*inputs.explore, "--no-store")
    assert forks.run(*inputs.explore, setup=AT_THE_SECOND_LAYER).code == 130
    with connect(Path("nestmap.duckdb")) as connection:
        connection.execute("UPDATE runs SET status = 'running', host = 'elsewhere'")
    refused = run("resume", "last")
    assert (refused.code, refused.out) == (2, "")
    assert "of machine elsewhere may still be running it" in refused.err
    again = run("resume", "last", "--force")
    assert (again.code, again.out) == (0, alone.out)


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("", r"Nothing was recorded; with --store FILE it could be resumed\."),
        ("my sweeps.duckdb", r"To resume: nestmap (resume \S+ --store .+)"),
    ],
)
def test_a_sweep_says_how_it_goes_on_each_time(
    forks: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command: tuple[str, ...] = ("sweep", str(write_space(tmp_path)))
    command += ("--store", store) if store else ()
    alone = run("sweep", str(tmp_path / "space.yaml"))
    for _ in range(2):
        ended = forks.run(*command, setup=AT_THE_SECOND_DESIGN)
        assert (ended.code, ended.out) == (130, "")
        line, last = ended.err.splitlines()[-2:]
        assert last == "interrupted"
        found = re.fullmatch(told, line)
        assert found is not None
        if store:
            command = tuple(shlex.split(found[1]))
    again = run(*command)
    assert (again.code, again.out) == (0, alone.out)


@pytest.mark.parametrize("options", [("--no-store",), ("--no-store", "--pareto")])
def test_what_is_not_recorded_says_so(
    forks: Forks, inputs: Inputs, options: tuple[str, ...]
) -> None:
    ended = forks.run(*inputs.explore, *options, setup=AT_THE_SECOND_LAYER)
    assert ended.code == 130
    told = "Nothing was recorded; without --no-store it could be resumed."
    assert ended.err.splitlines()[-2:] == [told, "interrupted"]


def test_an_interrupted_sweep_leaves_nothing_behind(
    forks: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither runs of the design that was in hand, nor their searches: it goes on there."""
    monkeypatch.chdir(tmp_path)
    command = ("sweep", str(write_space(tmp_path)), "--runs", "all", "--store")
    run(*command, "alone.duckdb")
    ended = forks.run(*command, "s.duckdb", setup=IN_THE_THIRD_RUN)
    assert ended.code == 130
    asked = (
        "SELECT status, count(*) AS runs, (SELECT count(*) FROM searches) AS searches "
        "FROM runs GROUP BY status"
    )
    with Store.open(Path("s.duckdb")) as store:
        left = store.query("SELECT count(*) AS n FROM searches WHERE evaluations IS NULL").rows()
        assert left == [{"n": 0}]
        assert {row["status"] for row in store.query(asked).rows()} <= {"done"}
    run(*command, "s.duckdb")
    with Store.open(Path("s.duckdb")) as store, Store.open(Path("alone.duckdb")) as alone:
        assert store.query(asked).rows() == alone.query(asked).rows()
