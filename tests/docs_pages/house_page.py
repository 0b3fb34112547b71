"""The tree in docs/design.md; ``python -m tests.docs_pages.house_page`` writes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.docs_pages.page import DOCS

ROOT: Final = DOCS.parent
PAGE: Final = DOCS / "design.md"
ROOMS: Final = ("model", "costmodel", "search", "store", "pipeline")
BEGIN: Final = "<!-- the tree is written by tests/docs_pages/house_page.py -->\n```text\n"
END: Final = "```\n"


def tree() -> str:
    """Every folder of the package, indented by depth, with the sentence of its ``__init__``."""
    rows = [row for room in ROOMS for row in _rows(ROOT / room, 0)]
    width = max(len(name) for name, _ in rows) + 2
    return "".join(f"{name:<{width}}{sentence}\n" for name, sentence in rows)


def _rows(folder: Path, depth: int) -> Iterator[tuple[str, str]]:
    yield "    " * depth + folder.name + "/", _sentence(folder / "__init__.py")
    for inner in sorted(folder.iterdir()):
        if (inner / "__init__.py").is_file():
            yield from _rows(inner, depth + 1)


def _sentence(face: Path) -> str:
    docstring = ast.get_docstring(ast.parse(face.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n\n")[0].replace("\n", " ")


def drawn_tree() -> str:
    """The tree as the page has it."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write() -> None:
    """Brings the page up to date."""
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(head + begin + tree() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write()
