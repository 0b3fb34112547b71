"""What a sweep explores is recorded once, found again, and shared, wherever it runs."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest

import nestmap
from nestmap import SweepResult
from nestmap.model import InputError, MappingProblem, Objective, StoreError
from nestmap.pipeline.analysis.sweep.designs_view import DesignsView
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.render.text.query_result_file import Layout, answer_text
from nestmap.pipeline.stages import AllSpatialMappingsStage
from nestmap.pipeline.stages.mapping.candidates import RankedCandidates
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.options import RunsName, StrategyName
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.store import RunStatus, Store
from nestmap.store.maintenance.check import check_store
from tests.pipeline.sweep.spaces import SPACE, write_space
from tests.sweeps import STRESS

NESTMAP: Final = (sys.executable, "-c", "from nestmap.pipeline.cli import main; main()")
KILLS: Final = 20 if STRESS else 3
DESIGNS: Final = 18


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def swept(file: Path) -> SweepResult:
    return nestmap.sweep(file)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same space with six designs on four accelerators, two of which are the front."""
    text = SPACE.replace("lanes: [1, 2, 4]", "lanes: [2]")
    return write_space(tmp_path_factory.mktemp("few"), text)


@pytest.fixture(scope="module")
def few_swept(few: Path) -> SweepResult:
    return nestmap.sweep(few)


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


@pytest.fixture(name="explored")
def _explored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The accelerators for which spatial mappings were generated."""
    found: list[str] = []
    original = AllSpatialMappingsStage.__call__

    def counted(stage: AllSpatialMappingsStage, problem: MappingProblem, /) -> RankedCandidates:
        found.append(problem.accelerator.content_hash)
        return original(stage, problem)

    monkeypatch.setattr(AllSpatialMappingsStage, "__call__", counted)
    return found


class KilledError(Exception):
    """Ends a sweep between two designs."""


class Kill:
    """Progress that ends a sweep after so many designs."""

    def __init__(self, after: int) -> None:
        self.left = after

    def start(self, designs: int) -> None:
        """It begins."""

    def explored(self, points: DesignPoints, front: int) -> None:
        """One less is left."""
        self.left -= 1
        if not self.left:
            raise KilledError

    def recalled(self, points: DesignPoints, front: int) -> None:
        """What is known does not count."""


def exported(result: SweepResult) -> str:
    return "".join(answer_text(result.relation(), Layout.CSV))


@pytest.mark.parametrize("on", [None, "local:2"])
def test_a_sweep_that_ended_early_goes_on(
    swept: SweepResult, file: Path, path: Path, on: str | None, explored: list[str]
) -> None:
    with pytest.raises(KilledError):
        nestmap.sweep(file, store=path, on=on, runs="none", progress=Kill(7))
    with Store.open_read_only(path) as store:
        (sweep,) = store.sweeps()
        assert sweep.state.designs >= 7
        assert not sweep.state.is_complete
        assert not store.runs()
    done = sweep.state.designs * len(swept.mapped_for)
    assert nestmap.recorded_sweep("small", path).points == swept.points[:done]
    assert nestmap.sweep(file, store=path, on=on, runs="none") == swept
    explored.clear()
    assert nestmap.sweep(file, store=path, runs="none") == swept
    assert not explored
    assert nestmap.recorded_sweep("small", path) == swept
    with Store.open_read_only(path) as store:
        (whole,) = store.sweeps()
        assert whole.state.is_complete
        assert whole.started == sweep.started
        assert [swept.points[n] for n in whole.state.front] == list(swept.front)
    assert check_store(path).is_sound


def test_designs_that_a_limit_of_time_has_cut_are_explored_again(
    few: Path, few_swept: SweepResult, path: Path, explored: list[str]
) -> None:
    cut = nestmap.sweep(few, time_limit=1e-9, store=path, runs="none")
    assert any(network.cut for design in cut.points for network in design.networks)
    with Store.open_read_only(path) as store:
        recorded = read_summary(store.sweeps()[0].info.name, store)
    assert (recorded.unproven, recorded.gap) == (cut.summary.unproven, cut.summary.gap)
    assert recorded.unproven > 0
    explored.clear()
    assert nestmap.sweep(few, time_limit=1e-9, store=path, runs="none") == cut
    assert explored
    assert nestmap.sweep(few, store=path, runs="none") == few_swept
    explored.clear()
    assert nestmap.sweep(few, store=path, runs="none") == few_swept
    assert not explored
    with Store.open_read_only(path) as store:
        assert all(sweep.state.is_complete for sweep in store.sweeps())
    assert check_store(path).is_sound


@pytest.mark.parametrize(("strategy", "designs"), [("random", 7), ("nsga2", 16), ("tpe", 11)])
def test_a_sweep_is_resumed_without_its_files(
    tmp_path: Path, path: Path, strategy: StrategyName, designs: int
) -> None:
    file = write_space(tmp_path)
    plan = SearchPlan()
    expected = nestmap.sweep(file, strategy=strategy, designs=designs, design_seed=3, plan=plan)
    with pytest.raises(KilledError):
        nestmap.sweep(
            file,
            strategy=strategy,
            designs=designs,
            design_seed=3,
            plan=plan,
            store=path,
            progress=Kill(5),
        )
    for each in tmp_path.glob("*.yaml"):
        each.unlink()
    assert nestmap.resume_sweep("small", path) == expected


def test_sweeps_share_what_they_find_of_a_network(
    swept: SweepResult, file: Path, path: Path, explored: list[str], tmp_path: Path
) -> None:
    """The other sweep has one of the networks, another weight, and overlapping designs."""
    nestmap.sweep(file, store=path, runs="none")
    explored.clear()
    text = SPACE.replace("  - net.yaml\n", "").replace("weight: 2.5", "weight: 4")
    other = write_space(tmp_path, text.replace("name: small", "name: other"))
    shared = nestmap.sweep(other, store=path, runs="none")
    assert not explored
    assert shared == nestmap.sweep(other)
    wider = write_space(tmp_path, SPACE.replace("lanes: [1, 2, 4]", "lanes: [4, 8]"))
    explored.clear()
    found = nestmap.sweep(wider, store=path, runs="none")
    both = set(explored)
    assert found == nestmap.sweep(wider)
    known = {x.accelerator for x in swept.points}
    assert both == {x.accelerator for x in found.points} - known
    assert both


@pytest.mark.parametrize("runs", ["front", "all", "none"])
def test_runs_are_recorded_once_of_the_designs_asked_for(
    few_swept: SweepResult, few: Path, path: Path, runs: RunsName
) -> None:
    for _ in range(2):
        assert nestmap.sweep(few, store=path, runs=runs) == few_swept
        wanted = {"front": few_swept.front, "all": few_swept.points, "none": ()}[runs]
        mapped = {(x.accelerator, x.mapped_for.value) for x in wanted}
        with Store.open_read_only(path) as store:
            found = store.query("SELECT accelerator, objective, tags FROM runs").rows()
            assert len(found) == 2 * len(mapped)  # a run for each network
            assert {(x["accelerator"], x["objective"]) for x in found} == mapped
            assert {x.status for x in store.runs()} <= {RunStatus.DONE}
            tags = {tag for x in store.runs() for tag in x.label.tags}
            assert tags == ({"sweep:small", store.sweeps()[0].info.key[:12]} if wanted else set())


def test_runs_have_the_figures_of_the_sweep(swept: SweepResult, file: Path, path: Path) -> None:
    nestmap.sweep(file, store=path)
    with Store.open_read_only(path) as store:
        for run in store.runs():
            _, number, objective = str(run.label.name).split("/")
            design = swept.design(int(number), Objective(objective))
            assert design in swept.front
            figures = {(x.energy, x.latency) for x in design.networks}
            best = store.best(run.id)
            assert (best.energy, best.latency) in figures


def test_another_choice_of_runs_adds_what_is_missing(
    few_swept: SweepResult, few: Path, path: Path
) -> None:
    nestmap.sweep(few, store=path, runs="none")
    assert nestmap.resume_sweep("last", path, runs="all") == few_swept
    with Store.open_read_only(path) as store:
        mapped = {(x.accelerator, x.mapped_for) for x in few_swept.points}
        assert len(store.runs()) == 2 * len(mapped)


def rows(path: Path) -> int:
    """How many designs are recorded; 0 while there is no store."""
    try:
        with Store.open_read_only(path, patience=0) as store:
            return sum(x.state.designs for x in store.sweeps())
    except StoreError:
        return 0


def kills() -> Iterator[str | None]:
    """Where each sweep that is killed runs."""
    for n in range(KILLS):
        yield "local:2" if n % 2 else None


@pytest.mark.stress
def test_a_command_that_is_killed_loses_only_what_was_in_hand(
    swept: SweepResult, file: Path, path: Path
) -> None:
    """Each sweep is killed as soon as it has recorded more than those before."""
    before = 0
    for on in kills():
        words = ["--on", on] if on else ["--workers", "1"]
        command = subprocess.Popen(
            [*NESTMAP, "sweep", str(file), "--store", str(path), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while command.poll() is None and rows(path) <= before:
            time.sleep(0.01)
        command.send_signal(signal.SIGKILL)
        command.wait()
        assert rows(path) >= before
        before = rows(path)
    assert exported(nestmap.resume_sweep("small", path)) == exported(swept)
    assert rows(path) == DESIGNS
    assert check_store(path).is_sound


def test_what_cannot_be_read_is_told(file: Path, path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        nestmap.recorded_sweep("small", path)
    with pytest.raises(InputError, match="runs: found 'some'; expected one of front, all, none"):
        nestmap.sweep(file, runs="some")  # type: ignore[arg-type] # what users may write
    with Store.open(path) as store, pytest.raises(StoreError, match="nestmap sweep to record one"):
        nestmap.resume_sweep("small", store)
    with pytest.raises(KilledError):
        nestmap.sweep(file, store=path, progress=Kill(2))
    with Store.open(path) as store:
        store.query("UPDATE sweeps SET question = '{}'")
        with pytest.raises(StoreError, match="sweep small: found one of an incompatible version"):
            nestmap.resume_sweep("small", store)
    with Store.open(path) as store:
        store.query("UPDATE sweep_designs SET number = 9 - number")
        with pytest.raises(StoreError, match="small: found design 9 as design 1 of it; expec"):
            nestmap.sweep(file, store=path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("objectives: [energy, latency]", "objectives: [energy, area, edp]"),
        # some are too small, then all
        ("memories.outlet.size: bits", "memories.reg.size: words * 4 + bits * 0"),
        ("memories.outlet.size: bits", "memories.reg.size: 8 + bits * 0"),
    ],
)
def test_a_recorded_sweep_in_brief_is_that_of_the_result(
    tmp_path: Path, path: Path, old: str, new: str
) -> None:
    found = nestmap.sweep(write_space(tmp_path, SPACE.replace(old, new)), store=path, runs="none")
    expected = found.summary
    with Store.open_read_only(path) as store:
        summary = read_summary("small", store)
        assert replace(summary, columns=expected.columns) == expected
        for one, other in zip(_columns(summary.view), _columns(expected.view), strict=True):
            np.testing.assert_array_equal(one, other)


def _columns(view: DesignsView) -> Iterator[npt.ArrayLike]:
    yield from (view.name, view.numbers, view.mapped_for, view.infeasible, view.on_front)
    for parameter in view.parameters:
        yield from (parameter.name, parameter.places, list(map(str, parameter.values)))
    for objective in view.objectives:
        yield from (str(objective.objective), objective.values)
