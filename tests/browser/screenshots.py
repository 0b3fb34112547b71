"""The pictures of web pages in docs/images: ``python -m tests.browser.screenshots``."""

from collections.abc import Callable, Generator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from nestmap.model import Objective, RunLabel
from nestmap.pipeline.explore.api import explore
from nestmap.pipeline.pages.report.page import report
from nestmap.store import Store
from tests.browser.pages import chromium
from tests.pipeline.pages.explorer.visits import visiting

IMAGES: Final = Path(__file__).parent.parent.parent / "docs" / "images"
NETWORK: Final = "light:resnet50"
MACHINES: Final = ("tpu_like", "edge_tpu_like")


class Run(NamedTuple):
    """An exploration: network, accelerator, objective, and what it is called."""

    network: str
    machine: str
    objective: Objective
    name: str | None = None
    tags: tuple[str, ...] = ()


RUNS: Final = (
    Run("light:bvlc_alexnet", "tpu_like", Objective.LATENCY, "first look"),
    Run("light:squeezenet", "eyeriss_like", Objective.ENERGY, "baseline", ("paper", "fig4")),
    Run("light:squeezenet", "edge_tpu_like", Objective.ENERGY, "larger buffers", ("paper",)),
    Run("light:bvlc_alexnet", "tpu_like", Objective.ENERGY),
)
QUESTION: Final = """\
SELECT part.memory, part.operand, sum(part.energy) AS energy, sum(part.accesses) AS accesses
FROM results JOIN breakdowns AS part ON part.cme = results.cme
GROUP BY ALL ORDER BY energy DESC"""

_WIDE: Final[ViewportSize] = {"width": 1280, "height": 900}
_PHONE: Final[ViewportSize] = {"width": 360, "height": 720}
_EXPLORER: Final[ViewportSize] = {"width": 1320, "height": 460}
_SQL: Final[ViewportSize] = {"width": 1180, "height": 720}
_TO: Final = "element => element.scrollIntoView({behavior: 'instant'})"
_IN_SIGHT: Final = """() => [...document.querySelectorAll('figure.chart')].filter(figure => {
  const { top, bottom } = figure.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}).every(figure => figure.classList.contains('drawn'))"""


def _select(page: Page) -> None:
    for box in page.locator("tbody input[type=checkbox]").all()[:2]:
        box.check()


def _ask(page: Page) -> None:
    page.fill("#sql", QUESTION)
    page.press("#sql", "Control+Enter")
    page.locator("#answer tbody td").first.wait_for()


class Shot(NamedTuple):
    """A picture: its file, the page, what stands on top of it, the window, what is done first."""

    name: str
    page: str
    top: str
    viewport: ViewportSize = _WIDE
    theme: Literal["light", "dark"] = "light"
    density: float = 1.0
    prepare: Callable[[Page], None] | None = None


SHOTS: Final = (
    Shot("report-summary", "one", "body"),
    Shot("report-layer", "one", "section.pane:not([hidden])", {"width": 1280, "height": 1150}),
    Shot("report-comparison", "two", "#comparison", {"width": 1280, "height": 1000}),
    Shot("report-dark", "one", "section[id$=-charts]", theme="dark"),
    Shot("report-phone", "one", "section[id$=-layers]", _PHONE, density=2.0),
    Shot("explorer-runs", "explorer", "body", _EXPLORER, prepare=_select),
    Shot("explorer-sql", "sql", "body", _SQL, prepare=_ask),
)


def main() -> None:
    """Explores, reports, and takes all pictures."""
    with (
        TemporaryDirectory() as folder,
        chdir(folder),  # pages show the path of the store
        _pages(Path(folder)) as pages,
        sync_playwright() as playwright,
    ):
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for shot in SHOTS:
            _take(started, shot, pages[shot.page])
        started.close()


@contextmanager
def _pages(folder: Path) -> Generator[dict[str, str]]:
    """The addresses of reports, written to a folder, and of an explorer while it serves."""
    path = Path("nestmap.duckdb")
    with Store.open(None) as store:
        runs = [explore(NETWORK, name, store=store).run for name in MACHINES]
        reports = {"one": report(store, runs[:1]), "two": report(store, runs)}
    for name, text in reports.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    pages = {name: (folder / f"{name}.html").as_uri() for name in reports}
    for x in RUNS:
        explore(
            x.network,
            x.machine,
            objective=x.objective,
            label=RunLabel.of(x.name, x.tags),
            store=path,
        )
    with visiting(path) as visitor:
        yield pages | {"explorer": visitor.address, "sql": f"{visitor.address}sql"}


def _take(browser: Browser, shot: Shot, address: str) -> None:
    context = browser.new_context(
        viewport=shot.viewport, color_scheme=shot.theme, device_scale_factor=shot.density
    )
    page = context.new_page()
    page.goto(address)
    if shot.prepare is not None:
        shot.prepare(page)
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
