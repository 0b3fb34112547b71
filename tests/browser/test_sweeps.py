"""The page of a sweep: a design that is marked is marked in both charts and in the table."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator

import nestmap
from nestmap.pipeline.pages.report.recorded_sweep import sweep_report
from nestmap.pipeline.pages.report.sweep_page import sweep_document
from nestmap.store import Store
from tests.browser.pages import AXE_RULES, OpenPage, draw_charts, serious_violations, settle
from tests.pipeline.sweep.spaces import SPACE, write_space


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    file = folder / "sweep.html"
    text = SPACE.replace("[energy, latency]", "[energy, latency, area]")
    found = nestmap.sweep(write_space(folder, text))
    file.write_text(sweep_document(found.summary), encoding="utf-8")
    return file


def chosen(figure: Locator) -> object:
    return figure.evaluate("figure => figure.nestmapView.signal('chosen')")


def test_a_design_is_marked_everywhere(open_page: OpenPage, page_file: Path) -> None:
    page = open_page(page_file)
    figures = draw_charts(page)
    assert len(figures) == 2
    rows = page.locator("#sweep-table tbody tr")
    number = int(rows.nth(0).locator("th").inner_text())
    rows.nth(0).locator("td").first.click()
    settle(rows.nth(0))
    assert [chosen(x) for x in figures] == [[number], [number]]
    assert page.locator("#sweep-table tr.marked").count() == 1
    assert page.locator(".designs .switch output").inner_text() == f"design {number} marked"
    point = figures[0].locator(f"[aria-label*='design {number}:']").first
    point.click()
    settle(point)
    assert [chosen(x) for x in figures] == [[], []]
    assert page.locator("#sweep-table tr.marked").count() == 0


def test_all_marks_are_removed_at_once(open_page: OpenPage, page_file: Path) -> None:
    page = open_page(page_file)
    figures = draw_charts(page)
    rows = page.locator("#sweep-table tbody tr")
    for n in range(2):
        rows.nth(n).locator("td").first.click()
    page.locator(".unmark").click()
    settle(rows.nth(0))
    assert chosen(figures[1]) == []
    assert page.locator(".unmark").is_disabled()


@pytest.fixture(scope="module")
def recorded_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    file, store = folder / "sweep.html", folder / "store.duckdb"
    nestmap.sweep(write_space(folder), store=store)
    with Store.open_read_only(store) as opened:
        file.write_text(sweep_report(opened, "small"), encoding="utf-8")
    return file


def test_the_front_leads_to_a_design_and_on_to_its_layers(
    open_page: OpenPage, recorded_file: Path
) -> None:
    """One page is shown at a time."""
    page = open_page(recorded_file)
    front = page.locator("#sweep-table a").first
    design = page.locator(front.get_attribute("href") or "")
    assert not design.is_visible()
    front.click()
    settle(design)
    assert design.is_visible()
    assert not page.locator("#sweep").is_visible()
    link = design.locator("a[href^='#run-']").first
    run = page.locator(link.get_attribute("href") or "")
    link.click()
    settle(run)
    assert run.is_visible()
    assert run.locator("table").first.is_visible()
    assert not design.is_visible()
    page.locator(".bar-top nav a").first.click()
    settle(page.locator("#sweep"))
    assert page.locator("#sweep").is_visible()


def test_the_page_can_be_read_by_all(open_page: OpenPage, page_file: Path) -> None:
    page = open_page(page_file)
    draw_charts(page)
    assert not serious_violations(page, AXE_RULES["light"])
