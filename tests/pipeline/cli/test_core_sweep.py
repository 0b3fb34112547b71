"""``nestmap sweep`` with several cores: the options of schedules, what is shown of a design."""

import json
from pathlib import Path
from typing import Final

import pytest

import nestmap
from nestmap.pipeline.multicore.plan import stream_plan
from nestmap.pipeline.render.text.plain_table import table_lines
from nestmap.pipeline.stages.multicore.split import split_options
from nestmap.pipeline.sweep.result.result_table import front_table
from tests.pipeline.cli.inputs import run
from tests.pipeline.sweep.core_spaces import SPACE, write_core_space
from tests.pipeline.sweep.spaces import write_space

WORDS: Final = (
    *("--individuals", "4", "--generations", "3", "--seed", "1", "--lpf-limit", "3"),
    *("--hint-loops", "B=3"),
)


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    return write_core_space(tmp_path, SPACE.replace("mapping: split.yaml\n", ""))


def test_finds_what_python_finds(file: Path, tmp_path: Path) -> None:
    table = tmp_path / "designs.json"
    ended = run("sweep", str(file), *WORDS, "-o", str(table), "--report", str(tmp_path / "x.html"))
    assert ended.code == 0
    plan = stream_plan(
        objectives=("energy", "latency"),
        individuals=4,
        generations=3,
        seed=1,
        lpf_limit=3,
        split=split_options(1, [("B", 3)]),
    )
    found = nestmap.sweep(file, plan=plan)
    assert "\n".join(x.text for x in table_lines(front_table(found.summary))) in ended.out
    told = "each network is scheduled for energy, latency, edp in turn."
    assert told in " ".join(ended.out.split())
    assert told in (tmp_path / "x.html").read_text()
    rows = json.loads(table.read_text())
    assert [(x["energy"], x["latency"], x["area"]) for x in rows] == [
        (x.energy, x.latency, x.area) for x in found.points
    ]


def test_the_accelerator_of_a_recorded_design_runs_as_it_is(file: Path, tmp_path: Path) -> None:
    store, made = tmp_path / "s.duckdb", tmp_path / "design.yaml"
    assert run("sweep", str(file), *WORDS, "--store", str(store)).code == 0
    shown = run("show", "--sweep", "cores", "--design", "4", "--store", str(store))
    assert shown.code == 0
    made.write_text(shown.out)
    design = nestmap.recorded_sweep("cores", store).design(4)
    words = (*WORDS, "--objective", "energy", "--objective", "latency", "--no-store")
    report = tmp_path / "r.json"
    ended = run(
        "stream", str(tmp_path / "net.yaml"), "-c", str(made), *words, "--json", str(report)
    )
    assert ended.code == 0
    assert design.networks[0].energy == json.loads(report.read_text())["best"]["energy"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--generations", "3"), "options for several cores cannot be combined with a base with"),
        (("--hint-loops", "B=3"), "options for several cores cannot be combined with a base with"),
    ],
)
def test_a_single_core_has_no_schedules(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    ended = run("sweep", str(write_space(tmp_path)), *words)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--reference",), "--reference cannot be combined with no --hint-loops"),
        (("--hint-loops", "B"), "--hint-loops: found 'B'"),
        (("--static-energy",), "static energy cannot be combined with a base with several cores"),
        (("--prefetch", "X"), "prefetch: found operand X"),
    ],
)
def test_options_that_do_not_suit_are_errors(file: Path, words: tuple[str, ...], told: str) -> None:
    ended = run("sweep", str(file), *words)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())
