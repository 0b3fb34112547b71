"""The page of a sweep: its front as a table and as charts, which have the figures of the result."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import altair as alt
import pytest

import nestmap
from nestmap import SweepResult
from nestmap.model.design_space.expression import Expression
from nestmap.model.design_space.objective import SweepObjective
from nestmap.pipeline.analysis.sweep.designs_view import labelled
from nestmap.pipeline.pages.report.sweep_page import sweep_body, sweep_document
from nestmap.pipeline.render.charts import sweep as chart_module
from nestmap.pipeline.render.charts import sweep_charts
from nestmap.pipeline.sweep.record.recorded_summary import read_summary
from nestmap.store import Store
from tests.pipeline.cli.inputs import run
from tests.pipeline.pages.report.dom import captioned, read
from tests.pipeline.render.charts.read import rows_of
from tests.pipeline.render.sweeps import AREA, ENERGY, HOSTILE, LATENCY, LOSS, PRODUCT, designs
from tests.pipeline.sweep.spaces import SPACE, write_space


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return nestmap.sweep(write_space(tmp_path_factory.mktemp("space")))


def test_the_table_has_the_front_and_its_links(swept: SweepResult) -> None:
    page = read(str(sweep_body(swept.summary, lambda number: f"/design/{number}")))
    table = captioned(page, "Designs on the Pareto front")
    assert [row[0].text for row in table.rows] == [str(x.number) for x in swept.front]
    energies = [float(row[-4].attributes["data-value"]) for row in table.rows]
    assert energies == [x.energy for x in swept.front]
    links = {x.attributes["href"] for x in page.every("a")}
    assert links == {f"/design/{x.number}" for x in swept.front}
    assert "Least energy" in page.text


def test_without_links_there_are_none(swept: SweepResult) -> None:
    assert not list(read(str(sweep_body(swept.summary))).every("a"))
    assert sweep_document(swept.summary).startswith("<!doctype html>")


def test_charts_have_every_design(swept: SweepResult) -> None:
    front, parallel = sweep_charts(swept.view)
    rows = rows_of(front, "designs")
    assert {(x["design"], str(x["mapped"])): (x["y"], x["x"]) for x in rows} == {
        (float(x.number), x.mapped_for.value): (x.energy, x.latency) for x in swept.points
    }
    kinds = {(x["design"], str(x["mapped"])) for x in rows if str(x["kind"]) == "Pareto front"}
    assert kinds == {(float(x.number), x.mapped_for.value) for x in swept.front}
    heights = rows_of(parallel, "places")
    assert len(heights) == len(swept.points) * 5  # lanes, words, has_outlet, energy, latency
    assert all(0 <= x["height"] <= 1 for x in heights)
    assert f"Least energy: design {swept.best('energy').number}" in front.summary


@pytest.mark.parametrize(
    "objectives",
    [(ENERGY,), (ENERGY, LATENCY), (ENERGY, LATENCY, AREA), (PRODUCT, LOSS), (LOSS, AREA)],
)
@pytest.mark.parametrize(("number", "each"), [(1, 1), (50, 1), (17, 3)])
def test_charts_are_valid(number: int, each: int, objectives: tuple[SweepObjective, ...]) -> None:
    view = designs(number, objectives, HOSTILE, each=each)
    charts = sweep_charts(view)
    pairs = list(combinations([labelled(x) for x in view.objectives], 2))
    names = ["designs", *(f"designs-{n + 1}" for n in range(1, len(pairs)))][: len(pairs)]
    assert [x.name for x in charts] == [*names, "parallel"]
    for chart, (up, across) in zip(charts, pairs, strict=False):
        assert chart.title == f"{up.label} over {across.label}"
    for chart in charts:
        alt.LayerChart.from_json(chart.spec)  # validates


@pytest.mark.parametrize("number", [1, 30, 400])
def test_designs_on_the_front_have_their_numbers_where_there_is_room(number: int) -> None:
    view = designs(number, each=3)
    front, _ = sweep_charts(view)
    rows = rows_of(front, "numbers")
    places: list[int] = view.front_places.tolist()
    on_front = {view.numbers[n] for n in places}
    shown = [int(x["design"]) for x in rows]
    assert len(set(shown)) == len(shown) > 0
    assert set(shown) <= on_front
    if number == 1:
        assert shown == [0]
    points = {(x["design"], x["y"], x["x"]) for x in rows_of(front, "designs")}
    assert {(x["design"], x["y"], x["x"]) for x in rows} <= points


@pytest.mark.parametrize(
    ("constraint", "limit"),
    [
        ("area < 2", ("area", 2.0)),
        ("2 * 3 >= area", ("area", 6.0)),
        ("memories.sram.size <= 8", ("memories.sram.size", 8.0)),
        ("area + 1 < 2", None),
        ("1 < area < 2", None),
        ("area == area", None),
        ("area < lanes", None),
        ("area != 3", None),
        ("words == 'few'", None),
        ("has_outlet == True", None),
        ("area < 1 / 0", None),
    ],
)
def test_the_limit_of_a_constraint(constraint: str, limit: tuple[str, float] | None) -> None:
    assert Expression(text=constraint).limit == limit


@pytest.mark.parametrize("limits", [(), (2.5,), (2.5, 3.0)])
def test_constraints_are_drawn_where_they_remove_designs(limits: tuple[float, ...]) -> None:
    view = designs(20, (ENERGY, AREA))
    energy, area = view.objectives
    limited = replace(view, objectives=(energy, area._replace(limits=limits)))
    front, _ = sweep_charts(limited)
    drawn = rows_of(front, "limits")
    assert [x["x"] for x in drawn] == list(limits)
    assert ("strokeDash" in front.spec) is bool(limits)


@pytest.mark.parametrize(
    ("limit", "widens"), [(0.001, False), (0.6, True), (9.0, True), (99.0, False)]
)
def test_a_limit_far_away_does_not_hide_the_designs(limit: float, widens: bool) -> None:
    """Areas are from 1 to 5."""
    view = designs(20, (ENERGY, AREA))
    energy, area = view.objectives
    assert (area.values.min(), area.values.max()) == (1, 5)

    def domain(limits: tuple[float, ...]) -> object:
        column = area._replace(limits=limits)
        front, _ = sweep_charts(replace(view, objectives=(energy, column)))
        layers = json.loads(front.spec)["layer"]
        return layers[0]["encoding"]["x"]["scale"]["domain"]

    assert (domain((limit,)) != domain(())) is widens


def test_a_sweep_knows_the_limits_of_its_objectives(tmp_path: Path) -> None:
    conditions = "[area < 1000000, has_outlet == (1 > 0)]"
    goals = f"objectives: [energy, area]\nconstraints: {conditions}"
    text = SPACE.replace("objectives: [energy, latency]", goals)
    store = tmp_path / "sweeps.duckdb"
    file = write_space(tmp_path, text)
    found = nestmap.sweep(file, store=store, runs="none")
    with Store.open_read_only(store) as opened:
        views = found.view, read_summary(found.space.name, opened).view
    for view in views:
        assert [x.limits for x in view.objectives] == [(), (1e6,)]


def test_charts_have_expressions_by_their_text() -> None:
    view = designs(20, (LOSS, AREA))
    front, _ = sweep_charts(view)
    assert front.title == "-energy (\u00d7 10^9) over Area (a.u.)"
    least = view.objectives[0].values.min()
    told = f"Least -energy: design {view.objectives[0].values.argmin()}, -energy {least / 1e9:,.4g}"
    assert f"{told} \u00d7 10^9." in front.summary


def test_facts_and_columns_of_expressions_have_their_values(tmp_path: Path) -> None:
    goals = "objectives: [latency, {name: cost, of: energy * area}]"
    text = SPACE.replace("objectives: [energy, latency]", goals)
    found = nestmap.sweep(write_space(tmp_path, text))
    page = read(str(sweep_body(found.summary)))
    assert "Least cost" in page.text
    table = captioned(page, "Designs on the Pareto front")
    costs = [float(row[-2].attributes["data-value"]) for row in table.rows]
    assert costs == [x.figure(found.space.objectives[1]) for x in found.front]


def test_of_many_dominated_designs_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    points, lines = 1000, 150  # enough for a comma in the summary
    monkeypatch.setattr(chart_module, "MOST_POINTS", points)
    monkeypatch.setattr(chart_module, "MOST_LINES", lines)
    view = designs(2 * points)
    front, parallel = sweep_charts(view)
    best = int(view.on_front.sum())
    assert len(rows_of(front, "designs")) == points + best
    assert len(rows_of(parallel, "designs")) == lines + best
    assert f"{points + best:,} of {len(view):,} points are drawn" in front.summary


def test_a_sweep_without_a_feasible_design_has_reasons_only(tmp_path: Path) -> None:
    text = SPACE.replace("memories.outlet.size: bits", "memories.reg.size: 8 + bits * 0")
    page = read(str(sweep_body(nestmap.sweep(write_space(tmp_path, text)).summary)))
    assert "18 have no figures:" in page.text
    assert not list(page.every("table"))


def test_the_command_writes_it(tmp_path: Path) -> None:
    file, report = write_space(tmp_path), tmp_path / "sweep.html"
    ended = run("sweep", str(file), "--report", str(report))
    assert ended.code == 0
    assert "Sweep small" in report.read_text()
    ended = run("sweep", str(file), "--report", str(file))
    assert ended.code == 2
    assert "which is used already" in ended.err
