"""The page of the cost model: its functions exist, none is left out, its numbers are computed."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest
from latex2mathml.converter import convert

import nestmap.costmodel
import nestmap.model
import nestmap.search
from tests.docs.blocks import blocks_in
from tests.docs_pages.page import text_of, write_files

PAGE: Final = text_of("cost-model.md")
BLOCKS: Final = blocks_in(PAGE)
PROSE: Final = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
NAMED: Final = frozenset(re.findall(r"`(nestmap(?:\.\w+)+)`", PROSE))
LINKED: Final = re.findall(r"\[`(nestmap(?:\.\w+)+)`\]\(\.\./([^)]+)\)", PROSE)
FORMULAS: Final = [
    *(block.text for block in BLOCKS if block.language == "math"),
    *re.findall(r"\$([^$\n]+)\$", PROSE),
]


ANCHORS: Final = {
    re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())
    for title in re.findall(r"^#+ (.+)$", PROSE, flags=re.MULTILINE)
}
CITED: Final = re.compile(r"docs/cost-model\.md#([\w-]+)")
SOURCES: Final = [
    path
    for package in (nestmap.model, nestmap.costmodel, nestmap.search)
    for folder in package.__path__
    for path in sorted(Path(folder).rglob("*.py"))
]


def resolved(name: str) -> object:
    """What a full name stands for."""
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            module: object = import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[split:], module)
    raise AssertionError(f"{name} is nothing")


def modules() -> Iterator[ModuleType]:
    """All modules of the cost model, and the one of the bounds."""
    for found in pkgutil.walk_packages(nestmap.costmodel.__path__, "nestmap.costmodel."):
        yield import_module(found.name)
    yield import_module("nestmap.search.spatial.lower_bounds")


def public_names(module: ModuleType) -> Iterator[str]:
    """The full names of the functions and classes that a module defines for others."""
    for name, value in vars(module).items():
        plain = getattr(value, "py_func", value)  # of a compiled kernel
        is_defined = inspect.isfunction(plain) or inspect.isclass(plain)
        if is_defined and not name.startswith("_") and plain.__module__ == module.__name__:
            yield f"{module.__name__}.{name}"


def test_every_named_function_exists() -> None:
    assert len(NAMED) > 100
    for name in NAMED:
        assert resolved(name) is not None


def test_every_link_leads_to_the_file_that_defines_it() -> None:
    root = Path(__file__).parents[2]
    assert len(LINKED) > 100
    for name, path in LINKED:
        last = name.rsplit(".", 1)[1]
        assert re.search(rf"\b{last}\b", (root / path).read_text(encoding="utf-8")), (name, path)
        assert name.startswith(f"nestmap.{path.removesuffix('.py').replace('/', '.')}."), name


def test_every_anchor_that_a_source_cites_is_a_heading() -> None:
    cited = {
        (path.name, anchor)
        for path in SOURCES
        for anchor in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 20
    assert not {(name, anchor) for name, anchor in cited if anchor not in ANCHORS}


def test_no_source_cites_a_document_that_is_not_here() -> None:
    assert not [p for p in SOURCES if "spec section" in p.read_text(encoding="utf-8")]


def test_no_public_function_is_left_out() -> None:
    public = {name for module in modules() for name in public_names(module)}
    assert len(public) > 90
    assert public - NAMED == set()


def test_every_number_is_what_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(BLOCKS, tmp_path)
    known: dict[str, object] = {}
    blocks = [block for block in BLOCKS if block.language == "python"]
    assert sum(block.text.count("assert ") for block in blocks) > 70
    for block in blocks:
        lines = "\n" * (block.line - 1) + block.text
        exec(compile(lines, "docs/cost-model.md", "exec"), known)


def test_every_example_asserts_something() -> None:
    """Every formula but those of what is only named has numbers put in."""
    sections = re.split(r"^##+ ", PAGE, flags=re.MULTILINE)
    for section in sections:
        if "```math" in section:
            assert "assert " in section, section.splitlines()[0]


@pytest.mark.parametrize("formula", sorted(set(FORMULAS)))
def test_every_formula_becomes_mathml(formula: str) -> None:
    mathml = convert(formula, display="block")
    assert mathml.startswith("<math")
    assert "\\" not in mathml  # an unknown command is passed through as it stands
