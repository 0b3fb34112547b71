"""The report as readers use it: sorted, filtered, by keyboard, in the dark, on a phone."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from nestmap.model import LayerResult
from nestmap.pipeline.render.text.plain_table import printable
from tests.browser.pages import (
    AXE_RULES,
    OpenPage,
    Theme,
    Viewing,
    background,
    draw_charts,
    follow,
    overflow,
    serious_violations,
    settle,
)
from tests.browser.samples import HOSTILE, MACHINE_NAME, Explored

NUMBERS: Mapping[str, Callable[[LayerResult], float]] = {
    "MACs": lambda result: result.cme.macs,
    "Energy": lambda result: result.cme.energy,
    "Latency": lambda result: result.cme.latency,
    "MAC util.": lambda result: result.cme.utilization,
    "EDP": lambda result: result.cme.energy * result.cme.latency,
    "Mappings": lambda result: result.statistics.evaluations,
}
"""The figures behind the columns of the table of layers."""

MOST_TABS = 200


def layers_of(page: Page) -> Locator:
    """The table of layers."""
    return page.locator("section[id$='-layers'] table.sortable").first


def names_of(table: Locator) -> list[str]:
    """The layers of the rows that are shown, from the top."""
    settle(table)
    return table.locator("tbody tr:visible th[scope=row]").all_inner_texts()


def numbers_of(table: Locator, column: int) -> list[float]:
    """The exact figures of a column, from the top."""
    cells = table.locator(f"tbody tr > :nth-child({column + 1})")
    return [float(cell.get_attribute("data-value") or "nan") for cell in cells.all()]


def sorted_columns(table: Locator) -> list[str]:
    """How which columns are sorted."""
    settle(table)
    heads = table.locator("thead th[aria-sort]").all()
    return [f"{head.inner_text()} {head.get_attribute('aria-sort')}" for head in heads]


def test_each_column_of_numbers_is_sorted_by_the_exact_figures(
    open_page: OpenPage, run_report: Path, explored_store: Explored
) -> None:
    page = open_page(run_report)
    draw_charts(page)  # they move what is below by a line or two
    table = layers_of(page)
    titles = [text.split("\n")[0] for text in table.locator("thead th").all_inner_texts()]
    for title, number in NUMBERS.items():
        column = next(i for i, found in enumerate(titles) if found.startswith(title))
        values = [number(result) for result in explored_store.runs[0].evaluation.layers]
        head = table.locator("thead th").nth(column)
        for descending in (True, False):
            head.get_by_role("button").click()
            order = "descending" if descending else "ascending"
            expect(head).to_have_attribute("aria-sort", order)
            assert numbers_of(table, column) == sorted(values, reverse=descending)
            assert len(sorted_columns(table)) == 1


def test_every_column_can_be_sorted(open_page: OpenPage, run_report: Path) -> None:
    table = layers_of(open_page(run_report))
    buttons = table.locator("thead th button")
    assert buttons.count() == table.locator("thead th").count()
    for button in buttons.all():
        button.click()
        first = names_of(table)
        before = sorted_columns(table)
        button.click()
        assert sorted(names_of(table)) == sorted(first)
        assert sorted_columns(table) != before
    assert len(sorted_columns(table)) == 1


def test_names_sort_up_and_down_and_the_total_stays_last(
    open_page: OpenPage, run_report: Path
) -> None:
    table = layers_of(open_page(run_report))
    before = names_of(table)
    button = table.locator("thead th").nth(1).get_by_role("button")
    button.click()
    up = names_of(table)
    button.click()
    assert names_of(table) == up[::-1]
    assert sorted(up) == sorted(before)
    assert up.index("plain") < up.index("two\\nlines")
    assert table.locator("tfoot").inner_text().split()[1] == "total"


def test_rows_are_filtered_and_counted(open_page: OpenPage, run_report: Path) -> None:
    page = open_page(run_report)
    form, table = page.locator("form.filter").first, layers_of(page)
    count = len(HOSTILE)
    expect(form.locator("output")).to_have_text(f"{count} of {count} shown")
    form.get_by_label("Filter").fill("SELF/query")
    assert names_of(table) == [HOSTILE[-1]]
    expect(form.locator("output")).to_have_text(f"1 of {count} shown")
    form.get_by_label("Filter").fill("nothing like it")
    assert names_of(table) == []
    form.get_by_label("Filter").fill("")
    form.get_by_label("Operator").select_option("<Op>")
    assert names_of(table) == [HOSTILE[4]]
    form.get_by_label("Operator").select_option("")
    form.get_by_label("different ones only").check()
    assert len(names_of(table)) == count - 2
    expect(form.locator("output")).to_have_text(f"{count - 2} of {count} shown")


def shown_layer(page: Page) -> str:
    """The heading of the layer that is explained."""
    panes = page.locator("section.pane.layer:visible")
    expect(panes).to_have_count(1)
    return panes.locator("h3").inner_text()


def test_one_layer_is_explained_at_a_time(open_page: OpenPage, run_report: Path) -> None:
    page = open_page(run_report)
    select = page.locator(".switch select")
    assert shown_layer(page).removeprefix("Layer ") in map(printable, HOSTILE)
    for name in ("plain", "two\\nlines"):
        select.select_option(label=name)
        page.wait_for_url(re.compile("#run-.*-layer-"))
        expect(page.locator("section.pane.layer:visible h3")).to_have_text(f"Layer {name}")
    page.go_back()
    expect(page.locator("section.pane.layer:visible h3")).to_have_text("Layer plain")
    page.go_forward()
    expect(page.locator("section.pane.layer:visible h3")).to_have_text("Layer two\\nlines")


def test_a_name_in_the_table_leads_to_its_explanation(
    open_page: OpenPage, run_report: Path
) -> None:
    page = open_page(run_report)
    links = layers_of(page).locator("tbody th a")
    for i, name in enumerate(HOSTILE):
        links.nth(i).click()
        expect(page.locator("section.pane.layer:visible h3")).to_have_text(
            f"Layer {printable(name)}"
        )
    address = page.url
    again = open_page(address)
    assert shown_layer(again) == f"Layer {printable(HOSTILE[-1])}"


def test_previous_and_next_step_through_the_layers(open_page: OpenPage, run_report: Path) -> None:
    page = open_page(run_report)
    page.locator(".switch select").select_option(index=0)
    previous, following = (page.get_by_role("button", name=name) for name in ("Previous", "Next"))
    expect(previous).to_be_disabled()
    seen = [shown_layer(page)]
    while following.is_enabled():
        following.click()
        expect(page.locator("section.pane.layer:visible h3")).not_to_have_text(seen[-1])
        seen.append(shown_layer(page))
    assert seen == [f"Layer {printable(name)}" for name in HOSTILE]


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until the focus is on an element."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            outline = "parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
            assert page.evaluate(outline) >= 2, "the focus cannot be seen"
            return
    pytest.fail(f"Tab does not reach {selector}")


def test_everything_can_be_done_by_keyboard(open_page: OpenPage, run_report: Path) -> None:
    page = open_page(run_report)
    tab_to(page, "a.skip")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("#content$"))
    tab_to(page, "form.filter input[name=text]")
    page.keyboard.type("plain")
    assert names_of(layers_of(page)) == ["plain"]
    tab_to(page, "thead th:nth-child(7) button")
    page.keyboard.press("Enter")
    assert len(sorted_columns(layers_of(page))) == 1
    tab_to(page, ".switch select")
    before = shown_layer(page)
    page.keyboard.press("ArrowDown")
    expect(page.locator("section.pane.layer:visible h3")).not_to_have_text(before)


def test_the_theme_is_that_of_the_system_until_one_is_chosen(
    open_page: OpenPage, run_report: Path
) -> None:
    page = open_page(run_report, Viewing(theme="dark"))
    assert max(background(page)) < 60
    button = page.get_by_role("button", name="Dark mode")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert min(background(page)) > 200
    page.emulate_media(color_scheme="light")
    button.click()
    assert max(background(page)) < 60


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_is_wide_enough(open_page: OpenPage, runs_report: Path, theme: Theme) -> None:
    page = open_page(runs_report, Viewing(360, theme))
    for link in page.locator(".bar-top nav a").all():
        follow(page, link)
        draw_charts(page)
        assert overflow(page) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(show_page: OpenPage, runs_report: Path, theme: Theme) -> None:
    page = show_page(runs_report, Viewing(theme=theme))
    for link in page.locator(".bar-top nav a").all()[:2]:
        follow(page, link)
        draw_charts(page)
        assert serious_violations(page, AXE_RULES[theme]) == []


def test_names_are_text_and_never_run(show_page: OpenPage, runs_report: Path) -> None:
    page = show_page(runs_report)
    for link in page.locator(".bar-top nav a").all():
        follow(page, link)
        draw_charts(page)
        text = page.locator("main").inner_text()
        assert all(printable(name) in text for name in HOSTILE)
    assert MACHINE_NAME in page.locator("main").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main b[onmouseover], svg[onload]").count() == 0


def test_all_text_is_there_without_scripts(open_page: OpenPage, runs_report: Path) -> None:
    page = open_page(runs_report, Viewing(scripts=False))
    expect(page.locator("section.pane.layer:visible")).to_have_count(3 * len(HOSTILE))
    expect(page.locator("article.run:visible")).to_have_count(3)
    figures = page.locator("figure.chart")
    assert figures.count() > 10
    assert all(text.strip() for text in figures.locator(".alternative").all_inner_texts())
    expect(page.locator(".js-only:visible")).to_have_count(0)
    expect(page.get_by_text("Stands for 1 more layer").first).to_be_visible()


def test_runs_are_shown_one_at_a_time(open_page: OpenPage, runs_report: Path) -> None:
    page = open_page(runs_report)
    expect(page.locator("article:visible")).to_have_count(1)
    expect(page.locator("#comparison")).to_be_visible()
    for link in page.locator(".bar-top nav a").all()[1:]:
        link.click()
        expect(page.locator("article:visible")).to_have_count(1)
        expect(page.locator(f"article{link.get_attribute('href')}")).to_be_visible()
        expect(link).to_have_attribute("aria-current", "true")
