"""``nestmap plot`` of runs of several cores: which charts are drawn, what is refused."""

from pathlib import Path

import pytest

from nestmap.model.base import copy_with
from nestmap.pipeline.multicore.api import stream_problem
from nestmap.pipeline.multicore.plan import Engine
from nestmap.store import Store
from tests.pipeline.cli.inputs import run
from tests.pipeline.multicore.streams import PLAN, job

OF_A_RUN = {
    *("allocations", "core-time", "layer-energies", "memories", "overview", "schedule"),
    *("schedule-energy", "sent-cores", "sent-wires", "wires"),
}
COMPARED = {"schedule-1", "schedule-2", "schedule-energy", "schedule-latency"}


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with two runs, the second one by constraint programming alone; and their ids."""
    path = tmp_path_factory.mktemp("store") / "nestmap.duckdb"
    with Store.open(path) as store:
        first = stream_problem(job(), store=store).run
        by_constraints = job(copy_with(PLAN, {"engine": Engine.CONSTRAINT}))
        second = stream_problem(by_constraints, store=store).run
    return path, str(first), str(second)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_all_figures_of_a_run(made: tuple[Path, str, str]) -> None:
    path, first, _ = made
    ended = run("plot", first, "--store", str(path))
    assert (ended.code, ended.out) == (0, "")
    assert {x.stem for x in Path("figures").iterdir()} == OF_A_RUN
    assert all(x.read_bytes().startswith(b"\x89PNG") for x in Path("figures").iterdir())


def test_one_figure_and_a_comparison(made: tuple[Path, str, str]) -> None:
    path, first, second = made
    ended = run("plot", first, "--what", "schedule", "-o", "s.svg", "--store", str(path))
    assert (ended.code, ended.err) == (0, "Written to s.svg.\n")
    ended = run("plot", first, "--against", second, "-o", "compared", "--store", str(path))
    assert ended.code == 0
    assert {x.stem for x in Path("compared").iterdir()} == COMPARED


def test_without_generations_there_are_no_allocations(made: tuple[Path, str, str]) -> None:
    path, _, second = made
    ended = run("plot", second, "--store", str(path))
    assert ended.code == 0
    assert {x.stem for x in Path("figures").iterdir()} == OF_A_RUN - {"allocations"}
    ended = run("plot", second, "--what", "allocations", "--store", str(path))
    assert ended.code == 2
    assert "found no such chart here; expected all or one of overview, " in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--what", "latency"), "found no such chart here; expected all or one of overview, "),
        (
            ("--what", "schedule", "--layer", "a"),
            "--layer cannot be combined with a run on several",
        ),
        (("--what", "wires", "--against", "last"), "use one of schedule-energy, "),
        (("-o", "x.png"), "--output x.png cannot be combined with 10 charts; give a folder"),
    ],
)
def test_what_is_not_right_is_said(
    made: tuple[Path, str, str], arguments: tuple[str, ...], told: str
) -> None:
    path, first, _ = made
    ended = run("plot", first, *arguments, "--store", str(path))
    assert ended.code == 2
    assert told in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not list(Path().glob("**/*.png"))
