"""The pages of sweeps show what is recorded, and lead from a design to its layers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import nestmap
from nestmap import SweepResult
from nestmap.pipeline.multicore.plan import stream_plan
from nestmap.pipeline.pages.explorer.render import design_address, sweep_address
from nestmap.store import Store
from tests.pipeline.pages.explorer.visits import Visitor, visiting
from tests.pipeline.pages.report.dom import captioned, grid
from tests.pipeline.sweep.core_spaces import write_core_space
from tests.pipeline.sweep.spaces import SPACE, mapped_first, write_space
from tests.store.filled import filled
from tests.store.sweeps import INFO, add_design, infeasible

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(name="path", scope="module")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps")
    path = folder / "store.duckdb"
    text = SPACE.replace("name: small", f"name: '{HOSTILE}'")
    nestmap.sweep(write_space(folder, text), store=path)
    with Store.open(path) as store:
        begun = store.start_sweep(INFO)
        add_design(begun, infeasible(3))
        begun.commit(())
    return path


@pytest.fixture(name="swept", scope="module")
def _swept(path: Path) -> SweepResult:
    return nestmap.recorded_sweep(HOSTILE, path)


@pytest.fixture(name="key", scope="module")
def _key(path: Path) -> str:
    with Store.open_read_only(path) as store:
        return store.find_sweep(HOSTILE).info.key


@pytest.fixture(name="visitor", scope="module")
def _visitor(path: Path) -> Iterator[Visitor]:
    with visiting(path) as visitor:
        yield visitor


def test_all_sweeps_are_listed(visitor: Visitor, key: str, swept: SweepResult) -> None:
    page = visitor.get("/sweeps").page
    table = grid(page.by_id("sweeps"))
    assert table.texts("Sweep") == ["arrays", HOSTILE]
    assert table.texts("Status") == ["incomplete", "done"]
    assert table.values("Designs") == [1, len(mapped_first(swept))]
    assert table.values("Front") == [0, len(swept.front)]
    links = [cell.one("a").attributes["href"] for cell in table.column("Sweep")]
    assert links == [sweep_address(INFO.key), sweep_address(key)]


def test_a_sweep_leads_to_its_designs_and_their_runs(
    visitor: Visitor, key: str, swept: SweepResult, path: Path
) -> None:
    page = visitor.get(sweep_address(key)).page
    rows = captioned(page, "Designs on the Pareto front").rows
    assert [row[0].text for row in rows] == [str(x.number) for x in swept.front]
    first = rows[0][0].one("a").attributes["href"]
    assert first == design_address(key, swept.front[0].number)
    design = visitor.get(first).page
    runs = [x.attributes["href"] for x in design.every("a")]
    with Store.open_read_only(path) as store:
        recorded = {f"/run/{run.id}" for run in store.runs()}
    assert len(recorded) == 2 * len(swept.front)
    of_first = [x for x in swept.front if x.number == swept.front[0].number]
    assert len(recorded & set(runs)) == 2 * len(of_first)
    assert all(visitor.get(x).status == 200 for x in recorded)


def test_a_design_has_its_figures_and_its_accelerator(
    visitor: Visitor, key: str, swept: SweepResult
) -> None:
    for design in (swept.front[0], swept.points[-1]):
        points = [x for x in swept.points if x.number == design.number]
        page = visitor.get(design_address(key, design.number)).page
        table = grid(page.by_id(f"design-{design.number}-network-table"))
        assert table.values("Energy") == [x.energy for each in points for x in each.networks]
        assert table.texts("For") == [each.mapped_for.value for each in points for _ in "12"]
        facts = [float(x.attributes["data-value"]) for x in page.every("b")]
        assert facts == [min(x.energy or 0 for x in points), min(x.latency or 0 for x in points)]
        values = grid(page.by_id(f"design-{design.number}-parameter-table"))
        assert values.texts("Value") == [str(x) for _, x in design.parameters]
        shown = page.one("pre").text
        assert shown.split() == swept.accelerator_yaml(design).split()


def test_a_design_with_several_cores_leads_to_its_schedules(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    plan = stream_plan(individuals=2, generations=1, lpf_limit=2)
    found = nestmap.sweep(write_core_space(tmp_path), plan=plan, store=path)
    with Store.open_read_only(path) as store:
        key = store.find_sweep("cores").info.key
        recorded = {f"/run/{run.id}" for run in store.runs()}
    on_front, other = found.front[0], next(x for x in found.points if x not in found.front)
    with visiting(path) as visitor:
        assert captioned(visitor.get(sweep_address(key)).page, "Designs on the Pareto front").rows
        page = visitor.get(design_address(key, on_front.number)).page
        runs = {x.attributes["href"] for x in page.every("a")} & recorded
        assert len(runs) == 2
        assert all(visitor.get(x).status == 200 for x in runs)
        assert page.one("pre").text.split() == found.accelerator_yaml(on_front).split()
        assert "nestmap stream" in visitor.get(design_address(key, other.number)).text


def test_a_design_that_is_refused_has_its_reason(visitor: Visitor) -> None:
    assert "too small" in visitor.get(design_address(INFO.key, 3)).told


def test_names_are_never_markup(visitor: Visitor, key: str) -> None:
    for at in ("/sweeps", sweep_address(key), design_address(key, 0), f"/sweep/{HOSTILE}"):
        assert "<script>alert" not in visitor.get(at.replace(HOSTILE, "%3Cscript%3Ealert")).text


@pytest.mark.parametrize("rest", ["no", "0" * 32, "KEY/99", "KEY/x", "KEY/-1", "KEY/" + "9" * 50])
def test_what_is_not_there_is_told(visitor: Visitor, key: str, rest: str) -> None:
    reply = visitor.get(f"/sweep/{rest.replace('KEY', key)}")
    assert reply.status == 404
    assert "expected" in reply.told


def test_a_store_without_sweeps_says_so(tmp_path: Path) -> None:
    filled(tmp_path / "s.duckdb")
    with visiting(tmp_path / "s.duckdb") as visitor:
        assert "There is no sweep in this store yet." in visitor.get("/sweeps").told
