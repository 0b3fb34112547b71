"""Everything public says what it is: modules, classes, functions, methods."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs.blocks import ROOT

PACKAGES: Final = ("costmodel", "model", "pipeline", "search", "store")
MODULES: Final = (
    ROOT / "src" / "nestmap" / "__init__.py",
    *(path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))),
)
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("package", ["src", *PACKAGES])
def test_everything_public_has_a_docstring(package: str) -> None:
    modules = [path for path in MODULES if path.is_relative_to(ROOT / package)]
    assert modules
    assert [name for path in modules for name in undocumented(path)] == []


def undocumented(path: Path) -> list[str]:
    """What is public in a module and has no docstring."""
    name = path.relative_to(ROOT).as_posix()
    module = ast.parse(path.read_text(encoding="utf-8"))
    silent = [
        f"{name}:{x.lineno} {x.name}" for x in definitions(module) if not ast.get_docstring(x)
    ]
    return silent if ast.get_docstring(module) else [name, *silent]


def definitions(inside: ast.Module | Definition) -> Iterator[Definition]:
    """The public definitions of a module or class, and those inside of its public classes."""
    for node in inside.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node)


def test_what_has_none_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text('class A:\n    """A."""\n\n    def f(self): ...\n    def _g(self): ...\n')
    assert undocumented(path) == ["module.py", "module.py:4 f"]
