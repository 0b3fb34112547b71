"""The documentation site builds without a warning and needs nothing from outside."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import ismodule
from pathlib import Path
from pkgutil import walk_packages
from types import MappingProxyType
from typing import Final

import pytest

import nestmap
from tests.docs.blocks import DOCUMENTS, ROOT, name_of
from tests.docs.site import broken_links, documented_names, fetched_outside, pages_of

INNER: Final = MappingProxyType(
    {
        "nestmap.pipeline.render.notebook": "how models show themselves in a notebook",
        "nestmap.pipeline.cli": "the command line",
        "nestmap.pipeline.render.charts": "the charts of the report",
    }
)
"""Packages that are of no use by themselves, with what they are for."""

LINK: Final = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` does it: any warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = build_site(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def build_site(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Builds a site."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "-f", str(config), "-d", str(folder)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.stress
def test_every_document_is_a_page(site: Path) -> None:
    titles = {page.path.relative_to(site).as_posix() for page in pages_of(site).values()}
    here = {name_of(d).removeprefix("docs/") for d in DOCUMENTS if d.is_relative_to(ROOT / "docs")}
    expected = {name.removesuffix(".md").replace("README", "index") + ".html" for name in here}
    outside = {"overview.html", "changelog.html", "contributing.html", "measured.html"}
    assert expected | outside <= titles


@pytest.mark.stress
def test_links_lead_somewhere(site: Path) -> None:
    assert broken_links(site) == []


@pytest.mark.stress
def test_the_hooks_did_their_work(site: Path) -> None:
    formulas = (site / "cost-model.html").read_text(encoding="utf-8")
    assert "<math" in formulas
    assert "arithmatex" not in formulas
    assert (site / "source" / "costmodel" / "stall.py.txt").is_file()  # the page links to it
    for page in (site / "api").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r":(func|class|mod):", text), page
        assert "<blockquote" not in text, page  # what a doctest is to Markdown


@pytest.mark.stress
def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert fetched_outside(site) == []


@pytest.mark.stress
def test_public_names_are_in_the_reference(site: Path) -> None:
    packages = {x.name for x in walk_packages(nestmap.__path__, "nestmap.") if x.ispkg}
    assert packages >= INNER.keys()
    outer = ["nestmap", *(packages - INNER.keys())]
    names = {f"{package}.{name}" for package in outer for name in public_names(package)}
    assert len(names) > 150
    assert names - documented_names(site) == set()


def public_names(package: str) -> Iterator[str]:
    """What ``from package import name`` is meant to give."""
    module = import_module(package)
    if hasattr(module, "__all__"):
        yield from (x for x in module.__all__ if not ismodule(getattr(module, x)))
        return
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    yield from re.findall(r"^(?:from \S+ import |    )(?:\w+ as )(\w+),?$", text, re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_work_in_the_repository_too(document: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    targets = LINK.findall(text)
    assert [t for t in targets if not (document.parent / t).exists()] == []


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="b.html"></a><a href="#x"></a><a href="#y"></a>'
        '<script src="https://cdn.example/x.js"></script><style>a{background:url(//e/f.png)}</style>'
    )
    (tmp_path / "c.css").write_text("@import 'http://fonts.example/f.css'; a{b:url(data:x)}")
    assert broken_links(tmp_path) == ["a.html: b.html", "a.html: #y"]
    assert fetched_outside(tmp_path) == [
        "a.html: https://cdn.example/x.js",
        "a.html: //e/f.png",
        "c.css: http://fonts.example/f.css",
    ]
