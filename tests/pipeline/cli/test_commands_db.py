"""``nestmap db ...``: what they say and how they end."""

from pathlib import Path

import pytest

from nestmap.store.schema.tables import EVALUATION_ROWS
from tests.pipeline.cli.inputs import Ended, run
from tests.store.builders import NASTY
from tests.store.filled import content, count, filled, sql

STORE = Path("nestmap.duckdb")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(ended: Ended, found: str) -> None:
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert found in ended.err
    assert ended.out == ""


def test_a_sound_store() -> None:
    filled(STORE, "a", NASTY)
    ended = run("db", "check")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].startswith("schema version ")
    counted = [line.split() for line in lines]
    assert ["runs", "2"] in counted
    assert [EVALUATION_ROWS, "28"] in counted
    assert lines[-2:] == [
        "0 evaluations computed again, of 0 that were recorded with this cost model",
        "nestmap.duckdb: sound",
    ]


def test_a_broken_store() -> None:
    filled(STORE, "a")
    sql(STORE, "DELETE FROM layers", "DELETE FROM port_stalls")
    ended = run("db", "check", "--recompute", "0")
    assert ended.code == 2
    problems = [line for line in ended.out.splitlines() if line.startswith("problem: ")]
    assert len(problems) == 3
    assert "problem: table searches: 2 rows with a content that is not in layers.hash" in ended.out
    assert ended.out.endswith("nestmap.duckdb: 3 problems\n")
    assert ended.err == ""


def test_what_is_unfinished_is_no_problem() -> None:
    filled(STORE, "a", "b")
    sql(
        STORE,
        "UPDATE runs SET status = 'interrupted'",
        "DELETE FROM results",
        "UPDATE searches SET evaluations = NULL, front = NULL",
    )
    ended = run("db", "check")
    assert ended.code == 0
    assert "2 runs not done\n4 incomplete searches\n" in ended.out


def test_merging() -> None:
    filled(Path("one.duckdb"), "a", "b")
    filled(Path("two.duckdb"), "c")
    ended = run("db", "merge", "all.duckdb", "one.duckdb", "two.duckdb")
    assert ended.code == 0
    said = "3 runs, 6 searches and 42 evaluations new or updated"
    assert ended.out == f"all.duckdb: {said}\n"
    assert count(Path("all.duckdb"), "runs") == 3
    again = run("db", "merge", "all.duckdb", "one.duckdb")
    said = "0 runs, 0 searches and 0 evaluations new or updated"
    assert again.out == f"all.duckdb: {said}\n"


def test_pruning() -> None:
    first, _ = filled(STORE, "a", "b")
    before = content(STORE)
    dry = run("db", "prune", "--run", str(first)[:8], "--keep-best", "--dry-run")
    assert dry.code == 0
    assert "runs: 1 row would be removed" in dry.out.splitlines()
    assert content(STORE) == before
    ended = run("db", "prune", "--run", str(first)[:8], "--keep-best")
    assert ended.out.splitlines()[:-1] == [
        line.replace("would be removed", "removed") for line in dry.out.splitlines()[:-1]
    ]
    assert ended.out.splitlines()[-1] == f"nestmap.duckdb: {sizes(dry)} now"
    assert count(STORE, "runs") == 1
    assert run("db", "prune", "--run", "last").code == 0
    assert count(STORE, "runs") == 0


def sizes(ended: Ended) -> str:
    return ended.out.splitlines()[-1].removeprefix("nestmap.duckdb: ").removesuffix(" then")


def test_pruning_nothing_or_what_is_not_there() -> None:
    refused(run("db", "prune"), "found nothing to remove; expected some of --run RUN")
    refused(run("db", "prune", "--keep-best"), "no such file")
    filled(STORE, "a")
    refused(run("db", "prune", "--run", "zzz"), "no such run")
    refused(run("db", "prune", "--sweep", "zzz"), "no such sweep")
    assert count(STORE, "runs") == 1


@pytest.mark.parametrize("command", ["check", "merge", "prune"])
def test_help(command: str) -> None:
    assert f"db {command}" in run("db", command, "--help").out
    assert command in run("db", "--help").out
