"""The tree in docs/design.md; ``python -m tests.docs_pages.house_page`` writes it."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.docs_pages.page import DOCS

ROOT: Final = DOCS.parent
PAGE: Final = DOCS / "design.md"
BEGIN: Final = "<!-- the tree is written by tests/docs_pages/house_page.py -->\n```text\n"
END: Final = "```\n"


def tree() -> str:
    """Every folder of the package, indented by depth, with the sentence of its ``__init__``.

    Rooms stand in the order of the layers in pyproject.toml, lowest first.
    """
    layers = _layers()
    rows = [row for room in layers["nestmap"] for row in _rows(ROOT / room, layers)]
    width = max(len(name) for name, _ in rows) + 2
    return "".join(f"{name:<{width}}{sentence}\n" for name, sentence in rows)


def _rows(folder: Path, layers: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    parts = folder.relative_to(ROOT).parts
    yield "    " * (len(parts) - 1) + folder.name + "/", _sentence(folder / "__init__.py")
    order = layers.get(".".join(("nestmap", *parts)), [])
    inside = {path.parent.name for path in folder.glob("*/__init__.py")}
    for name in [*(name for name in order if name in inside), *sorted(inside - set(order))]:
        yield from _rows(folder / name, layers)


def _layers() -> dict[str, list[str]]:
    """The names in each container of the contracts of import-linter, lowest first."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        container: [name for layer in reversed(x["layers"]) for name in re.split(r"[|: ]+", layer)]
        for x in config["tool"]["importlinter"]["contracts"]
        if x["type"] == "layers"
        for container in x["containers"]
    }


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
