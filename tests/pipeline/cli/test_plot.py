"""``nestmap plot``: which charts of a run are drawn, where they go, what is refused."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from nestmap.pipeline.cli.options.common import DEFAULT_STORE
from nestmap.pipeline.util import extras as needs_module
from tests.pipeline.cli.inputs import Inputs, run, written

OF_A_RUN = {
    *("accelerator", "energy", "latency", "loops", "mappings", "memories", "roofline"),
    "utilization",
}
COMPARED = {"total-energy", "total-latency", "layer-energy", "layer-latency"}


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
    assert ended.err.splitlines()[0] == "Written to figures/energy.png."
    assert len(ended.err.splitlines()) == len(OF_A_RUN)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in Path("figures").iterdir())


@pytest.mark.usefixtures("explored")
@pytest.mark.parametrize("what", sorted(OF_A_RUN))
def test_one_figure(what: str) -> None:
    ended = run("plot", "last", "--what", what, "-o", "figure.svg")
    assert (ended.code, ended.out, ended.err) == (0, "", "Written to figure.svg.\n")
    assert Path("figure.svg").read_text().startswith("<svg")
    assert run("plot", "last", "--what", what).code == 0
    assert Path(f"{what}.png").exists()


@pytest.mark.usefixtures("explored")
def test_another_layer_looks_different() -> None:
    for what in ("loops", "mappings"):
        files = [Path(f"{layer}.svg") for layer in ("first", "second")]
        for path in files:
            layer = ("--layer", path.stem)
            assert run("plot", "last", "--what", what, *layer, "-o", str(path)).code == 0
        assert files[0].read_bytes() != files[1].read_bytes()


@pytest.mark.usefixtures("explored")
def test_two_runs_are_compared() -> None:
    one = run("query", "SELECT id FROM runs ORDER BY started LIMIT 1", "--format", "csv").out
    first = one.split()[-1]
    assert run("plot", "last", "--against", first, "-o", "compared").code == 0
    assert stems("compared") == COMPARED
    one_of = ("--what", "layer-energy", "-o", "one.pdf")
    assert run("plot", "last", "--against", first, *one_of).err == "Written to one.pdf.\n"
    assert run("plot", "last", "--against", first, "--what", "all", "-o", "both").code == 0
    assert stems("both") == OF_A_RUN | COMPARED


@pytest.mark.usefixtures("explored")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nothing",), "nothing"),
        (("last", "--what", "energy", "-o", "x.jpg"), "found the ending '.jpg'"),
        (("last", "--what", "loops", "-o", "x.html"), "expected one of .svg, .png, .pdf"),
        (("last", "-o", "x.png"), "x.png cannot be combined with 8 charts; give a folder"),
        (("last", "--what", "loops", "-o", "missing/x.png"), "no folder missing"),
        (("last", "--what", "loops", "--layer", "third"), "expected first, second"),
        (
            ("last", "--what", "energy", "--layer", "first"),
            "--layer cannot be combined with --what energy",
        ),
        (("last", "--what", "total-energy"), "expected all or one of energy, latency, memories"),
        (("last", "--what", "energy", "--against", "last"), "use one of total-energy, "),
        (("last", "--what", "schedule"), "found no such chart here"),
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


def test_a_chart_of_mappings_needs_recorded_mappings(inputs: Inputs) -> None:
    assert run(*inputs.explore, "--record", "none").code == 0
    ended = run("plot", "last", "--what", "mappings")
    assert ended.code == 2
    assert "found no recorded mapping of layer " in ended.err
    assert "expected a run explored with --record all" in ended.err
    ended = run("plot", "last")
    assert ended.code == 0
    assert "No chart mappings: run " in ended.err
    assert stems("figures") == OF_A_RUN - {"mappings"}


@pytest.mark.usefixtures("explored")
def test_without_vl_convert_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        assert name == "vl_convert"

    monkeypatch.setattr(needs_module, "find_spec", nothing)
    ended = run("plot", "last")
    assert ended.code == 2
    assert "expected what `pip install 'nestmap[plot]'` installs" in ended.err


def test_help_names_the_options() -> None:
    text = run("plot", "--help").out
    for option in ("--what", "--layer", "--against", "--output", "--store", "nestmap plot last"):
        assert option in text


@pytest.mark.usefixtures("explored")
def test_a_specification_is_what_vega_lite_reads() -> None:
    assert run("plot", "last", "--what", "energy", "-o", "energy.json").code == 0
    found = json.loads(Path("energy.json").read_text())
    assert found["title"] == "Energy per layer"
    assert found["width"] == 640
    assert run("plot", "last", "--what", "energy", "-o", "energy.html").code == 0
    assert "vegaEmbed" in Path("energy.html").read_text()
