"""A browser for the tests of this folder, and pages in it that are watched."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.pages import OpenedPages, OpenPage, chromium, opening
from tests.browser.samples import Explored, explored, written


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves most of what needs the browser to ``make stress``."""
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and item.path.parent == Path(__file__).parent
            and "browser" in item.fixturenames
            and item.get_closest_marker("smoke") is None
        ):
            item.add_marker("stress")


@pytest.fixture(scope="package")  # not longer: while it is there, nothing else can use asyncio
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: .ci/chromium.sh installs it where it can")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages, and in the end checks that nothing went wrong in them."""
    with opening(browser) as opened:
        yield opened


@pytest.fixture(scope="module", name="shown_pages")
def _shown_pages(browser: Browser) -> Iterator[OpenedPages]:
    pages = OpenedPages(browser)
    yield pages
    pages.close()
    pages.check()


@pytest.fixture
def show_page(shown_pages: OpenedPages) -> Iterator[OpenPage]:
    """Shows pages that other tests of the module may have looked at, for tests that only look.

    Charts may be drawn already, and another part of the page be shown than in the beginning.
    """
    yield shown_pages.show
    shown_pages.check()


@pytest.fixture(scope="session")
def explored_store(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    """A store with three runs under names that are hard to show."""
    return explored(tmp_path_factory.mktemp("browser") / "runs.duckdb")


@pytest.fixture(scope="session")
def run_report(explored_store: Explored) -> Path:
    """The report of the first of these runs."""
    return written(explored_store, 1)


@pytest.fixture(scope="session")
def runs_report(explored_store: Explored) -> Path:
    """The report of all of them."""
    return written(explored_store, len(explored_store.runs))
