"""Pages in headless Chromium that are watched: what they ask for, and what goes wrong in them."""

import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol, TypedDict, cast, final
from urllib.parse import urldefrag, urljoin

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    expect,
)

Theme = Literal["light", "dark"]
AXE_RULES: Final[Mapping[Theme, tuple[str, ...]]] = {
    "light": (),
    "dark": ("color-contrast", "link-in-text-block"),
}
"""The rules that a page is tested for, none: all; another theme changes colours and no more."""

Row = Mapping[str, str | float | bool]
"""A row of a chart's data."""

NOT_NETWORK: Final = ("data:", "blob:")
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_SERIOUS: Final = ("serious", "critical")
_PATIENCE: Final = 60_000
"""Milliseconds until a page that does not do what is expected is given up."""

_AXE: Final = files("axe_playwright_python") / "axe.min.js"
_SHOW: Final = "figure => figure.scrollIntoView({block: 'center', behavior: 'instant'})"
_TWO_FRAMES: Final = """() => new Promise(
    done => requestAnimationFrame(() => requestAnimationFrame(done)))"""
_KINDS: Final = ("bar", "point", "circle", "symbol")
_MARKS: Final = """(all, kinds) => all
    .filter(mark => kinds.includes(mark.ariaRoleDescription))
    .map(mark => [
      mark.ariaLabel, mark.getBBox().width, mark.getBBox().height, getComputedStyle(mark).fill
    ])"""


def chromium() -> str | None:
    """The browser of this machine."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Viewing(NamedTuple):
    """How a page is looked at: width of the window (pixels), theme of the system, with scripts?"""

    width: int = 1000
    theme: Theme = "light"
    scripts: bool = True


class Mark(NamedTuple):
    """A bar or a point of a chart: what it says, its size (pixels), its colour."""

    label: str
    width: float
    height: float
    color: str


class _Node(TypedDict):
    target: list[str]


class _Violation(TypedDict):
    """What axe-core says of a rule that is broken."""

    id: str
    help: str
    impact: str
    nodes: list[_Node]


class OpenPage(Protocol):
    """Opens a file or an address and gives the page.

    When the test ends, it fails if the page has told of a mistake or a warning, or has asked for
    anything but itself (a file) or what its own server has (an address).
    """

    def __call__(self, at: Path | str, viewing: Viewing = ..., /) -> Page: ...


@final
class Watched:
    """A page's mistakes, warnings and requests."""

    def __init__(self, page: Page, address: str) -> None:
        page_address = urldefrag(address).url
        self._home = page_address if _is_file(address) else urljoin(address, "/")
        self._faults: list[str] = []
        page.set_default_timeout(_PATIENCE)
        page.on("console", self._told)
        page.on("pageerror", lambda error: self._faults.append(f"error: {error}"))
        page.on("dialog", self._interrupted)
        page.on("request", self._asked)

    def taken(self) -> list[str]:
        """What went wrong since it was last asked for."""
        faults, self._faults = self._faults, []
        return faults

    def _told(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._faults.append(f"{message.type}: {message.text}")

    def _interrupted(self, dialog: Dialog) -> None:
        self._faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, request: Request) -> None:
        address = urldefrag(request.url).url
        if address.startswith(NOT_NETWORK):
            return
        file = _is_file(self._home)
        own = address == self._home if file else address.startswith(self._home)
        if not own:
            self._faults.append(f"request: {address}")


def _is_file(address: str) -> bool:
    return address.startswith("file:")


@final
class OpenedPages:
    """Pages that are opened, each in a context of its own, and what was wrong with them."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._watched: list[Watched] = []
        self._kept: dict[tuple[Path | str, Viewing], Page] = {}

    def open(self, at: Path | str, viewing: Viewing = Viewing(), /) -> Page:  # noqa: B008
        """A page that nobody else has."""
        address = at.as_uri() if isinstance(at, Path) else at
        context = self._browser.new_context(
            viewport={"width": viewing.width, "height": 800},
            color_scheme=viewing.theme,
            java_script_enabled=viewing.scripts,
        )
        self._contexts.append(context)
        page = context.new_page()
        self._watched.append(Watched(page, address))
        page.goto(address)
        return page

    def show(self, at: Path | str, viewing: Viewing = Viewing(), /) -> Page:  # noqa: B008
        """A page that others have looked at, too."""
        if (at, viewing) not in self._kept:
            self._kept[at, viewing] = self.open(at, viewing)
        return self._kept[at, viewing]

    def close(self) -> None:
        """Closes all pages."""
        for context in self._contexts:
            context.close()

    def check(self) -> None:
        """Something that was wrong with the pages since the last time is an error."""
        faults = [fault for each in self._watched for fault in each.taken()]
        assert not faults, "\n".join(faults)


@contextmanager
def opening(browser: Browser) -> Generator[OpenPage]:
    """Opens pages; in the end they are closed, and what was wrong with them is an error."""
    pages = OpenedPages(browser)
    yield pages.open
    pages.close()
    pages.check()


def settle(locator: Locator) -> None:
    """Waits for two frames: on a busy machine a click returns before the page has handled it."""
    locator.evaluate(_TWO_FRAMES)


def follow(page: Page, link: Locator) -> None:
    """Clicks a link within the page, and waits until the page shows where it leads."""
    link.click()
    expect(page.locator(str(link.get_attribute("href")))).to_be_visible()


def draw_charts(page: Page) -> list[Locator]:
    """Looks at each chart that is not hidden until it is drawn."""
    figures = page.locator("figure.chart:visible").all()
    for figure in figures:
        figure.evaluate(_SHOW)
        wait_until(page, "figure => figure.classList.contains('drawn')", figure)
    return figures


def wait_until(page: Page, holds: str, element: Locator) -> None:
    """Waits until a function (JavaScript) of the element gives something true."""
    page.wait_for_function(holds, arg=element.element_handle())


def chart_data(figure: Locator, table: str) -> Sequence[Row]:
    """A table of the data of a chart that is drawn, as the chart has it."""
    read = "(figure, table) => figure.nestmapView.data(table).map(row => ({...row}))"
    return cast(Sequence[Row], figure.evaluate(read, table))


def chart_marks(figure: Locator) -> list[Mark]:
    """The bars or points of a chart that is drawn: what they say, where they are."""
    marks = figure.locator("[role='graphics-symbol'][aria-label][aria-roledescription]")
    found = marks.evaluate_all(_MARKS, list(_KINDS))
    return [Mark(*mark) for mark in cast(Sequence[tuple[str, float, float, str]], found)]


def background(page: Page) -> tuple[int, ...]:
    """The colour of the page: red, green, blue from 0 to 255."""
    color = cast(str, page.evaluate("getComputedStyle(document.body).backgroundColor"))
    return tuple(int(x) for x in color.partition("(")[2].rstrip(")").split(",")[:3])


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return cast(int, page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def serious_violations(page: Page, rules: Sequence[str]) -> list[str]:
    """What axe-core finds wrong with the page by some of its rules; without any, by all."""
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    broken = "options => axe.run(options).then(results => results.violations)"
    return [
        f"{found['id']}: {found['help']} at {node['target']}"
        for found in cast(Sequence[_Violation], page.evaluate(broken, options))
        if found["impact"] in _SERIOUS
        for node in found["nodes"]
    ]
