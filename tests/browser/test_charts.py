"""The charts of a report: their marks are what the store says, and they do what readers ask."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from nestmap.model import CostModelEvaluation
from nestmap.pipeline.analysis.network.roofline import points
from nestmap.pipeline.analysis.network.scatter import clouds
from nestmap.pipeline.render.text.plain_table import printable
from nestmap.store import Store
from tests.browser.pages import (
    Mark,
    OpenPage,
    Viewing,
    chart_data,
    chart_marks,
    draw_charts,
    wait_until,
)
from tests.browser.samples import MACHINE_NAME, Explored, network

NUMBER = re.compile(r"([\d,.]+) (pJ|cycles|%)$")
LINES = 66
"""The height of three more lines of a legend in pixels."""
CHARTS = ("energy", "latency", "memories", "utilization", "roofline")
CAUSES: Mapping[str, str] = {
    "stall": "stall",
    "on-loading": "onloading",
    "off-loading": "offloading",
    "ideal": "ideal_cycles",
}


def drawn(page: Page, name: str) -> Locator:
    """The first chart of that name, once it is drawn."""
    figure = page.locator(f"figure.chart[data-chart='{name}']:visible").first
    figure.scroll_into_view_if_needed()
    wait_until(page, "figure => figure.classList.contains('drawn')", figure)
    return figure


def cmes_of(explored: Explored, run: int = 0) -> list[CostModelEvaluation]:
    return [result.cme for result in explored.runs[run].evaluation.layers]


def told(mark: Mark) -> float:
    """The number that a mark tells."""
    found = NUMBER.search(mark.label)
    assert found, mark.label
    return float(found[1].replace(",", ""))


@pytest.mark.smoke
def test_all_charts_are_drawn_without_asking_for_anything(
    show_page: OpenPage, run_report: Path
) -> None:
    figures = draw_charts(show_page(run_report))
    names = [figure.get_attribute("data-chart") for figure in figures]
    assert sorted(filter(None, names)) == sorted([*CHARTS, "mappings"])


@pytest.mark.parametrize("width", [1200, 360])
def test_drawing_a_chart_moves_nothing_below_it(
    open_page: OpenPage, run_report: Path, width: int
) -> None:
    """Or else a reader who is about to click something else hits what has moved there."""
    page = open_page(run_report, Viewing(width))
    figures = page.locator("figure.chart:visible").all()
    reserved = [_height(figure) for figure in figures]
    draw_charts(page)
    drawn_heights = [_height(figure) for figure in figures]
    moved = [b - a for a, b in zip(reserved, drawn_heights, strict=True)]
    assert all(abs(height) <= LINES for height in moved), moved


def _height(figure: Locator) -> float:
    box = figure.bounding_box()
    assert box is not None
    return box["height"]


def test_energies_are_those_of_the_store(
    show_page: OpenPage, run_report: Path, explored_store: Explored
) -> None:
    figure = drawn(show_page(run_report), "energy")
    cmes = cmes_of(explored_store)
    expected = {
        (printable(cme.layer), entry.memory): sum(
            x.costs.energy for x in cme.levels if x.memory == entry.memory
        )
        for cme in cmes
        for entry in cme.levels
    }
    expected |= {(printable(cme.layer), "MACs"): cme.mac_energy for cme in cmes}
    marks, rows = chart_marks(figure), chart_data(figure, "bars")
    assert len(marks) == len(rows) == sum(map(bool, expected.values()))
    for mark in marks:
        layer, _, part = mark.label.rpartition(":")[0].rpartition(", ")
        assert told(mark) == pytest.approx(expected[layer, part], rel=1e-14)
    sums = [sum(float(x["value"]) for x in rows if x["row"] == i) for i in range(len(cmes))]
    assert sums == pytest.approx([cme.energy for cme in cmes], rel=1e-14)


def test_cycles_are_those_of_the_store(
    show_page: OpenPage, run_report: Path, explored_store: Explored
) -> None:
    marks = chart_marks(drawn(show_page(run_report), "latency"))
    by_label = {mark.label.rpartition(":")[0]: told(mark) for mark in marks}
    for cme in cmes_of(explored_store):
        for cause, field in CAUSES.items():
            found = by_label.get(f"{printable(cme.layer)}, {cause}", 0.0)
            assert found == float(getattr(cme, field))


def test_bars_are_as_long_as_what_they_tell(show_page: OpenPage, run_report: Path) -> None:
    page = show_page(run_report)
    for name in ("energy", "latency", "memories", "utilization"):
        marks = [mark for mark in chart_marks(drawn(page, name)) if mark.width > 20]
        assert len(marks) > 5
        scales = [mark.width / told(mark) for mark in marks]
        assert scales == pytest.approx([scales[0]] * len(scales), rel=0.02)


def test_utilizations_are_those_of_the_store(
    show_page: OpenPage, run_report: Path, explored_store: Explored
) -> None:
    figure = drawn(show_page(run_report), "utilization")
    found = [row["value"] for row in chart_data(figure, "bars") if row["part"] == 0]
    assert found == [cme.utilization for cme in cmes_of(explored_store)]


def test_the_roofline_has_a_point_for_each_layer_and_memory(
    show_page: OpenPage, run_report: Path, explored_store: Explored
) -> None:
    figure = drawn(show_page(run_report), "roofline")
    expected = points(explored_store.runs[0].evaluation, network("machine").accelerator)
    found = [(row["x"], row["y"], row["binding"]) for row in chart_data(figure, "points")]
    assert found == [(p.intensity, p.performance, p.binding) for p in expected]
    assert len(chart_marks(figure)) == len(expected)


def test_mappings_are_those_that_the_store_has_recorded(
    show_page: OpenPage, run_report: Path, explored_store: Explored
) -> None:
    figure = drawn(show_page(run_report), "mappings")
    run = explored_store.runs[0]
    slowest = max(run.evaluation.layers, key=lambda result: result.cme.latency).cme
    with Store.open_read_only(explored_store.path) as store:
        found = clouds(store.costs(run.id, slowest.layer))
    costs = [(e, t) for cloud in found for e, t in zip(cloud.energy, cloud.latency, strict=True)]
    rows = chart_data(figure, "mappings")
    shown = [cost for row in rows for cost in [(row["y"], row["x"])] * int(row["count"])]
    assert sorted(shown) == sorted(costs)
    rows = chart_data(figure, "front")
    (chosen,) = ((row["y"], row["x"]) for row in rows if row["kind"] == "chosen mapping")
    assert chosen == (slowest.energy, slowest.latency)
    front = [(row["y"], row["x"]) for row in rows if row["kind"] == "Pareto front"]
    assert front == sorted(one for one in set(costs) if not any(better(x, one) for x in costs))


def better(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one has less energy or latency and not more of the other."""
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def test_compared_runs_are_those_of_the_store(
    open_page: OpenPage, runs_report: Path, explored_store: Explored
) -> None:
    page = open_page(runs_report)
    totals = chart_data(drawn(page, "total-energy"), "bars")
    layers = chart_data(drawn(page, "layer-latency"), "bars")
    for run, found in enumerate(explored_store.runs):
        total = sum(float(row["value"]) for row in totals if row["row"] == run)
        assert total == pytest.approx(found.evaluation.energy, rel=1e-14)
        latencies = [row["value"] for row in layers if row["part"] == run]
        assert latencies == [cme.latency for cme in cmes_of(explored_store, run)]
    assert any(MACHINE_NAME in mark.label for mark in chart_marks(drawn(page, "layer-energy")))


def test_charts_follow_the_theme(open_page: OpenPage, run_report: Path) -> None:
    page = open_page(run_report)
    figure = drawn(page, "energy")
    light, paper = chart_marks(figure)[0].color, figure.locator("svg.marks")
    assert brightness(colors_of(paper)) > 200
    page.locator("#theme").click()
    wait_until(page, "figure => figure.nestmapView?.signal('dark')", figure)
    assert brightness(colors_of(paper)) < 80
    assert chart_marks(figure)[0].color != light
    assert chart_marks(drawn(page, "roofline"))
    dark = page.locator("figure.chart:visible").last
    dark.scroll_into_view_if_needed()
    wait_until(page, "figure => figure.nestmapView?.signal('dark')", dark)


def colors_of(element: Locator) -> tuple[int, ...]:
    """The colour behind an element: red, green, blue."""
    color = str(element.evaluate("element => getComputedStyle(element).backgroundColor"))
    return tuple(map(int, re.findall(r"\d+", color)[:3]))


def brightness(color: tuple[int, ...]) -> float:
    return sum(color) / len(color)


def test_a_click_in_the_legend_fades_the_others(open_page: OpenPage, run_report: Path) -> None:
    page = open_page(run_report)
    figure = drawn(page, "latency")
    figure.locator(".role-legend-label text").filter(has_text="stall").click()
    faded = """figure => [...figure.querySelectorAll("path[aria-label*=ideal]")]
        .every(mark => mark.getAttribute("opacity") < 0.5)"""
    wait_until(page, faded, figure)
    clear = figure.locator("path[aria-label*='stall']").first
    assert float(clear.get_attribute("opacity") or 1) == 1


def test_a_tooltip_says_it_exactly_and_runs_no_markup(
    open_page: OpenPage, run_report: Path
) -> None:
    page = open_page(run_report)
    figure = drawn(page, "energy")
    mark = max(chart_marks(figure), key=lambda found: found.width)
    figure.locator(f"path[aria-label={quoted(mark.label)}]").hover()
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    layer = mark.label.rpartition(":")[0].rpartition(", ")[0]
    assert layer in tooltip.inner_text()
    assert mark.label.rpartition(": ")[2] in tooltip.inner_text()
    assert tooltip.locator("img, script, svg").count() == 0
    assert page.evaluate("window.hacked") is None


def quoted(text: str) -> str:
    """A text in a selector."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_a_chart_can_be_saved_and_leads_nowhere(open_page: OpenPage, run_report: Path) -> None:
    page = open_page(run_report)
    figure = drawn(page, "energy")
    figure.locator("summary").click()
    links = figure.locator(".vega-actions a")
    assert links.all_inner_texts() == ["Save as SVG", "Save as PNG"]
    with page.expect_download() as saved:
        links.first.click()
    assert saved.value.suggested_filename == "energy.svg"
    assert saved.value.path().read_text(encoding="utf-8").startswith("<svg")
    with page.expect_download() as saved:
        links.last.click()
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")


def test_the_wheel_scrolls_the_page_and_with_ctrl_zooms(
    open_page: OpenPage, run_report: Path
) -> None:
    page = open_page(run_report)
    figure = drawn(page, "roofline")
    figure.locator("svg.marks").hover()
    domain = "figure => figure.nestmapView.scale('x').domain()[0]"
    before, place = figure.evaluate(domain), page.evaluate("scrollY")
    page.mouse.wheel(0, 40)
    page.wait_for_function("place => scrollY !== place", arg=place)
    assert figure.evaluate(domain) == before
    figure.locator("svg.marks").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -40)
    page.keyboard.up("Control")
    zoomed = "([figure, before]) => figure.nestmapView.scale('x').domain()[0] > before"
    page.wait_for_function(zoomed, arg=[figure.element_handle(), before])


def test_hidden_charts_are_there_on_paper_and_fit_when_they_are_shown(
    open_page: OpenPage, runs_report: Path
) -> None:
    page = open_page(runs_report)
    drawn(page, "total-energy")
    hidden = page.locator("figure.chart[data-chart='energy']").first
    assert not hidden.is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    every = page.locator("figure.chart").count()
    page.wait_for_function(
        "count => document.querySelectorAll('figure.drawn').length === count", arg=every
    )
    width = "figure => figure.nestmapView.width()"
    blind = hidden.evaluate(width)
    page.locator(".bar-top nav a").nth(1).click()
    hidden.scroll_into_view_if_needed()
    wait_until(page, f"figure => figure.nestmapView.width() !== {blind}", hidden)


@pytest.mark.parametrize("width", [360, 1400])
def test_charts_are_as_wide_as_their_figures(
    open_page: OpenPage, run_report: Path, width: int
) -> None:
    for figure in draw_charts(open_page(run_report, Viewing(width))):
        drawing = figure.locator("svg.marks").bounding_box()
        room = figure.bounding_box()
        assert drawing
        assert room
        assert room["width"] * 0.6 < drawing["width"] <= room["width"]
