"""The pictures of the report in docs/images: ``python -m tests.browser.screenshots``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from nestmap.pipeline.explore.api import explore
from nestmap.pipeline.pages.report.page import report
from nestmap.store import Store
from tests.browser.pages import chromium

IMAGES: Final = Path(__file__).parent.parent.parent / "docs" / "images"
NETWORK: Final = "light:resnet50"
MACHINES: Final = ("tpu_like", "edge_tpu_like")

_WIDE: Final[ViewportSize] = {"width": 1280, "height": 900}
_PHONE: Final[ViewportSize] = {"width": 360, "height": 720}
_TO: Final = "element => element.scrollIntoView({behavior: 'instant'})"
_IN_SIGHT: Final = """() => [...document.querySelectorAll('figure.chart')].filter(figure => {
  const { top, bottom } = figure.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}).every(figure => figure.classList.contains('drawn'))"""


class Shot(NamedTuple):
    """A picture: its file, the page, what stands on top of it, the window."""

    name: str
    page: str
    top: str
    viewport: ViewportSize = _WIDE
    theme: Literal["light", "dark"] = "light"
    density: float = 1.0


SHOTS: Final = (
    Shot("report-summary", "one", "body"),
    Shot("report-layer", "one", "section.pane:not([hidden])", {"width": 1280, "height": 1150}),
    Shot("report-comparison", "two", "#comparison", {"width": 1280, "height": 1000}),
    Shot("report-dark", "one", "section[id$=-charts]", theme="dark"),
    Shot("report-phone", "one", "section[id$=-layers]", _PHONE, density=2.0),
)


def main() -> None:
    """Explores, reports, and takes all pictures."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = dict(_pages(Path(folder)))
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for shot in SHOTS:
            _take(started, shot, pages[shot.page])
        started.close()


def _pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """The reports, written to a folder."""
    with Store.open(None) as store:
        runs = [explore(NETWORK, name, store=store).run for name in MACHINES]
        for name, some in (("one", runs[:1]), ("two", runs)):
            path = folder / f"{name}.html"
            path.write_text(report(store, some), encoding="utf-8")
            yield name, path


def _take(browser: Browser, shot: Shot, path: Path) -> None:
    context = browser.new_context(
        viewport=shot.viewport, color_scheme=shot.theme, device_scale_factor=shot.density
    )
    page = context.new_page()
    page.goto(path.as_uri())
    page.locator(shot.top).first.evaluate(_TO)
    _settle(page)
    page.locator(shot.top).first.evaluate(_TO)  # charts above it have grown meanwhile
    _settle(page)
    page.screenshot(path=IMAGES / f"{shot.name}.png")
    context.close()


def _settle(page: Page) -> None:
    page.wait_for_timeout(300)
    page.wait_for_function(_IN_SIGHT)


if __name__ == "__main__":
    main()
