"""The documents name modules, files and folders that exist, and the README stays short."""

import re
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tests.docs.blocks import DOCUMENTS, ROOT, name_of

LONGEST_README: Final = 150

DOTTED: Final = re.compile(r"\bnestmap(?:\.[A-Za-z_]\w*)+(?![\w*/])")
FOLDER: Final = r"(?:model|costmodel|search|store|pipeline|tests|benchmarks|docs|examples)"
PLACE: Final = re.compile(rf"`({FOLDER}/[\w/.-]*)`")

NO_MODULES: Final = {"nestmap.duckdb", "nestmap.md"}
"""Files that look like modules."""

ELSEWHERE: Final = {"examples/arches"}
"""Folders of other projects."""


def is_name(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def dotted_names(document: Path) -> set[str]:
    return set(DOTTED.findall(document.read_text(encoding="utf-8"))) - NO_MODULES


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_named_modules_exist(document: Path) -> None:
    assert [name for name in sorted(dotted_names(document)) if not is_name(name)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_named_files_exist(document: Path) -> None:
    places = set(PLACE.findall(document.read_text(encoding="utf-8"))) - ELSEWHERE
    assert [place for place in sorted(places) if not (ROOT / place).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < LONGEST_README
