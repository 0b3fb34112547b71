"""Pages that do something wrong are found out."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.pages import opening

WRONG = {
    "warning: careful": "<script>console.warn('careful')</script>",
    "error: no": "<script>console.error('no')</script>",
    "error: lacking is not defined": "<script>lacking()</script>",
    "request: ": "<img src='picture.png'>",
    "dialog: hello": "<script>alert('hello')</script>",
}


@pytest.mark.parametrize(("fault", "body"), WRONG.items())
def test_what_a_page_does_wrong_fails_the_test(
    browser: Browser, tmp_path: Path, fault: str, body: str
) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>page</title>{body}")
    with pytest.raises(AssertionError, match=fault), opening(browser) as open_page:
        open_page(page).wait_for_load_state("networkidle")


def test_a_page_that_does_nothing_wrong_passes(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>page</title><script>console.log('fine')</script>")
    with opening(browser) as open_page:
        assert open_page(page).title() == "page"
