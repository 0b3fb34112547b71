"""The report of a recorded sweep leads from its front to designs, and on to layers and mappings."""

from collections import Counter
from pathlib import Path

import pytest

import nestmap
from nestmap import SweepResult
from nestmap.pipeline.multicore.plan import stream_plan
from nestmap.pipeline.pages.report import recorded_sweep as module
from nestmap.pipeline.pages.report.recorded_sweep import sweep_report
from nestmap.pipeline.pages.report.run import run_anchor
from nestmap.store import Store
from tests.pipeline.cli.inputs import run
from tests.pipeline.pages.report.dom import Element, captioned, grid, read
from tests.pipeline.sweep.core_spaces import write_core_space
from tests.pipeline.sweep.spaces import SPACE, write_space

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(name="path", scope="module")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps")
    text = SPACE.replace("name: small", f"name: '{HOSTILE}'")
    text = text.replace("[energy, latency]", "[energy, area, '-words']")
    nestmap.sweep(write_space(folder, text), store=folder / "store.duckdb")
    return folder / "store.duckdb"


@pytest.fixture(name="swept", scope="module")
def _swept(path: Path) -> SweepResult:
    return nestmap.recorded_sweep(HOSTILE, path)


@pytest.fixture(name="page", scope="module")
def _page(path: Path) -> Element:
    with Store.open_read_only(path) as store:
        return read(sweep_report(store, "last"))


def targets(page: Element) -> set[str]:
    return {x.attributes["href"] for x in page.every("a") if x.attributes["href"].startswith("#")}


def ids(page: Element) -> Counter[str]:
    return Counter(x.attributes["id"] for x in page.every() if "id" in x.attributes)


def test_every_link_leads_to_one_place(page: Element) -> None:
    found = ids(page)
    assert {x for x, n in found.items() if n > 1} == set()
    assert {x.removeprefix("#") for x in targets(page)} <= set(found)


def test_the_front_leads_to_designs_and_these_to_runs(
    page: Element, path: Path, swept: SweepResult
) -> None:
    rows = captioned(page, "Designs on the Pareto front").rows
    links = [row[0].one("a").attributes["href"] for row in rows]
    assert links == [f"#design-{x.number}" for x in swept.front]
    with Store.open_read_only(path) as store:
        recorded = {run_anchor(x.id): store.best(x.id) for x in store.runs()}
    for design in swept.front:
        shown = page.by_id(f"design-{design.number}")
        table = grid(page.by_id(f"design-{design.number}-network-table"))
        assert table.values("Energy") == [x.energy for x in design.networks]
        runs = [x.removeprefix("#") for x in targets(shown) if x.startswith("#run-")]
        energies = {recorded[x].energy for x in runs}
        assert energies == {x.energy for x in design.networks}
    for anchor, best in recorded.items():
        layers = {x for x in ids(page) if x.startswith(f"{anchor}-layer-")}
        assert len({x for x in layers if x.removeprefix(f"{anchor}-layer-").isdigit()}) == len(
            best.layers
        )


def test_designs_with_several_cores_lead_to_their_schedules(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    plan = stream_plan(individuals=2, generations=1, lpf_limit=2)
    found = nestmap.sweep(write_core_space(tmp_path), plan=plan, store=path)
    with Store.open_read_only(path) as store:
        page = read(sweep_report(store, "cores"))
        recorded = {run_anchor(x.id) for x in store.runs()}
    places = ids(page)
    assert {x for x, n in places.items() if n > 1} == set()
    assert {x.removeprefix("#") for x in targets(page)} <= set(places)
    assert len(recorded) == 2 * len({x.number for x in found.front})
    for design in found.front:
        shown = page.by_id(f"design-{design.number}")
        runs = {x.removeprefix("#") for x in targets(shown) if x.startswith("#run-")}
        assert len(runs) == 2
        assert runs <= recorded
        assert all(f"{x}-schedule" in places for x in runs)


def test_names_are_never_markup(path: Path) -> None:
    with Store.open_read_only(path) as store:
        assert "<script>alert" not in sweep_report(store, HOSTILE)


def test_of_many_designs_some_have_pages(
    path: Path, swept: SweepResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_RUNS", 4)
    with Store.open_read_only(path) as store:
        page = read(sweep_report(store, "last"))
    shown = {x.removeprefix("#design-") for x in targets(page) if x.startswith("#design-")}
    assert len(swept.front) > 2
    assert shown == {str(swept.front[0].number), str(swept.front[-1].number)}
    assert f"2 of the {len(swept.front)} designs on the front have pages" in page.text


@pytest.mark.parametrize("reference", [True, False])
def test_without_runs_designs_have_their_accelerators(tmp_path: Path, reference: bool) -> None:
    path = tmp_path / "s.duckdb"
    found = nestmap.sweep(write_space(tmp_path), store=path, runs="none", reference=reference)
    with Store.open_read_only(path) as store:
        page = read(sweep_report(store, "small"))
    assert not any(x.startswith("#run-") for x in targets(page))
    for design in found.front:
        shown = page.by_id(f"design-{design.number}")
        assert "No run of this design is recorded" in shown.text
        assert ("nestmap explore --reference" in shown.text) is reference
        assert shown.one("pre").text.split() == found.accelerator_yaml(design).split()


def test_without_a_feasible_design_there_are_reasons(tmp_path: Path) -> None:
    text = SPACE.replace("memories.outlet.size: bits", "memories.reg.size: 8 + bits * 0")
    path = tmp_path / "s.duckdb"
    nestmap.sweep(write_space(tmp_path, text), store=path)
    with Store.open_read_only(path) as store:
        page = read(sweep_report(store, "small"))
    assert "18 have no figures:" in page.text


def test_both_commands_write_it(tmp_path: Path) -> None:
    file, store = write_space(tmp_path), tmp_path / "s.duckdb"
    one, other = tmp_path / "one.html", tmp_path / "other.html"
    ended = run("sweep", str(file), "--store", str(store), "--report", str(one))
    assert ended.code == 0
    ended = run("report", "small", "--store", str(store), "--output", str(other))
    assert ended.code == 0
    assert one.read_text() == other.read_text()
    assert "#design-" in one.read_text()
