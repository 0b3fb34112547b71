"""``nestmap plot``: which figures of a run are drawn, where they go, what is refused."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import get_args

import pytest

from nestmap.pipeline.cli import plot, plot_stream
from nestmap.pipeline.cli.options.common import DEFAULT_STORE
from nestmap.pipeline.cli.options.view import Drawing
from nestmap.pipeline.util import extras as needs_module
from tests.pipeline.cli.inputs import Inputs, run, written

OF_A_RUN = {"accelerator", "layers", "loops", "memories", "roofline", "scatter", "utilization"}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs."""
    folder = tmp_path_factory.mktemp("explored")
    with contextlib.chdir(folder):
        for objective in ("latency", "energy"):
            assert run(*written(folder).explore, "--objective", objective).code == 0
    return folder / DEFAULT_STORE


@pytest.fixture
def explored(inputs: Inputs, two_runs: Path) -> Inputs:
    """A store with two runs in the current folder."""
    shutil.copyfile(two_runs, DEFAULT_STORE)
    return inputs


def stems(folder: str) -> set[str]:
    return {path.stem for path in Path(folder).iterdir()}


@pytest.mark.usefixtures("explored")
def test_all_figures_of_a_run() -> None:
    ended = run("plot", "last")
    assert (ended.code, ended.out) == (0, "")
    assert stems("figures") == OF_A_RUN
    assert ended.err.splitlines()[0] == "Written to figures/layers.png."
    assert len(ended.err.splitlines()) == len(OF_A_RUN)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in Path("figures").iterdir())


@pytest.mark.usefixtures("explored")
@pytest.mark.parametrize("what", sorted(OF_A_RUN))
def test_one_figure(what: str) -> None:
    ended = run("plot", "last", "--what", what, "-o", "figure.svg")
    assert (ended.code, ended.out, ended.err) == (0, "", "Written to figure.svg.\n")
    assert Path("figure.svg").read_text().startswith("<?xml")
    assert run("plot", "last", "--what", what).code == 0
    assert Path(f"{what}.png").exists()


@pytest.mark.usefixtures("explored")
def test_another_layer_looks_different() -> None:
    for what in ("loops", "scatter"):
        files = [Path(f"{layer}.svg") for layer in ("first", "second")]
        for path in files:
            layer = ("--layer", path.stem)
            assert run("plot", "last", "--what", what, *layer, "-o", str(path)).code == 0
        assert files[0].read_bytes() != files[1].read_bytes()


@pytest.mark.usefixtures("explored")
def test_two_runs_are_compared() -> None:
    one = run("query", "SELECT id FROM runs ORDER BY started LIMIT 1", "--format", "csv").out
    first = one.split()[-1]
    assert run("plot", "last", "--against", first).err == "Written to comparison.png.\n"
    assert run("plot", "last", "--against", first, "--what", "all", "-o", "both").code == 0
    assert stems("both") == {*OF_A_RUN, "comparison"}


@pytest.mark.usefixtures("explored")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nothing",), "nothing"),
        (("last", "--what", "layers", "-o", "x.jpg"), "found the ending '.jpg'"),
        (("last", "-o", "x.png"), "x.png cannot be combined with 7 figures; give a folder"),
        (("last", "--what", "loops", "-o", "missing/x.png"), "no folder missing"),
        (("last", "--what", "loops", "--layer", "third"), "expected first, second"),
        (
            ("last", "--what", "layers", "--layer", "first"),
            "--layer cannot be combined with --what layers",
        ),
        (("last", "--what", "comparison"), "found one run; expected a second one"),
        (("last", "--what", "layers", "--against", "last"), "use --what comparison or all"),
        (("last", "--what", "schedule"), "with a run on one core; use one of layers, "),
        (("last", "--store", "none.duckdb"), "none.duckdb"),
    ],
)
def test_what_is_not_right_is_said(arguments: tuple[str, ...], told: str) -> None:
    ended = run("plot", *arguments)
    assert ended.code == 2
    assert told in ended.err
    assert ended.err.startswith("error: ")
    assert len(ended.err.splitlines()) == 1
    assert not list(Path().glob("**/*.png"))


def test_a_scatter_needs_recorded_mappings(inputs: Inputs) -> None:
    assert run(*inputs.explore, "--record", "none").code == 0
    ended = run("plot", "last", "--what", "scatter")
    assert ended.code == 2
    assert "found no recorded mapping of layer " in ended.err
    assert "expected a run explored with --record all" in ended.err
    ended = run("plot", "last")
    assert ended.code == 0
    assert "No scatter: run " in ended.err
    assert stems("figures") == OF_A_RUN - {"scatter"}


@pytest.mark.usefixtures("explored")
def test_without_matplotlib_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        assert name == "matplotlib"

    monkeypatch.setattr(needs_module, "find_spec", nothing)
    ended = run("plot", "last")
    assert ended.code == 2
    assert "expected what `pip install 'nestmap[plot]'` installs" in ended.err


def test_help_names_the_options() -> None:
    text = run("plot", "--help").out
    for option in ("--what", "--layer", "--against", "--output", "--store", "nestmap plot last"):
        assert option in text


def test_choices_are_what_can_be_drawn() -> None:
    assert set(get_args(Drawing)) == {*plot.DRAWINGS, *plot_stream.DRAWINGS, "all"}
