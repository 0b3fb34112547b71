"""A browser for the tests of a module, and pages in it that are watched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.pages import OpenPage, chromium, opening
from tests.browser.samples import Explored, explored, written


@pytest.fixture(scope="module")  # not longer: while it is there, nothing else can use asyncio
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
