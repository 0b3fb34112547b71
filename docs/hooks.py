"""What the site adds to docs/: documents beside it, links to files beside it, MathML."""

import posixpath
import re
from html import unescape
from pathlib import Path
from typing import Final

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/NOTES.md": "measured.md",
}
"""Documents outside of docs/, and the pages that they become."""

_SOURCES: Final = {page: source for source, page in PAGES.items()}
_LINK: Final = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_FORMULA: Final = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL
)


def on_files(files: Files, /, config: MkDocsConfig) -> Files:
    """Adds the documents outside of docs/ as pages."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, /, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they work in the repository become links that work in the site."""
    here = page.file.src_uri
    if here == "index.md":
        page.meta["hide"] = ["navigation"]

    def rewritten(link: re.Match[str]) -> str:
        source = posixpath.join(posixpath.dirname(_in_repository(here)), link[1])
        target = _in_site(posixpath.normpath(source), config, files)
        if target is None:
            return link[0]
        return f"]({posixpath.relpath(target, posixpath.dirname(here))}{link[2] or ''})"

    return _LINK.sub(rewritten, markdown)


def on_page_content(html: str, /, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas in LaTeX become MathML, which browsers show without a script."""

    def rendered(formula: re.Match[str]) -> str:
        display = "block" if formula[2] == "[" else "inline"
        return convert(unescape(formula[3]), display=display)

    return _FORMULA.sub(rendered, html)


def _in_repository(uri: str) -> str:
    return _SOURCES.get(uri, f"docs/{uri}")


def _in_site(path: str, config: MkDocsConfig, files: Files) -> str | None:
    """Where the site has a file of the repository; a file that is no page is added as text."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if not (ROOT / path).is_file():
        return None
    copy = f"source/{path}.txt"
    if files.get_file_from_path(copy) is None:
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, copy, content=text))
    return copy
