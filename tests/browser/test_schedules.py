"""The report of schedules: charts that say what happens when, and share the time that they show."""

from collections.abc import Sequence
from math import floor
from pathlib import Path
from typing import cast

import pytest
from playwright.sync_api import Locator, Page, expect

from nestmap.pipeline.pages.report.multicore.page import stream_report
from nestmap.pipeline.render.text.plain_table import printable
from tests.browser.pages import (
    AXE_RULES,
    OpenPage,
    Theme,
    Viewing,
    chart_data,
    chart_marks,
    draw_charts,
    follow,
    overflow,
    serious_violations,
    wait_until,
)
from tests.pipeline.pages.report.multicore.streams import NAMES, hostile, large, reported
from tests.pipeline.render.schedules import pipelined, streamed

TIMES = ("overview", "schedule", "memories", "wires")
OTHERS = ("schedule-energy", "layer-energies", "core-time", "sent-wires", "sent-cores")
SPAN = "figure => figure.nestmapView.scale('x').domain()"
SHOWN = "figure => figure.nestmapView.signal('zoom_start')"


@pytest.fixture(scope="module")
def schedule_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schedule whose names are hard to show."""
    return written(tmp_path_factory, stream_report([reported(hostile())]))


@pytest.fixture(scope="module")
def schedules_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schedules: layer by layer, and row by row."""
    runs = [reported(pipelined(5, 1, 3), "run-1"), reported(hostile(), "run-2")]
    return written(tmp_path_factory, stream_report(runs))


@pytest.fixture(scope="module")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schedule of more bars than are drawn at a time."""
    return written(tmp_path_factory, stream_report([reported(large())]))


def written(factory: pytest.TempPathFactory, text: str) -> Path:
    path = factory.mktemp("schedules") / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


def drawn(page: Page, name: str) -> Locator:
    """The chart of that name, once it is drawn."""
    figure = page.locator(f"figure.chart[data-chart='{name}']:visible").first
    figure.scroll_into_view_if_needed()
    wait_until(page, "figure => figure.classList.contains('drawn')", figure)
    return figure


def span_of(figure: Locator) -> list[float]:
    """From when to when a chart shows the time."""
    return cast(list[float], figure.evaluate(SPAN))


def wait_for_span(page: Page, figure: Locator, expected: Sequence[float]) -> None:
    near = f"""([figure, expected]) => ({SPAN})(figure)
        .every((time, i) => Math.abs(time - expected[i]) < 0.01 * (expected[1] - expected[0]))"""
    page.wait_for_function(near, arg=[figure.element_handle(), list(expected)])


def test_all_charts_are_drawn_without_asking_for_anything(
    show_page: OpenPage, schedule_report: Path
) -> None:
    figures = draw_charts(show_page(schedule_report))
    names = [figure.get_attribute("data-chart") for figure in figures]
    assert sorted(filter(None, names)) == sorted([*TIMES, *OTHERS, "allocations"])


def test_bars_are_where_and_when_nodes_run(show_page: OpenPage, schedule_report: Path) -> None:
    schedule = hostile()
    figure = drawn(show_page(schedule_report), "schedule")
    marks = [mark for mark in chart_marks(figure) if " runs, " in mark.label]
    layers = [printable(layer.nest.name) for layer in schedule.problem.nodes.layers]
    cores = {core.id: core.name for core in schedule.problem.accelerator.compute_cores}
    columns = (schedule.core.tolist(), schedule.start.tolist(), schedule.end.tolist())
    expected = {
        f"core {core}: {cores[core]}: {layers[i // 4]} {i % 4} runs, {start} cycles to {end} cycles"
        for i, (core, start, end) in enumerate(zip(*columns, strict=True))
    }
    assert {mark.label for mark in marks} == expected
    widths = [mark.width for mark in marks]
    assert widths == pytest.approx([widths[0]] * len(widths), rel=0.05)


def test_a_step_of_the_buttons_zooms_all_charts(open_page: OpenPage, schedule_report: Path) -> None:
    page, latency = open_page(schedule_report), hostile().latency
    figures = [drawn(page, name) for name in TIMES]
    output = page.locator(".time output")
    expect(output).to_have_text(f"cycles 0 to {latency}")
    page.get_by_role("button", name="Zoom in").click()
    first, last = (floor(part * latency + 0.5) for part in (1 / 4, 3 / 4))
    expect(output).to_have_text(f"cycles {first} to {last}")
    for figure in figures[1:]:
        wait_for_span(page, figure, (latency / 4, latency * 3 / 4))
    assert span_of(figures[0]) == [0, latency]
    before = len(chart_marks(figures[1]))
    page.get_by_role("button", name="Later").click()
    wait_for_span(page, figures[1], (latency / 2, latency))
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Earlier").click()
    wait_for_span(page, figures[2], (latency / 2, latency * 3 / 4))
    assert len(chart_marks(figures[1])) < before
    page.get_by_role("button", name="All").click()
    wait_for_span(page, figures[1], (0, latency))
    expect(output).to_have_text(f"cycles 0 to {latency}")


def test_dragging_over_the_overview_chooses_what_the_others_show(
    open_page: OpenPage, schedule_report: Path
) -> None:
    page = open_page(schedule_report, Viewing(1200))
    overview, schedule = drawn(page, "overview"), drawn(page, "schedule")
    overview.scroll_into_view_if_needed()
    box = overview.locator(".background").first.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], y)
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    page.mouse.up()
    latency = hostile().latency
    wait_for_span(page, schedule, (0.25 * latency, 0.5 * latency))


def test_the_wheel_with_ctrl_zooms_a_chart_and_all_follow(
    open_page: OpenPage, schedule_report: Path
) -> None:
    page = open_page(schedule_report, Viewing(1200))
    schedule, memories = drawn(page, "schedule"), drawn(page, "memories")
    schedule.locator("svg.marks").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    wait_until(page, f"figure => ({SHOWN})(figure)", memories)
    first, last = span_of(schedule)
    assert 0 < last - first < hostile().latency
    wait_for_span(page, memories, (first, last))


def test_finer_bars_come_where_less_of_the_time_is_shown(
    open_page: OpenPage, large_report: Path
) -> None:
    page, schedule = open_page(large_report, Viewing(1200)), large()
    figure = drawn(page, "schedule")
    kept = chart_data(figure, "bars")
    assert {row.get("fine", 0) for row in kept} == {0, 1}
    joined = [row for row in kept if not row.get("fine")]
    assert sum(float(row.get("count", 1)) for row in joined) == len(kept) - len(joined)
    together = [mark for mark in chart_marks(figure) if " more runs" in mark.label]
    assert together
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    middle, width = schedule.latency / 2, schedule.latency / 16
    wait_for_span(page, figure, (middle - width / 2, middle + width / 2))
    alone = "figure => !figure.querySelector('[aria-label*=\" more runs\"]')"
    wait_until(page, alone, figure)
    shown = ((schedule.end >= middle - width / 2) & (schedule.start <= middle + width / 2)).sum()
    assert sum(" runs, " in mark.label for mark in chart_marks(figure)) == shown


def test_a_click_on_an_allocation_writes_it_out(open_page: OpenPage, schedule_report: Path) -> None:
    page = open_page(schedule_report, Viewing(1200))
    figure = drawn(page, "allocations")
    marks = figure.locator("path[aria-label*='on the last front']")
    marks.first.click()
    words = "figure.querySelector('.role-mark.mark-text text')?.textContent"
    written_out = f"figure => {words}?.includes('0: core ')"
    wait_until(page, written_out, figure)


def test_layers_are_sorted_and_filtered(open_page: OpenPage, schedule_report: Path) -> None:
    page = open_page(schedule_report)
    table = page.locator("#run-1-table")
    head = table.locator("thead th").nth(7)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    last = hostile().problem.nodes.layers[-1].nest.name
    expect(table.locator("tbody tr").first.locator("th")).to_have_text(last)
    page.locator("form.filter input[name=text]").fill("attention")
    expect(page.locator("form.filter output")).to_have_text(f"1 of {len(NAMES)} shown")


def test_compared_schedules_share_their_time(open_page: OpenPage, schedules_report: Path) -> None:
    page = open_page(schedules_report, Viewing(1200))
    one, other = drawn(page, "schedule-1"), drawn(page, "schedule-2")
    assert span_of(one) == span_of(other)
    page.locator("#comparison").get_by_role("button", name="Zoom in").click()
    latency = max(pipelined(5, 1, 3).latency, hostile().latency)
    for figure in (one, other):
        wait_for_span(page, figure, (latency / 4, latency * 3 / 4))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    open_page: OpenPage, schedules_report: Path, theme: Theme
) -> None:
    page = open_page(schedules_report, Viewing(theme=theme))
    for link in page.locator(".bar-top nav a").all()[:2]:
        follow(page, link)
        draw_charts(page)
        assert serious_violations(page, AXE_RULES[theme]) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_is_wide_enough(open_page: OpenPage, schedules_report: Path, theme: Theme) -> None:
    page = open_page(schedules_report, Viewing(360, theme))
    for link in page.locator(".bar-top nav a").all():
        follow(page, link)
        draw_charts(page)
        assert overflow(page) == 0


def test_names_are_text_and_never_run(show_page: OpenPage, schedule_report: Path) -> None:
    page = show_page(schedule_report)
    draw_charts(page)
    text = page.locator("main").inner_text()
    assert all(printable(name) in text for name in NAMES)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main svg[onload]").count() == 0


def test_all_text_is_there_without_scripts(open_page: OpenPage, schedule_report: Path) -> None:
    page = open_page(schedule_report, Viewing(scripts=False))
    figures = page.locator("figure.chart")
    assert figures.count() == len(TIMES) + len(OTHERS) + 1
    assert all(text.strip() for text in figures.locator(".alternative").all_inner_texts())
    expect(page.locator(".js-only:visible")).to_have_count(0)
    page.locator("summary").filter(has_text="Nodes as they start").click()
    expect(page.locator("table").filter(has_text="Nodes as they start")).to_be_visible()


def test_streams_are_bars_on_their_wire(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(stream_report([reported(streamed())]), encoding="utf-8")
    figure = drawn(open_page(path), "schedule")
    labels = [mark.label for mark in chart_marks(figure)]
    assert sum(" streamed from core 9 to 0, " in label for label in labels) >= 1
