"""What is recorded of a sweep is resumed, shown, drawn and asked by its name."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest

import nestmap
from nestmap.pipeline.cli.options.common import DEFAULT_STORE
from tests.pipeline.cli.inputs import run
from tests.pipeline.sweep.spaces import SPACE, write_space

COUNT = (
    "SELECT count(*) AS runs, count(DISTINCT accelerator) AS machines, "
    "min(id)::VARCHAR AS id FROM runs"
)
LANES = SPACE.replace("objectives: [energy, latency]", "objectives: [energy, area]")


@pytest.fixture(scope="module", name="sweep")
def _sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a space and the store of its sweep, and what the sweep has printed."""
    folder = tmp_path_factory.mktemp("sweep")
    file = write_space(folder, LANES)
    with contextlib.chdir(folder):
        return folder, run("sweep", str(file), "--store", str(DEFAULT_STORE)).out


@pytest.fixture(name="swept")
def _swept(sweep: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the sweep has printed; its files are in the current folder."""
    folder, printed = sweep
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return printed


def test_the_front_is_shown_and_resumed_as_it_was(swept: str) -> None:
    assert "18 designs explored" in swept
    assert run("show", "--sweep", "small").out == swept
    assert run("resume", "small").out == swept


def test_it_goes_on_elsewhere_or_with_runs_of_other_designs(swept: str) -> None:
    assert run("resume", "small", "--on", "local:1").out == swept
    before = json.loads(run("query", COUNT, "--format", "json").out)
    assert run("resume", "small", "--runs", "all").out == swept
    after = json.loads(run("query", COUNT, "--format", "json").out)
    assert after[0]["runs"] == 2 * after[0]["machines"] > before[0]["runs"]
    ended = run("resume", after[0]["id"], "--on", "local:1")
    assert (ended.code, "--on and --runs; leave them out: they are for" in ended.err) == (2, True)


def test_a_design_is_printed_as_yaml_that_runs(swept: str, tmp_path: Path) -> None:
    found = nestmap.recorded_sweep("last", DEFAULT_STORE)
    best = found.best("energy")
    file = tmp_path / "best.yaml"
    file.write_text(run("show", "--sweep", "small", "--design", str(best.number)).out)
    explored = nestmap.explore("net.yaml", file, objective="energy")
    assert explored.energy == best.networks[0].energy
    ended = run("show", "--sweep", "small", "--design", "99")
    assert ended.code == 2
    assert "no such design in the sweep small; expected the number of one of its 18" in ended.err


def test_queries_are_asked_by_its_name(swept: str) -> None:
    answer = run("query", "sweep_front", "--sweep", "small", "--format", "csv").out
    found = nestmap.recorded_sweep("small", DEFAULT_STORE)
    assert len(answer.splitlines()) == 1 + len(found.front)
    ended = run("query", "sweep_front", "--sweep", "large")
    assert ended.code == 2
    assert "sweep 'large': found no such sweep in this store; expected last or" in ended.err


def test_its_figures_are_drawn_and_its_page_written(swept: str, tmp_path: Path) -> None:
    run("plot", "small", "--output", "drawn")
    assert {x.name for x in (tmp_path / "drawn").iterdir()} >= {"designs.png", "parameters.png"}
    run("report", "small", "--output", "page.html")
    assert "Sweep small" in (tmp_path / "page.html").read_text()
    for words in (("--what", "loops"), ("--layer", "first"), ("--output", "x.svg")):
        assert run("plot", "small", *words).code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "--design", "3"), "--design: found no sweep; expected --sweep SWEEP"),
        (("show", "--sweep", "small", "-a", "tpu_like"), "--sweep cannot be combined with a net"),
        (("show", "--sweep", "none"), "found no such sweep"),
        (("resume", "small", "--force"), "cannot be combined with options for runs"),
        (("resume", "none"), "found no such run"),
    ],
)
def test_other_options_are_errors(swept: str, words: tuple[str, ...], told: str) -> None:
    ended = run(*words)
    assert ended.code == 2
    assert told in ended.err
