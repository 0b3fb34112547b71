"""The explorer in a browser: the SQL box, and every page without a mistake or a foreign request."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import (
    AXE_RULES,
    OpenPage,
    Theme,
    Viewing,
    draw_charts,
    overflow,
    serious_violations,
)
from tests.pipeline.pages.explorer.stores import NASTY, two_runs
from tests.pipeline.pages.explorer.visits import Visitor, visiting

ENDLESS = "SELECT count(*) FROM range(1000000000000)"
LAYER = f"run/last/layer?{urlencode({'name': NASTY[0]})}"


@pytest.fixture(scope="module", name="visitor")
def _visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    path = tmp_path_factory.mktemp("explorer") / "store.duckdb"
    two_runs(path)
    with visiting(path) as visitor:
        yield visitor


def ask(page: Page, sql: str) -> None:
    page.fill("#sql", sql)
    page.press("#sql", "Control+Enter")


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"#answer tbody tr td:nth-child({number})").all_inner_texts()


def test_questions_are_answered_in_the_page(visitor: Visitor, open_page: OpenPage) -> None:
    page = open_page(visitor.address + "sql")
    ask(page, "SELECT i AS number, 'x' || i AS text FROM (VALUES (9), (10), (2)) AS t(i)")
    expect(page.locator("#answer tbody tr")).to_have_count(3)
    assert column(page, 1) == ["9", "10", "2"]
    page.click("#answer thead button >> text=number")
    assert column(page, 1) in (["2", "9", "10"], ["10", "9", "2"])
    page.click("#answer thead button >> text=text")
    assert column(page, 2) == ["x2", "x9", "x10"]
    assert page.url == visitor.address + "sql"
    ask(page, "SELECT 7 AS y")
    expect(page.locator("#answer tbody td")).to_have_text(["7"])


def test_what_is_wrong_is_shown_in_place(visitor: Visitor, open_page: OpenPage) -> None:
    page = open_page(visitor.address + "sql")
    for sql, told in (
        ("SELECT * FORM runs", "syntax error"),
        ("DROP TABLE runs", "read-only mode"),
        ("FROM read_text('/etc/passwd')", "Permission Error"),
    ):
        ask(page, sql)
        expect(page.locator("#result .error")).to_contain_text(told)
        expect(page.locator("#sql")).to_have_attribute("aria-invalid", "true")
        assert page.input_value("#sql") == sql
    ask(page, "SELECT 1 AS x")
    expect(page.locator("#answer")).to_be_visible()
    expect(page.locator(".error")).to_have_count(0)
    expect(page.locator("#sql")).to_have_attribute("aria-invalid", "false")


def test_a_question_is_cancelled(visitor: Visitor, open_page: OpenPage) -> None:
    page = open_page(visitor.address + "sql")
    expect(page.locator(".cancel")).to_be_hidden()
    ask(page, ENDLESS)
    page.click(".cancel")
    expect(page.locator("#ask output")).to_have_text("Cancelled.")
    expect(page.locator(".cancel")).to_be_hidden()
    ask(page, "SELECT 5 AS x")
    expect(page.locator("#answer tbody td")).to_have_text(["5"])


def test_an_answer_is_saved(visitor: Visitor, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(visitor.address + "sql?sql=SELECT+1+AS+x")
    with page.expect_download() as waiting:
        page.click("text=Save as CSV")
    waiting.value.save_as(tmp_path / "answer.csv")
    assert waiting.value.suggested_filename == "answer.csv"
    assert (tmp_path / "answer.csv").read_text().split() == ["x", "1"]


def test_a_named_query_is_written_into_the_box(visitor: Visitor, open_page: OpenPage) -> None:
    page = open_page(visitor.address + "sql")
    page.select_option("select[name=query]", "per_layer")
    page.click("text=Write it into the box")
    expect(page.locator("#sql")).to_have_value(re.compile(r'SELECT \* FROM "per_layer"\(.*\)'))
    page.click("button.main")
    expect(page.locator("#answer tbody tr")).to_have_count(3)


def test_without_scripts_the_answer_is_a_page(visitor: Visitor, open_page: OpenPage) -> None:
    page = open_page(visitor.address + "sql", Viewing(scripts=False))
    page.fill("#sql", "SELECT 6 AS x")
    page.click("button.main")
    expect(page.locator("#answer tbody td")).to_have_text(["6"])


def test_names_do_nothing(visitor: Visitor, open_page: OpenPage) -> None:
    """An alert would be a mistake, which ``open_page`` finds."""
    page = open_page(visitor.address + "sql")
    ask(page, "SELECT layer FROM results")
    expect(page.locator("#answer")).to_contain_text("<script>alert('x')</script>")


@pytest.mark.smoke
def test_one_walks_through_all_pages(visitor: Visitor, open_page: OpenPage) -> None:
    page = open_page(visitor.address)
    page.fill("form.filter input", "script")
    expect(page.locator("#runs tbody tr:visible")).to_have_count(1)
    page.fill("form.filter input", "")
    for box in page.locator("#runs input[type=checkbox]").all():
        box.check()
    page.click("text=Compare the chosen runs")
    expect(page.locator("h1")).to_have_text("2 runs compared")
    page.go_back()
    page.locator("#runs tbody a").first.click()
    expect(page.locator("#content h1")).to_contain_text("<script>")
    draw_charts(page)  # they move what is below by a line or two
    page.locator("table.sortable tbody th a").last.click()
    expect(page.locator("h1")).to_contain_text("two")
    page.click("text=Previous layer")
    expect(page.locator("h1")).to_contain_text("a/../b?c#d%41%zz &+;=")
    page.click("text=Schema")
    page.click("text=Ask for its rows >> nth=0")
    assert page.input_value("#sql").startswith("SELECT * FROM ")


@pytest.mark.parametrize("at", ["", "sql", "schema", "run/last", LAYER])
@pytest.mark.parametrize("width", [1200, 360])
def test_pages_are_for_everybody(
    visitor: Visitor, open_page: OpenPage, at: str, width: int
) -> None:
    page = open_page(visitor.address + at, Viewing(width))
    check_page(page, width, "light")
    page.emulate_media(color_scheme="dark")
    page.reload()
    check_page(page, width, "dark")


def check_page(page: Page, width: int, theme: Theme) -> None:
    """Its window is wide enough, and axe-core finds nothing serious."""
    assert overflow(page) <= 0
    if width > 1000:
        assert serious_violations(page, AXE_RULES[theme]) == []
