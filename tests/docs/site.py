"""The built documentation site, read back."""

import re
import zlib
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, final
from urllib.parse import unquote, urlsplit

_LOADS: Final = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
"""What a browser fetches by itself, by element."""

_CSS_URL: Final = re.compile(r"(?:url\(|@import\s+)\s*[\"']?([^\"')\s]+)")
_HEADER_LINES: Final = 4


@final
@dataclass
class Page(HTMLParser):
    """A page: what links can point to, where its links point, and what it fetches."""

    path: Path
    anchors: set[str] = field(default_factory=set[str])
    links: list[str] = field(default_factory=list[str])
    fetched: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__()
        text = self.path.read_text(encoding="utf-8")
        self.feed(text)
        self.fetched += [url for url in _CSS_URL.findall("".join(_styles(text)))]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        self.links += [given["href"]] if tag == "a" and "href" in given else []
        self.fetched += [given[name] for name in _LOADS.get(tag, ()) if name in given]


@cache
def pages_of(site: Path) -> dict[Path, Page]:
    """All pages of a site by their paths; the site stays as it is."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def broken_links(site: Path) -> list[str]:
    """Links inside of the site that lead to no file, or to no place on a page."""
    pages = pages_of(site)
    return [
        f"{page.path.relative_to(site)}: {link}"
        for page in pages.values()
        for link in page.links
        if not is_outside(link) and not _leads_somewhere(site, page, link, pages)
    ]


def is_outside(url: str) -> bool:
    """Whether a browser would leave the site for it."""
    parts = urlsplit(url)
    return parts.scheme not in ("", "data") or bool(parts.netloc)


def fetched_outside(site: Path) -> list[str]:
    """What pages and style sheets fetch from elsewhere."""
    fetched = {path: page.fetched for path, page in pages_of(site).items()}
    for sheet in site.rglob("*.css"):
        fetched[sheet] = _CSS_URL.findall(sheet.read_text(encoding="utf-8"))
    return [
        f"{path.relative_to(site)}: {url}"
        for path, urls in fetched.items()
        for url in urls
        if is_outside(url)
    ]


def documented_names(site: Path) -> set[str]:
    """The names that the API reference describes, from its inventory."""
    header_and_names = (site / "objects.inv").read_bytes().split(b"\n", _HEADER_LINES)
    names = zlib.decompress(header_and_names[_HEADER_LINES]).decode()
    return {line.split(" ", 1)[0] for line in names.splitlines()}


def _styles(text: str) -> list[str]:
    return re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL)


def _leads_somewhere(site: Path, page: Page, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    base = site if parts.path.startswith("/") else page.path.parent  # the page of status 404 does
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else page.path
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return False
    return (
        not parts.fragment
        or target not in pages
        or unquote(parts.fragment) in pages[target].anchors
    )
